//! The directory of a run: its name, and the lock that allows only one process to write it.

use crate::{atomic, manifest};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use teda_core::{Error, Result};

/// Where runs go by default, under the working directory.
const RUNS: &str = "results/runs";

/// The lock file's name. It is left in place, because removing it would let two processes lock two files.
const LOCK: &str = ".lock";

/// Longest name of a run in bytes; file systems end at 255.
const LONGEST_NAME: usize = 120;

/// A run directory that only this process writes, until the value is dropped.
///
/// The lock is the operating system's, so that it is released when a process dies.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    _lock: File,
}

impl RunDir {
    /// Creates the directory of a new run: exactly `out` if given, otherwise `results/runs/<name>` under the working
    /// directory, with `-2`, `-3` … if that is taken.
    ///
    /// # Errors
    /// Usage, if `out` is a file, is not empty or is in use by another process; failed, if it cannot be created.
    pub fn create(out: Option<&Path>, name: &str) -> Result<Self> {
        let path = match out {
            Some(path) => path.to_owned(),
            None => unused(Path::new(RUNS), name)?,
        };
        fs::create_dir_all(&path).map_err(|e| match e.kind() {
            ErrorKind::AlreadyExists | ErrorKind::NotADirectory => {
                Error::usage(format!("{}: a file is in the way: {e}", path.display()))
            }
            _ => atomic::failed(&path, "cannot create the run directory", &e),
        })?;
        // Checked before the lock, so that no lock file is left in a foreign folder; and after it, since another
        // process may have begun and ended a run in between.
        refuse_content(&path)?;
        let run = Self::locked(path)?;
        refuse_content(&run.path)?;
        Ok(run)
    }

    /// Takes over the directory of a run that was begun before.
    ///
    /// # Errors
    /// Usage, if `dir` holds no run or another process is writing it; failed, if it cannot be
    /// locked.
    pub fn resume(dir: &Path) -> Result<Self> {
        if !Self::holds_run(dir) {
            return Err(Error::usage(format!(
                "{}: no run to resume: there is no {}",
                dir.display(),
                manifest::FILE
            )));
        }
        Self::locked(dir.to_owned())
    }

    /// Whether there is a run in `dir`.
    #[must_use]
    pub fn holds_run(dir: &Path) -> bool {
        dir.join(manifest::FILE).exists()
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn locked(path: PathBuf) -> Result<Self> {
        let file = path.join(LOCK);
        let failed = |e| atomic::failed(&file, "cannot lock the run directory", &e);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        // Anybody who may write into the directory could have put a link to somebody else's file there.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NOFOLLOW);
        if file.is_symlink() {
            return Err(Error::usage(format!(
                "{}: the lock is a symbolic link, and is not opened through one: remove it",
                file.display()
            )));
        }
        let mut lock = options.open(&file).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut owner = String::new();
                // The owner's process id is optional: without it the message is still right.
                let _ = lock.read_to_string(&mut owner);
                return Err(Error::usage(format!(
                    "{}: another process (pid {}) is writing this run; wait for it or stop it",
                    path.display(),
                    owner.trim()
                )));
            }
            // Some cluster file systems have no locks: there the user has to take care.
            Err(TryLockError::Error(e)) if e.kind() == ErrorKind::Unsupported => {}
            Err(TryLockError::Error(e)) => return Err(failed(e)),
        }
        lock.set_len(0).map_err(failed)?;
        writeln!(lock, "{}", std::process::id()).map_err(failed)?;
        Ok(Self { path, _lock: lock })
    }
}

/// The name of a run: `<UTC timestamp>-<mechanisms>-<dataset>`, from an RFC 3339 timestamp.
///
/// Punctuation of the timestamp is dropped, other characters that are problematic in some file system or shell become
/// `_`, and a long list of mechanisms is cut to its beginning.
#[must_use]
pub fn run_name<N: AsRef<str>>(created: &str, mechanisms: &[N], dataset: &str) -> String {
    let mechanisms: Vec<&str> = mechanisms.iter().map(AsRef::as_ref).collect();
    let time: String = created
        .chars()
        .filter(|c| c.is_ascii_alphanumeric())
        .collect();
    let shown = match &mechanisms[..] {
        [a, b, c, _, ..] => format!("{a}+{b}+{c}+{}-more", mechanisms.len() - 3),
        few => few.join("+"),
    };
    let mut name: String = format!("{time}-{shown}-{dataset}")
        .chars()
        .map(|c| match c {
            '-' | '+' | '.' | '_' => c,
            c if c.is_ascii_alphanumeric() => c,
            _ => '_',
        })
        .collect();
    name.truncate(LONGEST_NAME);
    name
}

/// `base/name`, or the first of `base/name-2`, `base/name-3` … that does not exist, created so that
/// no other process gets the same one.
///
/// # Errors
/// Failed, if it cannot be created.
pub fn unused(base: &Path, name: &str) -> Result<PathBuf> {
    let failed = |path: &Path, e| atomic::failed(path, "cannot create the run directory", &e);
    fs::create_dir_all(base).map_err(|e| failed(base, e))?;
    let mut path = base.join(name);
    for number in 2_u64.. {
        match fs::create_dir(&path) {
            Ok(()) => break,
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                path = base.join(format!("{name}-{number}"));
            }
            Err(e) => return Err(failed(&path, e)),
        }
    }
    Ok(path)
}

/// Refuses a directory that holds more than what a process leaves that died before its manifest was in place.
fn refuse_content(path: &Path) -> Result<()> {
    let entries =
        fs::read_dir(path).map_err(|e| atomic::failed(path, "cannot list the directory", &e))?;
    let begun = atomic::temporary(Path::new(manifest::FILE));
    let mut others = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        name != LOCK && name != begun.as_os_str()
    });
    match others.next() {
        None => Ok(()),
        Some(_) if path.join(manifest::FILE).exists() => Err(Error::usage(format!(
            "{0}: already holds a run; continue it with `--resume {0}`, or name another --out",
            path.display()
        ))),
        Some(_) => Err(Error::usage(format!(
            "{0}: the directory is not empty and holds no run that `--resume {0}` could go on \
             with; name another --out",
            path.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_safe_and_bounded() {
        let time = "2026-11-21T12:04:05Z";
        assert_eq!(
            run_name(time, &["krr", "identity"], "snips"),
            "20261121T120405Z-krr+identity-snips"
        );
        assert_eq!(
            run_name(time, &["a", "b", "c", "d", "e"], "/data/my texts.csv"),
            "20261121T120405Z-a+b+c+2-more-_data_my_texts.csv"
        );
        assert_eq!(run_name(time, &["m"], &"ü".repeat(999)).len(), LONGEST_NAME);
    }

    #[test]
    fn out_is_taken_exactly_and_only_if_empty() {
        let base = tempfile::tempdir().unwrap();
        let out = base.path().join("a/b");
        let run = RunDir::create(Some(&out), "ignored").unwrap();
        assert_eq!(run.path(), out);
        drop(run);
        // A process that died between lock and manifest leaves nothing worth keeping.
        drop(RunDir::create(Some(&out), "").unwrap());
        let refused = || RunDir::create(Some(&out), "").unwrap_err();
        fs::write(out.join("thesis.tex"), "").unwrap();
        let error = refused();
        assert!(
            matches!(&error, Error::Usage(m) if m.contains("not empty")),
            "{error}"
        );
        fs::write(out.join(manifest::FILE), "").unwrap();
        let error = refused().to_string();
        assert!(
            error.contains(&format!("`--resume {}`", out.display())),
            "{error}"
        );
        let file = out.join("thesis.tex");
        let error = RunDir::create(Some(&file), "").unwrap_err();
        assert!(
            matches!(&error, Error::Usage(m) if m.contains("file is in the way")),
            "{error}"
        );
    }

    #[test]
    fn a_foreign_folder_gets_no_lock_file() {
        let base = tempfile::tempdir().unwrap();
        fs::write(base.path().join("x"), "").unwrap();
        assert!(RunDir::create(Some(base.path()), "").is_err());
        assert!(RunDir::resume(base.path()).is_err());
        assert!(!base.path().join(LOCK).exists());
    }

    #[test]
    fn taken_names_are_counted_up() {
        let base = tempfile::tempdir().unwrap();
        let runs = base.path().join("runs");
        for expected in ["n", "n-2", "n-3"] {
            assert_eq!(unused(&runs, "n").unwrap(), runs.join(expected));
        }
    }

    #[test]
    fn one_process_writes_a_run_and_a_dead_one_lets_go() {
        let base = tempfile::tempdir().unwrap();
        let run = RunDir::create(Some(base.path()), "").unwrap();
        fs::write(base.path().join(manifest::FILE), "").unwrap();
        let error = RunDir::resume(base.path()).unwrap_err();
        let pid = format!("(pid {})", std::process::id());
        assert!(
            matches!(&error, Error::Usage(m) if m.contains(&pid)),
            "{error}"
        );
        drop(run);
        // A stale file with the id of a process long gone is not a lock.
        fs::write(base.path().join(LOCK), "999999999\n").unwrap();
        drop(RunDir::resume(base.path()).unwrap());
    }

    #[cfg(unix)]
    #[test]
    fn a_lock_follows_no_link() {
        let base = tempfile::tempdir().unwrap();
        let precious = base.path().join("precious");
        fs::write(&precious, "mine").unwrap();
        let run = base.path().join("run");
        fs::create_dir(&run).unwrap();
        std::os::unix::fs::symlink(&precious, run.join(LOCK)).unwrap();
        let error = RunDir::create(Some(&run), "").unwrap_err();
        assert!(
            matches!(&error, Error::Usage(m) if m.contains("symbolic link")),
            "{error}"
        );
        assert_eq!(fs::read(&precious).unwrap(), b"mine");
    }

    #[test]
    fn only_a_run_can_be_resumed() {
        let base = tempfile::tempdir().unwrap();
        let error = RunDir::resume(&base.path().join("none")).unwrap_err();
        assert!(
            matches!(&error, Error::Usage(m) if m.contains("no run to resume")),
            "{error}"
        );
    }
}
