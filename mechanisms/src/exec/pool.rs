//! Several concurrent processes: which caller has which, and whether any is still asked.
//!
//! Callers may be workers of a thread pool. They wait here for a place only while they hold none, and whoever holds
//! one waits only for its process, so there is no circular wait.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use teda_core::{Error, Result};

use super::process::Process;

/// Places for processes; each serves one caller at a time.
pub struct Pool {
    state: Mutex<State>,
    /// A place may have become free, or everything was stopped.
    changed: Condvar,
}

struct State {
    /// The free places. Those at the end have a running process: they are taken first.
    free: Vec<Option<Process>>,
    stopped: Option<Error>,
    /// Whether any process has ever answered anything.
    answered: bool,
    /// Processes that ended without having answered anything.
    fruitless: usize,
    /// Queries given up since the last answer.
    failed: usize,
}

/// A place and its process, if one is running there; both are returned when it is dropped.
pub struct Place<'a> {
    pool: &'a Pool,
    /// The process, as long as it is usable.
    pub process: Option<Process>,
}

impl Pool {
    /// A pool of `places` places, all empty.
    pub fn new(places: usize) -> Self {
        Self {
            state: Mutex::new(State {
                free: (0..places).map(|_| None).collect(),
                stopped: None,
                answered: false,
                fruitless: 0,
                failed: 0,
            }),
            changed: Condvar::new(),
        }
    }

    /// As many of the free places as `queries` queries can use, after waiting for at least one.
    ///
    /// # Errors
    /// The error that stopped the pool.
    pub fn take(&self, queries: usize) -> Result<Vec<Place<'_>>> {
        let mut state = self
            .changed
            .wait_while(self.lock(), |state| {
                state.free.is_empty() && state.stopped.is_none()
            })
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(error) = &state.stopped {
            return Err(error.clone());
        }
        let kept = state.free.len().saturating_sub(queries);
        let place = |process| Place {
            pool: self,
            process,
        };
        Ok(state.free.drain(kept..).rev().map(place).collect())
    }

    /// Checks whether the pool was stopped.
    ///
    /// # Errors
    /// The error that stopped it.
    pub fn check(&self) -> Result<()> {
        self.lock().stopped.clone().map_or(Ok(()), Err)
    }

    /// Makes every further call fail; returns the first reason ever given.
    pub fn stop(&self, reason: Error) -> Error {
        let reason = self.lock().stopped.get_or_insert(reason).clone();
        self.changed.notify_all();
        reason
    }

    /// Records that an answer came.
    pub fn answered(&self) {
        let mut state = self.lock();
        state.answered = true;
        state.failed = 0;
    }

    /// Records that a process ended without having answered anything. Returns how many have, unless any process ever
    /// answered.
    pub fn fruitless(&self) -> Option<usize> {
        let mut state = self.lock();
        state.fruitless += 1;
        (!state.answered).then_some(state.fruitless)
    }

    /// Records that a query was given up. Returns how many were since the last answer.
    pub fn failed(&self) -> usize {
        let mut state = self.lock();
        state.failed += 1;
        state.failed
    }

    /// Nothing that panics runs under this lock, so a poisoned lock is still valid.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // All are told to close before any is waited for.
        for process in self.lock().free.iter_mut().flatten() {
            process.close();
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        // A process that still owes answers (after an error or a panic elsewhere) is useless. It ends before the lock
        // is taken, as that may take time.
        let process = self.process.take().filter(Process::is_idle);
        let mut state = self.pool.lock();
        let end = if process.is_some() {
            state.free.len()
        } else {
            0
        };
        state.free.insert(end, process);
        drop(state);
        self.pool.changed.notify_one();
    }
}
