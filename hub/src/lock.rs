//! One process at a time.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// The lock at `path`, held until it is dropped, by the end of the process at the latest. Calls
/// `waiting` where another process has it.
///
/// # Errors
/// Where the file cannot be made or waiting for it fails.
pub(super) fn lock(path: &Path, waiting: impl FnOnce()) -> io::Result<File> {
    let file = File::create(path)?;
    // Where the file system knows no locks, two processes at once are the user's affair.
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        waiting();
        file.lock()?;
    }
    Ok(file)
}
