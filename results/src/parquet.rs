//! `trials.parquet`: the rows of a finished run, one row group at a time.
//!
//! # Schema
//! Columns `cell` UInt32, `trial` UInt64, `candidates` List(UInt32), `secret` UInt32, `release` String, `guess`
//! UInt32, `hit` Boolean, `margin` Float64, `log_likelihoods` List(Float64), `error` String, `cause` String; only the
//! last two have nulls. Where an attack of the run writes sources back there are two more: `reconstruction` String, with
//! nulls, and `recalled` List(UInt32), the six numbers of its [`Reading`](teda_core::Reading), or none. Their meaning is that of [`Row`]. Compressed with zstd; the file's metadata has `teda.schema`
//! = `teda.trials/3`. The same rows in the same order give the same bytes. Files of `teda.trials/2`, which have no
//! `cause`, can also be read.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use teda_core::Result;
use teda_parquet::{Broken, Compression, Footer};

use crate::columns::{Gathered, Stored, types};
use crate::{Row, atomic};

/// The file's name in the run directory.
pub(crate) const FILE: &str = "trials.parquet";

const SCHEMA_KEY: &str = "teda.schema";
const SCHEMA: &str = "teda.trials/3";
/// The schema without causes.
const WITHOUT_CAUSE: &str = "teda.trials/2";

/// A row group ends after this many rows …
const GROUP_ROWS: usize = 100_000;
/// … or this many bytes of text, so that long releases cannot fill the memory.
const GROUP_TEXT: usize = 64 << 20;

/// Writes rows to a `trials.parquet` that appears complete or not at all.
///
/// A writer dropped before [`Writer::finish`] leaves only `trials.parquet.tmp`, which the next one
/// overwrites.
pub struct Writer {
    path: PathBuf,
    temporary: PathBuf,
    parquet: teda_parquet::Writer<BufWriter<File>>,
    file: File,
    /// Whether rows may have a reading.
    reads: bool,
    group: Gathered,
}

impl Writer {
    /// Creates the file named `name` in the run directory `dir`; `reads` says whether rows may have a reading.
    ///
    /// # Errors
    /// Failed, if it cannot be created.
    pub fn create(dir: &Path, name: &str, reads: bool) -> Result<Self> {
        let path = dir.join(name);
        let temporary = atomic::temporary(&path);
        let unwritable = |e: &dyn std::fmt::Display| atomic::failed(&temporary, "cannot create", e);
        let file = File::create(&temporary).map_err(|e| unwritable(&e))?;
        let handle = BufWriter::new(file.try_clone().map_err(|e| unwritable(&e))?);
        let pairs = [(SCHEMA_KEY, SCHEMA)];
        let parquet = teda_parquet::Writer::new(handle, &types(reads), Compression::Zstd, &pairs)
            .map_err(|e| unwritable(&e))?;
        Ok(Self {
            path,
            temporary,
            parquet,
            file,
            reads,
            group: Gathered::default(),
        })
    }

    /// Appends a row.
    ///
    /// # Errors
    /// Failed, if a row group cannot be written, or the row has a reading and the file no place for one.
    pub fn push(&mut self, row: Row) -> Result<()> {
        if row.reading.is_some() && !self.reads {
            return Err(atomic::failed(
                &self.temporary,
                "cannot write",
                &"a row has a reading, and the file no place for one",
            ));
        }
        self.group.push(row);
        if self.group.rows() >= GROUP_ROWS || self.group.text() >= GROUP_TEXT {
            self.write_group()?;
        }
        Ok(())
    }

    /// Completes the file and puts it in place of any earlier one.
    ///
    /// # Errors
    /// Failed, if it cannot be written; an earlier file is then unchanged.
    pub fn finish(mut self) -> Result<()> {
        self.write_group()?;
        let written = self.parquet.finish().map_err(|e| e.to_string());
        // Without the sync a power cut after the rename can leave an empty file where the rows were.
        let synced = written.and_then(|()| self.file.sync_all().map_err(|e| e.to_string()));
        synced.map_err(|e| atomic::failed(&self.temporary, "cannot write", &e))?;
        fs::rename(&self.temporary, &self.path)
            .map_err(|e| atomic::failed(&self.path, "cannot put in place", &e))
    }

    fn write_group(&mut self) -> Result<()> {
        std::mem::take(&mut self.group)
            .into_arrays(self.reads)
            .and_then(|columns| self.parquet.write(&columns))
            .map_err(|e| atomic::failed(&self.temporary, "cannot write", &e))
    }
}

/// The rows of a `trials.parquet` in order, using the memory of the columns of one row group.
pub struct Rows {
    path: PathBuf,
    footer: Footer,
    /// The index of the next row group.
    next: usize,
    /// The group being read, and the index of its next row.
    current: Option<(Stored, usize)>,
}

impl Rows {
    /// Opens the file named `name` in the run directory `dir`.
    ///
    /// # Errors
    /// Failed, if it cannot be read, is damaged or has another schema.
    pub fn open(dir: &Path, name: &str) -> Result<Self> {
        let path = dir.join(name);
        let mut file = File::open(&path).map_err(|e| atomic::failed(&path, "cannot read", &e))?;
        let footer = Footer::read(&mut file).map_err(|e| atomic::failed(&path, "damaged", &e))?;
        match footer.value(SCHEMA_KEY) {
            Some(SCHEMA | WITHOUT_CAUSE) => Ok(Self {
                path,
                footer,
                next: 0,
                current: None,
            }),
            other => {
                let found = other.unwrap_or("(none)");
                let what = format!(
                    "schema '{found}', but this teda reads '{SCHEMA}' and '{WITHOUT_CAUSE}'"
                );
                Err(atomic::failed(&path, "cannot read", &what))
            }
        }
    }

    /// Whether rows may have a reading.
    pub(crate) fn reads(&self) -> bool {
        Stored::has_readings(&self.footer)
    }

    /// Reads the columns of row group `number`.
    fn group(&self, number: usize) -> Result<Stored> {
        // Not kept open: as many files may be read side by side as a run has shards.
        let mut file =
            File::open(&self.path).map_err(|e| atomic::failed(&self.path, "cannot read", &e))?;
        Stored::read(&self.footer, &mut file, number).map_err(|e| self.damaged(number, &e))
    }

    fn damaged(&self, group: usize, error: &Broken) -> teda_core::Error {
        atomic::failed(&self.path, &format!("row group {group} is damaged"), error)
    }
}

impl Iterator for Rows {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        loop {
            match &mut self.current {
                Some((group, at)) if *at < group.rows() => {
                    let row = group.row(*at);
                    *at += 1;
                    return Some(row.map_err(|e| self.damaged(self.next - 1, &e)));
                }
                // Frees the memory of the last group.
                _ => self.current = None,
            }
            if self.next == self.footer.groups().len() {
                return None;
            }
            let group = self.group(self.next);
            self.next += 1;
            match group {
                Ok(group) => self.current = Some((group, 0)),
                Err(e) => return Some(Err(e)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use teda_core::{Reading, Recalled};

    fn write(dir: &Path, trials: std::ops::Range<u64>) -> Vec<Row> {
        let rows: Vec<Row> = trials.map(Row::example).collect();
        let mut writer = Writer::create(dir, FILE, false).unwrap();
        rows.iter()
            .for_each(|row| writer.push(row.clone()).unwrap());
        writer.finish().unwrap();
        rows
    }

    fn read(dir: &Path) -> Result<Vec<Row>> {
        Rows::open(dir, FILE)?.collect()
    }

    #[test]
    fn rows_read_back_whatever_their_number() {
        let dir = tempfile::tempdir().unwrap();
        let full = GROUP_ROWS as u64;
        for count in [0, 1, 7, full - 1, full, full + 1, 2 * full + 5] {
            let rows = write(dir.path(), 0..count);
            assert!(read(dir.path()).unwrap() == rows, "{count} rows");
        }
        assert_eq!(
            Rows::open(dir.path(), FILE).unwrap().footer.groups().len(),
            3
        );
    }

    #[test]
    fn readings_read_back_and_cost_other_files_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let reading = |trial: u32| Reading {
            text: format!("{trial} \"läuft\" 🎵"),
            words: Recalled {
                source: 9 + trial,
                release: trial,
                text: 3,
            },
            rare: Recalled::default(),
        };
        let rows: Vec<Row> = (0..40)
            .map(|trial| Row {
                reading: (trial % 3 > 0).then(|| reading(trial as u32)),
                ..Row::example(trial)
            })
            .collect();
        let mut writer = Writer::create(dir.path(), FILE, true).unwrap();
        rows.iter()
            .for_each(|row| writer.push(row.clone()).unwrap());
        writer.finish().unwrap();
        assert!(read(dir.path()).unwrap() == rows);
        assert_eq!(types(true).len(), types(false).len() + 2);
    }

    #[test]
    fn the_same_rows_make_the_same_bytes() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for dir in [&a, &b] {
            write(dir.path(), 0..GROUP_ROWS as u64 + 500);
        }
        let bytes = |dir: &tempfile::TempDir| fs::read(dir.path().join(FILE)).unwrap();
        assert!(bytes(&a) == bytes(&b));
    }

    #[test]
    fn long_releases_end_a_group_early() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(dir.path(), FILE, false).unwrap();
        let long = Row {
            release: "x".repeat(GROUP_TEXT / 2),
            ..Row::example(0)
        };
        for _ in 0..3 {
            writer.push(long.clone()).unwrap();
        }
        writer.finish().unwrap();
        let rows = Rows::open(dir.path(), FILE).unwrap();
        assert_eq!(rows.footer.groups().len(), 2);
        assert!(rows.map(Result::unwrap).all(|row| row == long));
    }

    /// `teda.trials/2`, as it was written.
    #[test]
    fn a_file_without_causes_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let none = |row| Row { cause: None, ..row };
        let rows: Vec<Row> = (0..50).map(Row::example).map(none).collect();
        let mut group = Gathered::default();
        rows.iter().for_each(|row| group.push(row.clone()));
        let mut columns = group.into_arrays(false).unwrap();
        let mut types = types(false);
        assert_eq!(types.pop().unwrap().0, "cause");
        columns.pop();
        let file = File::create(dir.path().join(FILE)).unwrap();
        let pairs = [(SCHEMA_KEY, WITHOUT_CAUSE)];
        let mut writer =
            teda_parquet::Writer::new(file, &types, Compression::Zstd, &pairs).unwrap();
        writer.write(&columns).unwrap();
        writer.finish().unwrap();
        let found = read(dir.path()).unwrap();
        let failed = found.iter().filter(|row| row.cause.is_some()).count();
        assert_eq!(
            failed,
            rows.iter().filter(|row| row.error.is_some()).count()
        );
        let expected: Vec<Row> = rows.into_iter().map(Row::with_cause).collect();
        assert!(found == expected);
    }

    #[test]
    fn an_unfinished_file_leaves_the_earlier_one() {
        let dir = tempfile::tempdir().unwrap();
        let rows = write(dir.path(), 0..10);
        let mut writer = Writer::create(dir.path(), FILE, false).unwrap();
        writer.push(Row::example(11)).unwrap();
        drop(writer);
        assert_eq!(read(dir.path()).unwrap(), rows);
    }

    #[test]
    fn every_truncation_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), 0..50);
        let path = dir.path().join(FILE);
        let whole = fs::read(&path).unwrap();
        for length in (0..whole.len()).step_by(1) {
            fs::write(&path, &whole[..length]).unwrap();
            let error = read(dir.path()).unwrap_err().to_string();
            assert!(error.contains("trials.parquet: "), "{error}");
        }
    }

    #[test]
    fn damaged_columns_are_an_error_or_harmless_but_never_a_panic() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), 0..50);
        let path = dir.path().join(FILE);
        let whole = fs::read(&path).unwrap();
        let mut errors = 0;
        // No further: some byte after these makes the reader ask for more memory than there is, which ends the
        // process. A run's SHA-256 is checked before it is judged.
        for position in (0..1500).step_by(3) {
            let mut damaged = whole.clone();
            damaged[position] ^= 0x55;
            fs::write(&path, &damaged).unwrap();
            errors += usize::from(read(dir.path()).is_err());
        }
        assert!(errors > 0);
    }

    #[test]
    fn a_foreign_parquet_file_is_refused_by_schema() {
        let dir = tempfile::tempdir().unwrap();
        let file = File::create(dir.path().join(FILE)).unwrap();
        let some = &types(false)[..1];
        let writer = teda_parquet::Writer::new(file, some, Compression::Zstd, &[]).unwrap();
        writer.finish().unwrap();
        let error = read(dir.path()).unwrap_err().to_string();
        assert!(error.contains("schema '(none)'"), "{error}");
    }
}
