//! Locks that admit one process at a time.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::Path;

/// Opens the file at `path`, created if necessary, without changing it: another process may have written into it, and
/// whoever may write into its directory could have put a link to somebody else's file there.
///
/// # Errors
/// If the file cannot be opened or created, or is a link.
pub(super) fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW);
    options.open(path).map_err(|error| match path.is_symlink() {
        true => io::Error::new(
            error.kind(),
            "it is a symbolic link, and a lock is not opened through one: remove it",
        ),
        false => error,
    })
}

/// The lock at `path`, held until it is dropped, or at the latest until the process ends. Calls `waiting` if another
/// process has it.
///
/// # Errors
/// If the file cannot be created or waiting for it fails.
pub(super) fn lock(path: &Path, waiting: impl FnOnce()) -> io::Result<File> {
    let file = open(path)?;
    // If the file system has no locks, two concurrent processes are the user's responsibility.
    if let Err(TryLockError::WouldBlock) = file.try_lock() {
        waiting();
        file.lock()?;
    }
    Ok(file)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_lock_follows_no_link_and_empties_no_file() {
        let root = tempfile::tempdir().unwrap();
        let precious = root.path().join("precious");
        std::fs::write(&precious, "mine").unwrap();
        let link = root.path().join("model.lock");
        std::os::unix::fs::symlink(&precious, &link).unwrap();
        let error = lock(&link, || ()).unwrap_err().to_string();
        assert!(error.contains("symbolic link"), "{error}");
        drop(lock(&precious, || ()).unwrap());
        assert_eq!(std::fs::read(&precious).unwrap(), b"mine");
    }
}
