//! `trials.jsonl`: the rows of a run that still goes on.
//!
//! One JSON line a row, only ever appended. A killed process leaves at worst a torn last line, and
//! [`Journal::resume`] cuts it off; so rows are handed to the operating system after each block and
//! never synced to the disk one by one, which would cost more than most mechanisms.

use crate::{Row, atomic};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use teda_core::{Error, Result};

/// The journal's name in the run directory.
pub(crate) const FILE: &str = "trials.jsonl";

/// Bytes gathered before they are written without being asked.
const BUFFER: usize = 1 << 20;

/// The open journal of a running run.
///
/// Rows appended since the last [`Journal::flush`] are lost when the journal is dropped.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    /// A write failed part way: anything appended now would follow a torn line.
    broken: bool,
}

impl Journal {
    /// Starts the journal of a new run in `dir`.
    ///
    /// # Errors
    /// Usage, if there is one already; failed, if it cannot be created.
    pub fn create(dir: &Path) -> Result<Self> {
        let path = dir.join(FILE);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => Ok(Self::on(file, path)),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(Error::usage(format!(
                "{} already holds trials; go on with `teda audit --resume {}`",
                path.display(),
                dir.display()
            ))),
            Err(e) => Err(atomic::failed(&path, "cannot create", &e)),
        }
    }

    /// Makes the journal in `dir` anew from `rows`, in one step.
    pub(crate) fn restore(dir: &Path, rows: impl Iterator<Item = Result<Row>>) -> Result<()> {
        let path = dir.join(FILE);
        let temporary = atomic::temporary(&path);
        let file = File::create(&temporary)
            .map_err(|e| atomic::failed(&temporary, "cannot create", &e))?;
        let mut journal = Self::on(file, temporary);
        for row in rows {
            journal.append(&row?)?;
        }
        journal.flush()?;
        fs::rename(&journal.path, &path)
            .map_err(|e| atomic::failed(&path, "cannot put in place", &e))
    }

    /// Opens the journal in `dir` to go on with it, after handing each of its rows to `each`.
    ///
    /// A torn last line, as a killed process leaves it, is cut off; a run killed before its first
    /// row has an empty journal or none.
    ///
    /// # Errors
    /// Failed, if a line other than a torn last one is no row (with file and line number) or the
    /// file cannot be read or cut; and whatever `each` returns.
    pub fn resume(dir: &Path, mut each: impl FnMut(Row) -> Result<()>) -> Result<Self> {
        let path = dir.join(FILE);
        let failed = |e| atomic::failed(&path, "cannot resume", &e);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        let mut lines = Lines::on(path.clone(), file.try_clone().map_err(failed)?);
        lines.by_ref().try_for_each(|row| each(row?))?;
        file.set_len(lines.complete).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(Self::on(file, path))
    }

    /// Appends a row; it is safe from a kill after the next [`Journal::flush`].
    ///
    /// # Errors
    /// Failed, as [`Journal::flush`].
    pub fn append(&mut self, row: &Row) -> Result<()> {
        serde_json::to_writer(&mut self.buffer, row)
            .map_err(|e| atomic::failed(&self.path, "cannot write trials", &e))?;
        self.buffer.push(b'\n');
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    /// Hands all rows to the operating system.
    ///
    /// # Errors
    /// Failed, if they cannot be written (a full disk, say); the message says how to go on. Every
    /// later call then fails too.
    pub fn flush(&mut self) -> Result<()> {
        let written = if self.broken {
            Err(ErrorKind::BrokenPipe.into())
        } else {
            self.file.write_all(&self.buffer)
        };
        self.buffer.clear();
        written.map_err(|e: std::io::Error| {
            self.broken = true;
            Error::failed(format!(
                "{}: cannot write trials: {e}. The trials written so far are kept: after making \
                 room, go on with `teda audit --resume {}`",
                self.path.display(),
                self.dir().display()
            ))
        })
    }

    /// The run directory.
    pub(crate) fn dir(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    fn on(file: File, path: PathBuf) -> Self {
        Self {
            path,
            file,
            buffer: Vec::with_capacity(BUFFER + BUFFER / 16),
            broken: false,
        }
    }
}

/// The rows of a journal's complete lines, in order and in constant memory.
#[derive(Debug)]
pub(crate) struct Lines {
    path: PathBuf,
    reader: BufReader<File>,
    line: Vec<u8>,
    /// Number of the last complete line.
    number: u64,
    /// Bytes of the complete lines so far.
    complete: u64,
}

impl Lines {
    /// The rows of the journal in `dir`.
    pub(crate) fn open(dir: &Path) -> Result<Self> {
        let path = dir.join(FILE);
        match File::open(&path) {
            Ok(file) => Ok(Self::on(path, file)),
            Err(e) => Err(atomic::failed(&path, "cannot read", &e)),
        }
    }

    fn on(path: PathBuf, file: File) -> Self {
        Self {
            path,
            reader: BufReader::with_capacity(BUFFER, file),
            line: Vec::new(),
            number: 0,
            complete: 0,
        }
    }
}

impl Iterator for Lines {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        self.line.clear();
        if let Err(e) = self.reader.read_until(b'\n', &mut self.line) {
            return Some(Err(atomic::failed(&self.path, "cannot read", &e)));
        }
        if self.line.last() != Some(&b'\n') {
            return None;
        }
        self.number += 1;
        self.complete += self.line.len() as u64;
        let row = serde_json::from_slice(&self.line).map_err(|e| {
            let what = format!("line {} is damaged", self.number);
            atomic::failed(&self.path, &what, &e)
        });
        Some(row.map(Row::with_cause))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resumed(dir: &Path) -> Result<(Vec<Row>, Journal)> {
        let mut rows = Vec::new();
        let journal = Journal::resume(dir, |row| {
            rows.push(row);
            Ok(())
        })?;
        Ok((rows, journal))
    }

    fn write(dir: &Path, trials: std::ops::Range<u64>) -> Vec<Row> {
        let mut journal = Journal::create(dir).unwrap();
        let rows: Vec<Row> = trials.map(Row::example).collect();
        rows.iter().for_each(|row| journal.append(row).unwrap());
        journal.flush().unwrap();
        rows
    }

    #[test]
    fn rows_read_back_and_more_can_be_appended() {
        let dir = tempfile::tempdir().unwrap();
        let mut rows = write(dir.path(), 0..100);
        let (found, mut journal) = resumed(dir.path()).unwrap();
        assert_eq!(found, rows);
        rows.push(Row::example(100));
        journal.append(&rows[100]).unwrap();
        journal.flush().unwrap();
        assert_eq!(resumed(dir.path()).unwrap().0, rows);
    }

    #[test]
    fn a_cut_anywhere_loses_the_torn_line_alone() {
        let dir = tempfile::tempdir().unwrap();
        let rows = write(dir.path(), 0..5);
        let path = dir.path().join(FILE);
        let whole = fs::read(&path).unwrap();
        for length in 0..=whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let complete = whole[..length].iter().filter(|&&b| b == b'\n').count();
            let (found, mut journal) = resumed(dir.path()).unwrap();
            assert_eq!(found, rows[..complete]);
            // The rows that were lost are made again, and the file is as if nothing had happened.
            rows[complete..]
                .iter()
                .for_each(|row| journal.append(row).unwrap());
            journal.flush().unwrap();
            assert_eq!(fs::read(&path).unwrap(), whole);
        }
    }

    #[test]
    fn a_damaged_line_in_the_middle_is_named() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), 0..5);
        let path = dir.path().join(FILE);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen("\"t\":2", "\"t\":\0", 1)).unwrap();
        let error = resumed(dir.path()).unwrap_err().to_string();
        assert!(error.contains("trials.jsonl: line 3 is damaged"), "{error}");
        assert!(matches!(resumed(dir.path()), Err(Error::Failed(_))));
    }

    #[test]
    fn a_second_journal_is_refused_and_a_missing_one_is_empty() {
        let dir = tempfile::tempdir().unwrap();
        assert!(resumed(dir.path()).unwrap().0.is_empty());
        let error = Journal::create(dir.path()).unwrap_err();
        assert!(
            matches!(&error, Error::Usage(m) if m.contains("--resume")),
            "{error}"
        );
    }

    #[test]
    fn an_error_of_the_callback_stops_the_reading() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), 0..5);
        let error = Journal::resume(dir.path(), |_| Err(Error::usage("stop"))).unwrap_err();
        assert_eq!(error, Error::usage("stop"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error_that_says_how_to_go_on() {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut journal = Journal::on(full, "runs/x/trials.jsonl".into());
        journal.append(&Row::example(1)).unwrap();
        let error = journal.flush().unwrap_err().to_string();
        for part in [
            "runs/x/trials.jsonl",
            "No space left",
            "teda audit --resume runs/x",
        ] {
            assert!(error.contains(part), "{error}");
        }
        // Nothing more may follow a torn line.
        assert!(journal.flush().is_err());
    }
}
