//! Files that are written completely or not at all.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use teda_core::{Error, Result};

/// Writes `bytes` to a temporary file beside `path` and renames it into place.
///
/// # Errors
/// Failed, with the file and the reason; `path` is then unchanged.
pub fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    write_by(&temporary(path), path, bytes)
}

/// Like [`write()`], by a temporary file of the caller's: two threads that write one file must not share one.
///
/// # Errors
/// Same as [`write()`].
pub(crate) fn write_by(temporary: &Path, path: &Path, bytes: &[u8]) -> Result<()> {
    let written = File::create(temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        // Without this a power cut after the rename can leave an empty file under the final name.
        file.sync_all()
    });
    written.map_err(|e| failed(temporary, "cannot write", &e))?;
    fs::rename(temporary, path).map_err(|e| failed(path, "cannot put in place", &e))
}

/// The name under which `path` is written until it is complete: `NAME.tmp`.
pub(crate) fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    name.into()
}

/// A run-time error about a file: `PATH: WHAT: REASON`.
pub(crate) fn failed(path: &Path, what: &str, reason: &dyn std::fmt::Display) -> Error {
    Error::failed(format!("{}: {what}: {reason}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_leaves_no_temporary() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("manifest.json");
        write(&path, b"first").unwrap();
        write(&path, b"second").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"second");
        assert!(!temporary(&path).exists());
    }

    #[test]
    fn a_missing_folder_is_an_error_that_names_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let error = write(&dir.path().join("gone/x.json"), b"").unwrap_err();
        assert!(error.to_string().contains("x.json.tmp"), "{error}");
    }
}
