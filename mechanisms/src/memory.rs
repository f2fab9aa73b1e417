//! The memory available to tables of mechanisms.
//!
//! A table saves time and changes no result: a mechanism that gets no memory for one computes without it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes left, for all mechanisms that share it. By default there are none.
#[derive(Debug, Clone, Default)]
pub struct Memory(Arc<AtomicUsize>);

impl Memory {
    /// This many bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(bytes)))
    }

    /// Takes `bytes`; returns `false`, and takes nothing, if fewer are left.
    #[must_use]
    pub fn take(&self, bytes: usize) -> bool {
        let less = |left: usize| left.checked_sub(bytes);
        let taken = self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        taken.is_ok()
    }

    /// Gives back `bytes` that were taken.
    pub fn give_back(&self, bytes: usize) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_taken_than_there_is() {
        let memory = Memory::new(10);
        let shared = memory.clone();
        assert!(memory.take(6));
        assert!(!shared.take(5));
        assert!(shared.take(4));
        assert!(!memory.take(1) && memory.take(0));
        shared.give_back(6);
        assert!(memory.take(6));
        assert!(!Memory::default().take(1));
    }
}
