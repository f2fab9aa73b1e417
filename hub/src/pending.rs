//! A model that is being fetched: kept beside the store until it is complete, then moved in at once.
//!
//! `models/.partial/NAME/` holds incomplete files, `models/.partial/NAME.lock` is held by the process that works on
//! it. What a killed process left has no holder and is removed by the next one.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use teda_core::{Error, Result};

use super::lock::{self, lock};
use super::progress::Progress;

/// Held while one model is fetched. Dropping it removes whatever was not moved in.
pub(super) struct Pending {
    partial: PathBuf,
    directory: PathBuf,
    _lock: File,
}

impl Pending {
    /// Takes the lock on `folder` below `models`, waiting if another process has it.
    ///
    /// # Errors
    /// Failed, if nothing can be written there.
    pub(super) fn begin(models: &Path, folder: &str, progress: Progress) -> Result<Self> {
        let all = models.join(".partial");
        fs::create_dir_all(&all).map_err(|e| {
            Error::failed(format!(
                "{}: {e}; TEDA_CACHE names another place to keep models in",
                all.display()
            ))
        })?;
        sweep(&all);
        let path = all.join(format!("{folder}.lock"));
        let lock = lock(&path, || {
            progress.note(&format!(
                "{folder}: another process is fetching it, waiting"
            ));
        })
        .map_err(|e| at(&path, &e))?;
        Ok(Self {
            partial: all.join(folder),
            directory: models.join(folder),
            _lock: lock,
        })
    }

    /// An empty directory for the files of the model.
    ///
    /// # Errors
    /// Failed, if it cannot be created.
    pub(super) fn files(&self) -> Result<PathBuf> {
        self.empty("model")
    }

    /// An empty directory for temporary files.
    ///
    /// # Errors
    /// Failed, if it cannot be created.
    pub(super) fn scratch(&self) -> Result<PathBuf> {
        self.empty("scratch")
    }

    /// Moves the files in, replacing what was there.
    ///
    /// # Errors
    /// Failed, if something cannot be moved.
    pub(super) fn finish(&self) -> Result<PathBuf> {
        if self.directory.exists() {
            let old = self.empty("old")?.join("model");
            fs::rename(&self.directory, old).map_err(|e| at(&self.directory, &e))?;
        }
        fs::rename(self.partial.join("model"), &self.directory)
            .map_err(|e| at(&self.directory, &e))?;
        Ok(self.directory.clone())
    }

    fn empty(&self, name: &str) -> Result<PathBuf> {
        let path = self.partial.join(name);
        if path.exists() {
            fs::remove_dir_all(&path).map_err(|e| at(&path, &e))?;
        }
        fs::create_dir_all(&path).map_err(|e| at(&path, &e))?;
        Ok(path)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // What remains is removed by the next fetch.
        fs::remove_dir_all(&self.partial).ok();
    }
}

/// Removes what was left by processes that ended before they were done.
fn sweep(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let path = entry.path();
        if !path.is_dir() {
            continue;
        }
        let mut lock = path.clone().into_os_string();
        lock.push(".lock");
        let Ok(lock) = lock::open(Path::new(&lock)) else {
            continue;
        };
        if lock.try_lock().is_ok() {
            fs::remove_dir_all(&path).ok();
        }
    }
}

fn at(path: &Path, error: &std::io::Error) -> Error {
    Error::failed(format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_finished_never_looks_complete_and_is_swept_up() {
        let root = tempfile::tempdir().unwrap();
        let quiet = Progress::new(true);
        let left = root.path().join(".partial/killed/model");
        fs::create_dir_all(&left).unwrap();
        let pending = Pending::begin(root.path(), "model", quiet).unwrap();
        assert!(!left.exists());
        fs::write(pending.files().unwrap().join("file"), "x").unwrap();
        assert!(!root.path().join("model").exists());
        sweep(&root.path().join(".partial"));
        let at = pending.finish().unwrap();
        assert_eq!(fs::read(at.join("file")).unwrap(), b"x");
        fs::write(pending.files().unwrap().join("file"), "y").unwrap();
        pending.finish().unwrap();
        drop(pending);
        assert_eq!(fs::read(at.join("file")).unwrap(), b"y");
        assert!(!root.path().join(".partial/model").exists());
    }
}
