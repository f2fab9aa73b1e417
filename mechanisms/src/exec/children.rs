//! The running processes, so that whoever ends this process can end them, too.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::platform;

/// Processes that answer queries, by their process ids. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Children(Arc<Mutex<BTreeSet<u32>>>);

impl Children {
    /// Kills all running processes, and everything they started.
    pub fn kill(&self) {
        // Under the lock: a process listed here was not waited for, so no other process has its id.
        for number in self.numbers().iter() {
            platform::kill(*number);
        }
    }

    pub(super) fn began(&self, number: u32) {
        self.numbers().insert(number);
    }

    /// Removes a process; called before it is waited for.
    pub(super) fn ended(&self, number: u32) {
        self.numbers().remove(&number);
    }

    fn numbers(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
