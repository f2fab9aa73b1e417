//! `trials.jsonl`: the rows of a run in progress.
//!
//! A header that names the run, then one JSON line per row, only ever appended, each with a running digest over
//! everything before it (`chain.rs`). A killed process leaves at worst a torn last line, and [`Journal::resume`] cuts
//! it off; so rows are handed to the operating system after each block and never synced to the disk one by one, which
//! would cost more than most mechanisms. Journals from before headers have neither, and are still read.

use crate::chain::Chain;
use crate::{Row, atomic};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use teda_core::{Error, Result};

/// The journal's name in the run directory.
pub(crate) const FILE: &str = "trials.jsonl";

/// Bytes gathered before they are written without a flush.
const BUFFER: usize = 1 << 20;

/// The name of the format in the header.
const SCHEMA: &str = "teda.journal/2";

/// How a row begins in journals from before headers.
const OLD_ROW: &[u8] = br#"{"c":"#;

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    schema: String,
    /// The run's [`Manifest::identity`](crate::Manifest::identity).
    run: String,
}

impl Header {
    fn line(run: &str) -> Vec<u8> {
        let header = Self {
            schema: SCHEMA.into(),
            run: run.into(),
        };
        let mut line = serde_json::to_vec(&header).expect("two strings are JSON");
        line.push(b'\n');
        line
    }
}

/// The open journal of a running run.
///
/// Rows appended since the last [`Journal::flush`] are lost when the journal is dropped.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    buffer: Vec<u8>,
    /// `None` in a journal from before digests.
    chain: Option<Chain>,
    /// Whether a row has a reading.
    reads: bool,
    /// A write failed part way: anything appended now would follow a torn line.
    broken: bool,
}

impl Journal {
    /// Creates the journal of the new run in `dir`, whose manifest has this identity.
    ///
    /// # Errors
    /// Usage, if there is one already; failed, if it cannot be created.
    pub fn create(dir: &Path, run: &str) -> Result<Self> {
        let path = dir.join(FILE);
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => Self::begin(file, path, run),
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Err(Error::usage(format!(
                "{} already holds trials; continue with `teda audit --resume {}`",
                path.display(),
                dir.display()
            ))),
            Err(e) => Err(atomic::failed(&path, "cannot create", &e)),
        }
    }

    /// Rewrites the journal in `dir` from `rows`, atomically.
    pub(crate) fn restore(
        dir: &Path,
        run: &str,
        rows: impl Iterator<Item = Result<Row>>,
    ) -> Result<()> {
        let path = dir.join(FILE);
        let temporary = atomic::temporary(&path);
        let file = File::create(&temporary)
            .map_err(|e| atomic::failed(&temporary, "cannot create", &e))?;
        let mut journal = Self::begin(file, temporary, run)?;
        for row in rows {
            journal.append(&row?)?;
        }
        journal.flush()?;
        fs::rename(&journal.path, &path)
            .map_err(|e| atomic::failed(&path, "cannot put in place", &e))
    }

    /// Opens the journal in `dir` to continue the run of this identity, after handing each of its rows to `each`.
    ///
    /// A torn last line, as a killed process leaves it, is cut off; a run killed before its first row has an empty
    /// journal or none.
    ///
    /// # Errors
    /// Failed, if it belongs to another run, if a line other than a torn last one is not as it was written (with file
    /// and line number) or the file cannot be read or cut; and any error that `each` returns.
    pub fn resume(dir: &Path, run: &str, mut each: impl FnMut(Row) -> Result<()>) -> Result<Self> {
        let path = dir.join(FILE);
        let failed = |e| atomic::failed(&path, "cannot resume", &e);
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed)?;
        let copy = file.try_clone().map_err(failed)?;
        let mut lines = Lines::on(path.clone(), copy, Some(run))?;
        let mut reads = false;
        lines.by_ref().try_for_each(|row| {
            let row = row?;
            reads |= row.reading.is_some();
            each(row)
        })?;
        file.set_len(lines.complete).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        match lines.complete {
            0 => Self::begin(file, path, run),
            _ => Ok(Self {
                reads,
                ..Self::on(file, path, lines.chain)
            }),
        }
    }

    /// Appends a row; it is safe from a kill after the next [`Journal::flush`].
    ///
    /// # Errors
    /// Same as [`Journal::flush`].
    pub fn append(&mut self, row: &Row) -> Result<()> {
        let start = self.buffer.len();
        self.reads |= row.reading.is_some();
        serde_json::to_writer(&mut self.buffer, row)
            .map_err(|e| atomic::failed(&self.path, "cannot write trials", &e))?;
        match &mut self.chain {
            Some(chain) => chain.close(&mut self.buffer, start),
            None => self.buffer.push(b'\n'),
        }
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    /// Hands all rows to the operating system.
    ///
    /// # Errors
    /// Failed, if they cannot be written (a full disk, for instance); the message says how to continue. Every later
    /// call then fails too.
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

    /// Whether a row has a reading.
    pub(crate) fn reads(&self) -> bool {
        self.reads
    }

    /// The run directory.
    pub(crate) fn dir(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }

    /// An empty journal: its header is written before any row.
    fn begin(file: File, path: PathBuf, run: &str) -> Result<Self> {
        let header = Header::line(run);
        let mut journal = Self::on(file, path, Some(Chain::begin(&header)));
        journal.buffer.extend_from_slice(&header);
        journal.flush()?;
        Ok(journal)
    }

    fn on(file: File, path: PathBuf, chain: Option<Chain>) -> Self {
        Self {
            path,
            file,
            buffer: Vec::with_capacity(BUFFER + BUFFER / 16),
            chain,
            reads: false,
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
    chain: Option<Chain>,
    /// Number of the last complete line.
    number: u64,
    /// Bytes of the complete lines so far.
    complete: u64,
}

impl Lines {
    /// The rows of the journal in `dir`, whichever run it belongs to.
    pub(crate) fn open(dir: &Path) -> Result<Self> {
        let path = dir.join(FILE);
        match File::open(&path) {
            Ok(file) => Self::on(path, file, None),
            Err(e) => Err(atomic::failed(&path, "cannot read", &e)),
        }
    }

    /// The rows after the header, which must name `run` if that is known.
    fn on(path: PathBuf, file: File, run: Option<&str>) -> Result<Self> {
        let mut lines = Self {
            path,
            reader: BufReader::with_capacity(BUFFER, file),
            line: Vec::new(),
            chain: None,
            number: 0,
            complete: 0,
        };
        let start = lines
            .reader
            .fill_buf()
            .map_err(|e| atomic::failed(&lines.path, "cannot read", &e))?;
        let is_old = start.starts_with(OLD_ROW);
        if is_old || !lines.advance()? {
            return Ok(lines);
        }
        let header: Header =
            serde_json::from_slice(&lines.line).map_err(|e| lines.damaged(&e.to_string()))?;
        if header.schema != SCHEMA {
            return Err(lines.damaged(&format!(
                "schema '{}', but this teda reads '{SCHEMA}'",
                header.schema
            )));
        }
        if run.is_some_and(|run| run != header.run) {
            return Err(Error::failed(format!(
                "{}: these are the trials of another run: configuration, data, models or claims in the manifest beside \
                 them are other ones (run {} here, {} there)",
                lines.path.display(),
                shortened(&header.run),
                shortened(run.unwrap_or_default())
            )));
        }
        lines.chain = Some(Chain::begin(&lines.line));
        Ok(lines)
    }

    /// Reads the next line; `false` if it is torn or there is none.
    fn advance(&mut self) -> Result<bool> {
        self.line.clear();
        self.reader
            .read_until(b'\n', &mut self.line)
            .map_err(|e| atomic::failed(&self.path, "cannot read", &e))?;
        if self.line.last() != Some(&b'\n') {
            return Ok(false);
        }
        self.number += 1;
        self.complete += self.line.len() as u64;
        Ok(true)
    }

    fn row(&mut self) -> Result<Option<Row>> {
        if !self.advance()? {
            return Ok(None);
        }
        let object = match &mut self.chain {
            None => Some(&self.line[..]),
            Some(chain) => chain.open(&mut self.line),
        };
        let row = object.map(serde_json::from_slice::<Row>);
        match row {
            Some(Ok(row)) => Ok(Some(row.with_cause())),
            Some(Err(e)) => Err(self.damaged(&e.to_string())),
            None => Err(self.damaged(
                "its running digest is another one: it was changed, or lines before it are gone",
            )),
        }
    }

    fn damaged(&self, why: &str) -> Error {
        let what = format!("line {} is damaged", self.number);
        atomic::failed(&self.path, &what, &why)
    }
}

impl Iterator for Lines {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        self.row().transpose()
    }
}

/// The beginning of a digest, as shown in messages; also works for anything else.
fn shortened(digest: &str) -> String {
    digest.chars().take(12).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "a3f1";

    fn resumed(dir: &Path) -> Result<(Vec<Row>, Journal)> {
        let mut rows = Vec::new();
        let journal = Journal::resume(dir, RUN, |row| {
            rows.push(row);
            Ok(())
        })?;
        Ok((rows, journal))
    }

    fn write(dir: &Path, trials: std::ops::Range<u64>) -> Vec<Row> {
        let mut journal = Journal::create(dir, RUN).unwrap();
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
            let lines = whole[..length].iter().filter(|&&b| b == b'\n').count();
            let complete = lines.saturating_sub(1);
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
        assert!(error.contains("trials.jsonl: line 4 is damaged"), "{error}");
        assert!(matches!(resumed(dir.path()), Err(Error::Failed(_))));
    }

    #[test]
    fn a_journal_with_any_byte_changed_is_refused_or_has_fewer_trials() {
        let dir = tempfile::tempdir().unwrap();
        let rows = write(dir.path(), 0..6);
        let path = dir.path().join(FILE);
        let whole = fs::read(&path).unwrap();
        for place in 0..whole.len() {
            for bit in 0..8 {
                let mut damaged = whole.clone();
                damaged[place] ^= 1 << bit;
                fs::write(&path, &damaged).unwrap();
                if let Ok((found, _)) = resumed(dir.path()) {
                    // Only the end of the last line: what is torn is made again.
                    assert_eq!(place, whole.len() - 1);
                    assert_eq!(found, rows[..5]);
                }
            }
        }
    }

    #[test]
    fn lines_that_are_gone_swapped_or_of_another_run_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), 0..5);
        let path = dir.path().join(FILE);
        let whole = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = whole.split_inclusive('\n').collect();
        let orders: [&[usize]; 4] = [&[0, 2, 3], &[0, 2, 1], &[0, 1, 1, 2], &[1, 2, 3]];
        for order in orders {
            let text: String = order.iter().map(|line| lines[*line]).collect();
            fs::write(&path, text).unwrap();
            let error = resumed(dir.path()).unwrap_err().to_string();
            assert!(error.contains("is damaged"), "{error}");
        }
        fs::write(&path, &whole).unwrap();
        let error = Journal::resume(dir.path(), "another", |_| Ok(())).unwrap_err();
        assert!(error.to_string().contains("another run"), "{error}");
    }

    #[test]
    fn a_journal_that_is_older_than_headers_is_gone_on_with_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        let line = |row: &Row| serde_json::to_string(row).unwrap() + "\n";
        let rows: Vec<Row> = (0..4).map(Row::example).collect();
        fs::write(&path, rows[..3].iter().map(line).collect::<String>()).unwrap();
        let (found, mut journal) = resumed(dir.path()).unwrap();
        assert_eq!(found, rows[..3]);
        journal.append(&rows[3]).unwrap();
        journal.flush().unwrap();
        assert_eq!(resumed(dir.path()).unwrap().0, rows);
    }

    #[test]
    fn a_second_journal_is_refused_and_a_missing_one_is_empty() {
        let dir = tempfile::tempdir().unwrap();
        assert!(resumed(dir.path()).unwrap().0.is_empty());
        let error = Journal::create(dir.path(), RUN).unwrap_err();
        assert!(
            matches!(&error, Error::Usage(m) if m.contains("--resume")),
            "{error}"
        );
    }

    #[test]
    fn an_error_of_the_callback_stops_the_reading() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), 0..5);
        let error = Journal::resume(dir.path(), RUN, |_| Err(Error::usage("stop"))).unwrap_err();
        assert_eq!(error, Error::usage("stop"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error_that_says_how_to_go_on() {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut journal = Journal::on(full, "runs/x/trials.jsonl".into(), None);
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
