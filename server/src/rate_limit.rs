//! Limits how many requests are in flight and how fast they follow each other, and stops them all.
//!
//! Only plain threads wait here, and never while holding anything that another thread needs.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use teda_core::{Error, Result};

/// Admits requests to one server, for all callers.
pub struct RateLimit {
    state: Mutex<State>,
    /// Something may have become free.
    place: Condvar,
    /// Everything was stopped.
    stop: Condvar,
    /// Minimum time between two requests.
    interval: Duration,
}

struct State {
    free: usize,
    /// When the next request may go.
    next: Instant,
    stopped: Option<Error>,
}

/// The right to have one request in flight.
pub struct Permit<'a>(&'a RateLimit);

impl RateLimit {
    /// A limit of `places` concurrent requests and `rpm` per minute.
    pub fn new(places: usize, rpm: Option<u32>) -> Self {
        Self {
            state: Mutex::new(State {
                free: places,
                next: Instant::now(),
                stopped: None,
            }),
            place: Condvar::new(),
            stop: Condvar::new(),
            interval: rpm.map_or(Duration::ZERO, |rpm| Duration::from_secs(60) / rpm),
        }
    }

    /// Waits for this request's turn and for a free place.
    ///
    /// # Errors
    /// The error that stopped it.
    pub fn enter(&self) -> Result<Permit<'_>> {
        let now = Instant::now();
        let turn = {
            let mut state = self.lock();
            let turn = state.next.max(now);
            state.next = turn + self.interval;
            turn
        };
        self.sleep(turn - now)?;
        let mut state = self
            .place
            .wait_while(self.lock(), |state| {
                state.free == 0 && state.stopped.is_none()
            })
            .unwrap_or_else(PoisonError::into_inner);
        check(&state)?;
        state.free -= 1;
        Ok(Permit(self))
    }

    /// Waits for `time`, or until everything is stopped.
    ///
    /// # Errors
    /// The error that stopped it.
    pub fn sleep(&self, time: Duration) -> Result<()> {
        let (state, _) = self
            .stop
            .wait_timeout_while(self.lock(), time, |state| state.stopped.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        check(&state)
    }

    /// Admits nothing from now on and returns the reason: the first one ever given.
    pub fn stop(&self, reason: Error) -> Error {
        let reason = self.lock().stopped.get_or_insert(reason).clone();
        self.place.notify_all();
        self.stop.notify_all();
        reason
    }

    /// Nothing that panics runs under this lock, so a poisoned lock is still valid.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn check(state: &State) -> Result<()> {
    state.stopped.clone().map_or(Ok(()), Err)
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.lock().free += 1;
        self.0.place.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_its_permit_is_dropped() {
        let limit = RateLimit::new(1, None);
        drop(limit.enter().unwrap());
        let held = limit.enter().unwrap();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| limit.enter().map(drop));
            drop(held);
            assert!(other.join().unwrap().is_ok());
        });
    }

    #[test]
    fn a_stop_wakes_whoever_waits_and_the_first_reason_stays() {
        let limit = RateLimit::new(1, None);
        let held = limit.enter().unwrap();
        std::thread::scope(|scope| {
            let entering = scope.spawn(|| limit.enter().map(drop));
            let sleeping = scope.spawn(|| limit.sleep(Duration::from_secs(3600)));
            limit.stop(Error::failed("first"));
            assert_eq!(limit.stop(Error::failed("second")), Error::failed("first"));
            assert_eq!(entering.join().unwrap(), Err(Error::failed("first")));
            assert_eq!(sleeping.join().unwrap(), Err(Error::failed("first")));
        });
        drop(held);
        assert!(limit.enter().is_err());
    }

    #[test]
    fn requests_a_minute_are_spread_evenly() {
        let limit = RateLimit::new(4, Some(1200));
        let started = Instant::now();
        for _ in 0..3 {
            drop(limit.enter().unwrap());
        }
        assert!(started.elapsed() >= Duration::from_millis(100));
    }
}
