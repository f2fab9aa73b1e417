//! Progress of a run.

use std::path::Path;

/// Receives progress of a run. Nothing that it does can change a result.
pub trait Progress: Send + Sync {
    /// The run is kept in this directory, where it can be resumed from now on.
    fn kept(&self, directory: &Path) {
        let _ = directory;
    }

    /// A run of `total` trials begins; an earlier process made `done` of them.
    fn begin(&self, total: u64, done: u64) {
        let _ = (total, done);
    }

    /// This many more trials were made.
    fn advance(&self, trials: u64) {
        let _ = trials;
    }

    /// Whether anybody sees what [`Self::describe`] receives; if not, it is not computed.
    fn is_shown(&self) -> bool {
        false
    }

    /// What is being computed, and its estimate so far.
    fn describe(&self, message: String) {
        let _ = message;
    }

    /// The run is over, complete or not.
    fn end(&self) {}

    /// Something that a user should know, in one line.
    fn note(&self, line: &str) {
        let _ = line;
    }
}

/// Ignores all progress.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {}
