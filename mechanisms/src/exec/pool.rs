//! Several processes at once: who has which, and whether any is still asked.
//!
//! Callers may be workers of a thread pool. They wait here for a place while they hold none, and
//! whoever holds one waits for its process alone, so nothing waits in a circle.

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
    /// The free places. Those at the end have a process that runs: they are taken first.
    free: Vec<Option<Process>>,
    stopped: Option<Error>,
    /// Whether any process ever answered anything.
    answered: bool,
    /// Processes that ended and had answered nothing.
    fruitless: usize,
    /// Queries given up since an answer last came.
    failed: usize,
}

/// A place and its process, if one runs there; both go back when it is dropped.
pub struct Place<'a> {
    pool: &'a Pool,
    /// The process, as long as it is of use.
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

    /// As many of the free places as are of use to `queries` queries, after waiting for one.
    ///
    /// # Errors
    /// What stopped the pool.
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

    /// What stopped the pool, if anything did.
    ///
    /// # Errors
    /// That.
    pub fn check(&self) -> Result<()> {
        self.lock().stopped.clone().map_or(Ok(()), Err)
    }

    /// Fails every call from now on; returns the first reason that was ever given.
    pub fn stop(&self, reason: Error) -> Error {
        let reason = self.lock().stopped.get_or_insert(reason).clone();
        self.changed.notify_all();
        reason
    }

    /// An answer came.
    pub fn answered(&self) {
        let mut state = self.lock();
        state.answered = true;
        state.failed = 0;
    }

    /// A process ended that had answered nothing: how many did by now, unless one ever answered.
    pub fn fruitless(&self) -> Option<usize> {
        let mut state = self.lock();
        state.fruitless += 1;
        (!state.answered).then_some(state.fruitless)
    }

    /// A query is given up: how many were since an answer last came.
    pub fn failed(&self) -> usize {
        let mut state = self.lock();
        state.failed += 1;
        state.failed
    }

    /// Nothing that panics runs under this lock, so a poisoned one is as good as any.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // All are told before any is waited for.
        for process in self.lock().free.iter_mut().flatten() {
            process.close();
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        // One that still owes answers (after an error or a panic elsewhere) is of no use to anyone. It
        // ends before the lock is taken: that may take time.
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
