//! How far an audit is, for the thread that waits for it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use teda::audit::progress::Progress;

/// What the working threads tell and the waiting one reads.
#[derive(Default)]
pub struct Shared {
    /// Trials to make.
    pub total: AtomicU64,
    /// Trials made.
    pub done: AtomicU64,
    /// Whether trials are being made: then an audit that is stopped ends in order.
    pub at_work: AtomicBool,
    shown: bool,
    message: Mutex<String>,
}

impl Shared {
    /// Nothing yet; estimates are made only if they are `shown`.
    pub fn new(shown: bool) -> Arc<Self> {
        Arc::new(Self {
            shown,
            ..Self::default()
        })
    }

    /// What is being computed, with its estimate so far.
    pub fn message(&self) -> String {
        let message = self.message.lock();
        message.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Writes into [`Shared`].
pub struct Teller(pub Arc<Shared>);

impl Progress for Teller {
    fn begin(&self, total: u64, done: u64) {
        self.0.total.store(total, Ordering::SeqCst);
        self.0.done.store(done, Ordering::SeqCst);
        self.0.at_work.store(true, Ordering::SeqCst);
    }

    fn advance(&self, trials: u64) {
        self.0.done.fetch_add(trials, Ordering::SeqCst);
    }

    fn is_shown(&self) -> bool {
        self.0.shown
    }

    fn describe(&self, message: String) {
        let mut shown = self
            .0
            .message
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *shown = message;
    }

    fn end(&self) {
        self.0.at_work.store(false, Ordering::SeqCst);
    }
}
