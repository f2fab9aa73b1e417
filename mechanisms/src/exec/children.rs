//! The processes that run, so that whoever ends this one can end them, too.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::platform;

/// Processes that answer queries, by their numbers. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Children(Arc<Mutex<BTreeSet<u32>>>);

impl Children {
    /// Ends all that run, with whatever they started.
    pub fn kill(&self) {
        // Under the lock: a process whose number stands here was not waited for, so no other one has it.
        for number in self.numbers().iter() {
            platform::kill(*number);
        }
    }

    pub(super) fn began(&self, number: u32) {
        self.numbers().insert(number);
    }

    /// Before it is waited for.
    pub(super) fn ended(&self, number: u32) {
        self.numbers().remove(&number);
    }

    fn numbers(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
