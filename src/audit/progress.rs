//! How far a run is, for whoever wants to know.

use std::path::Path;

/// Is told how a run goes on. Nothing that it does can change a result.
pub trait Progress: Send + Sync {
    /// The run is kept in this directory, where it can be resumed from now on.
    fn kept(&self, directory: &Path) {
        let _ = directory;
    }

    /// A run of `total` trials begins, `done` of which an earlier process made.
    fn begin(&self, total: u64, done: u64) {
        let _ = (total, done);
    }

    /// So many more trials were made.
    fn advance(&self, trials: u64) {
        let _ = trials;
    }

    /// Whether anybody sees what [`Self::describe`] says: it is computed for nobody else.
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

/// Tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Progress for Silent {}
