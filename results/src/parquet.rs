//! `trials.parquet`: the rows of a finished run, one row group at a time.
//!
//! # Schema
//! Columns `cell` UInt32, `trial` UInt64, `candidates` List(UInt32), `secret` UInt32, `release` String, `guess`
//! UInt32, `hit` Boolean, `margin` Float64, `log_likelihoods` List(Float64), `error` String, `cause` String; only the
//! last two have nulls. Where an attack of the run writes sources back there are two more: `reconstruction` String, with
//! nulls, and `recalled` List(UInt32), the six numbers of its [`Reading`], or none. Their meaning is that of [`Row`]. Compressed with zstd; the file's metadata has `teda.schema`
//! = `teda.trials/3`. The same rows in the same order give the same bytes. Files of `teda.trials/2`, which have no
//! `cause`, can also be read.

use crate::{Row, atomic, threads};
use polars::prelude::*;
use std::fs::{self, File};
use std::io::BufWriter;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::vec;
use teda_core::{Cause, Reading, Recalled, Result};

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
    parquet: BatchedWriter<BufWriter<File>>,
    file: File,
    /// Whether rows may have a reading.
    reads: bool,
    group: Group,
}

impl Writer {
    /// Creates the file named `name` in the run directory `dir`; `reads` says whether rows may have a reading.
    ///
    /// # Errors
    /// Failed, if it cannot be created.
    pub fn create(dir: &Path, name: &str, reads: bool) -> Result<Self> {
        threads::can_start()?;
        let path = dir.join(name);
        let temporary = atomic::temporary(&path);
        let unwritable = |e: &dyn std::fmt::Display| atomic::failed(&temporary, "cannot create", e);
        let file = File::create(&temporary).map_err(|e| unwritable(&e))?;
        let handle = file.try_clone().map_err(|e| unwritable(&e))?;
        let metadata = KeyValueMetadata::from_static(vec![(SCHEMA_KEY.into(), SCHEMA.into())]);
        let parquet = ParquetWriter::new(BufWriter::new(handle))
            .with_compression(ParquetCompression::Zstd(None))
            .with_key_value_metadata(Some(metadata))
            .batched(&schema(reads))
            .map_err(|e| unwritable(&e))?;
        Ok(Self {
            path,
            temporary,
            parquet,
            file,
            reads,
            group: Group::default(),
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
        if self.group.is_full() {
            self.write_group()?;
        }
        Ok(())
    }

    /// Completes the file and puts it in place of any earlier one.
    ///
    /// # Errors
    /// Failed, if it cannot be written; an earlier file is then unchanged.
    pub fn finish(mut self) -> Result<()> {
        if self.group.rows() > 0 {
            self.write_group()?;
        }
        let written = self.parquet.finish().map_err(|e| e.to_string());
        // Without the sync a power cut after the rename can leave an empty file where the rows were.
        let synced = written.and_then(|_| self.file.sync_all().map_err(|e| e.to_string()));
        synced.map_err(|e| atomic::failed(&self.temporary, "cannot write", &e))?;
        fs::rename(&self.temporary, &self.path)
            .map_err(|e| atomic::failed(&self.path, "cannot put in place", &e))
    }

    fn write_group(&mut self) -> Result<()> {
        std::mem::take(&mut self.group)
            .into_frame(self.reads)
            .and_then(|frame| self.parquet.write_batch(&frame))
            .map_err(|e| atomic::failed(&self.temporary, "cannot write", &e))
    }
}

/// The columns and their types.
fn schema(reads: bool) -> Schema {
    let list = DataType::List(Box::new(DataType::UInt32));
    let mut schema = Schema::from_iter([
        Field::new("cell".into(), DataType::UInt32),
        Field::new("trial".into(), DataType::UInt64),
        Field::new("candidates".into(), list.clone()),
        Field::new("secret".into(), DataType::UInt32),
        Field::new("release".into(), DataType::String),
        Field::new("guess".into(), DataType::UInt32),
        Field::new("hit".into(), DataType::Boolean),
        Field::new("margin".into(), DataType::Float64),
        Field::new(
            "log_likelihoods".into(),
            DataType::List(Box::new(DataType::Float64)),
        ),
        Field::new("error".into(), DataType::String),
        Field::new("cause".into(), DataType::String),
    ]);
    if reads {
        schema.insert("reconstruction".into(), DataType::String);
        schema.insert("recalled".into(), list);
    }
    schema
}

/// The rows of the next group, column by column.
#[derive(Default)]
struct Group {
    cell: Vec<u32>,
    trial: Vec<u64>,
    candidates: Vec<Vec<u32>>,
    secret: Vec<u32>,
    release: Vec<String>,
    guess: Vec<u32>,
    hit: Vec<bool>,
    margin: Vec<f64>,
    log_likelihoods: Vec<Vec<f64>>,
    error: Vec<Option<String>>,
    cause: Vec<Option<&'static str>>,
    reconstruction: Vec<Option<String>>,
    recalled: Vec<Vec<u32>>,
    /// Bytes of all the text above.
    text: usize,
}

impl Group {
    fn rows(&self) -> usize {
        self.cell.len()
    }

    fn is_full(&self) -> bool {
        self.rows() >= GROUP_ROWS || self.text >= GROUP_TEXT
    }

    fn push(&mut self, row: Row) {
        self.text += row.release.len() + row.error.as_ref().map_or(0, String::len);
        self.cell.push(row.cell);
        self.trial.push(row.trial);
        self.candidates.push(row.candidates);
        self.secret.push(row.secret);
        self.release.push(row.release);
        self.guess.push(row.guess);
        self.hit.push(row.hit);
        self.margin.push(row.margin);
        self.log_likelihoods.push(row.log_likelihoods);
        self.error.push(row.error);
        self.cause.push(row.cause.map(Cause::name));
        let numbers = |reading: &Reading| {
            let of = |r: Recalled| [r.source, r.release, r.text];
            [of(reading.words), of(reading.rare)].concat()
        };
        self.recalled
            .push(row.reading.as_ref().map(numbers).unwrap_or_default());
        let text = row.reading.map(|reading| reading.text);
        self.text += text.as_ref().map_or(0, String::len);
        self.reconstruction.push(text);
    }

    fn into_frame(self, reads: bool) -> PolarsResult<DataFrame> {
        let rows = self.rows();
        let mut columns = vec![
            Column::new("cell".into(), self.cell),
            Column::new("trial".into(), self.trial),
            lists::<UInt32Type>("candidates", &self.candidates, DataType::UInt32),
            Column::new("secret".into(), self.secret),
            Column::new("release".into(), self.release),
            Column::new("guess".into(), self.guess),
            Column::new("hit".into(), self.hit),
            Column::new("margin".into(), self.margin),
            lists::<Float64Type>("log_likelihoods", &self.log_likelihoods, DataType::Float64),
            Column::new("error".into(), self.error),
            Column::new("cause".into(), self.cause),
        ];
        if reads {
            columns.push(Column::new("reconstruction".into(), self.reconstruction));
            columns.push(lists::<UInt32Type>(
                "recalled",
                &self.recalled,
                DataType::UInt32,
            ));
        }
        DataFrame::new(rows, columns)
    }
}

/// A column of lists.
fn lists<T: PolarsNumericType>(name: &str, lists: &[Vec<T::Native>], inner: DataType) -> Column {
    let values = lists.iter().map(Vec::len).sum();
    let mut builder =
        ListPrimitiveChunkedBuilder::<T>::new(name.into(), lists.len(), values, inner);
    for list in lists {
        builder.append_slice(list);
    }
    builder.finish().into_column()
}

/// The rows of a `trials.parquet` in order, using the memory of one row group.
pub struct Rows {
    path: PathBuf,
    /// The whole file's metadata, and the index of its next row group.
    metadata: FileMetadataRef,
    next: usize,
    current: vec::IntoIter<Row>,
}

impl Rows {
    /// Opens the file named `name` in the run directory `dir`.
    ///
    /// # Errors
    /// Failed, if it cannot be read, is damaged or has another schema.
    pub fn open(dir: &Path, name: &str) -> Result<Self> {
        threads::can_start()?;
        let path = dir.join(name);
        let file = File::open(&path).map_err(|e| atomic::failed(&path, "cannot read", &e))?;
        let damaged = |e: &dyn std::fmt::Display| atomic::failed(&path, "damaged", e);
        let metadata =
            caught(|| ParquetReader::new(file).get_metadata().cloned()).map_err(|e| damaged(&e))?;
        let pairs = metadata.key_value_metadata().iter().flatten();
        let found = pairs
            .filter(|pair| pair.key == SCHEMA_KEY)
            .find_map(|pair| pair.value.as_ref());
        if found.is_none_or(|schema| ![SCHEMA, WITHOUT_CAUSE].contains(&&schema[..])) {
            let found = found.map_or("(none)", String::as_str);
            let what =
                format!("schema '{found}', but this teda reads '{SCHEMA}' and '{WITHOUT_CAUSE}'");
            return Err(atomic::failed(&path, "cannot read", &what));
        }
        Ok(Self {
            path,
            metadata,
            next: 0,
            current: Vec::new().into_iter(),
        })
    }

    /// Reads row group `number`.
    ///
    /// The reader is shown a file with only this group: asked for a slice of the whole file, it would decode every
    /// group before the slice as well.
    fn group(&self, number: usize) -> Result<Vec<Row>> {
        let group = self.metadata.row_groups[number].clone();
        let metadata = FileMetadata {
            num_rows: group.num_rows(),
            row_groups: vec![group],
            ..FileMetadata::clone(&self.metadata)
        };
        let file =
            File::open(&self.path).map_err(|e| atomic::failed(&self.path, "cannot read", &e))?;
        caught(|| {
            let mut reader = ParquetReader::new(file).set_rechunk(true);
            reader.set_metadata(Arc::new(metadata));
            rows(&reader.finish()?)
        })
        .map_err(|e| atomic::failed(&self.path, &format!("row group {number} is damaged"), &e))
    }
}

impl Iterator for Rows {
    type Item = Result<Row>;

    fn next(&mut self) -> Option<Result<Row>> {
        loop {
            if let Some(row) = self.current.next() {
                return Some(Ok(row));
            }
            if self.next == self.metadata.row_groups.len() {
                return None;
            }
            let group = self.group(self.next);
            self.next += 1;
            match group {
                Ok(rows) => self.current = rows.into_iter(),
                Err(e) => return Some(Err(e)),
            }
        }
    }
}

/// Runs polars on a file that may be damaged: polars panics on some damage, which becomes an error here.
pub(crate) fn caught<T>(read: impl FnOnce() -> PolarsResult<T>) -> PolarsResult<T> {
    catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(polars_err!(ComputeError: "the Parquet reader gave up")))
}

/// The rows of a frame, which must have the columns of [`schema`], except that `cause` and those of readings may be
/// missing, and nulls only in `error`, `cause` and `reconstruction`.
fn rows(frame: &DataFrame) -> PolarsResult<Vec<Row>> {
    let column = |name: &str| {
        let column = frame.column(name)?;
        match column.null_count() {
            0 => Ok(column),
            nulls => Err(polars_err!(ComputeError: "column '{name}' has {nulls} nulls")),
        }
    };
    let mut cells = column("cell")?.u32()?.no_null_iter();
    let mut trials = column("trial")?.u64()?.no_null_iter();
    let mut secrets = column("secret")?.u32()?.no_null_iter();
    let mut releases = column("release")?.str()?.no_null_iter();
    let mut guesses = column("guess")?.u32()?.no_null_iter();
    let mut hits = column("hit")?.bool()?.no_null_iter();
    let mut margins = column("margin")?.f64()?.no_null_iter();
    let mut errors = frame.column("error")?.str()?.iter();
    let causes = match frame.column("cause") {
        Ok(column) => column
            .str()?
            .iter()
            .map(cause)
            .collect::<PolarsResult<_>>()?,
        Err(_) => vec![None; frame.height()],
    };
    let mut causes = causes.into_iter();
    let mut readings = readings(frame)?.into_iter();
    let candidates = column("candidates")?.list()?;
    let (bounds, inner) = (candidates.offsets()?, candidates.get_inner());
    let mut sets = slices(&bounds, inner.u32()?.cont_slice()?);
    let likelihoods = column("log_likelihoods")?.list()?;
    let (bounds, inner) = (likelihoods.offsets()?, likelihoods.get_inner());
    let mut likelihoods = slices(&bounds, inner.f64()?.cont_slice()?);
    let mut row = || {
        let row = Row {
            cell: cells.next()?,
            trial: trials.next()?,
            candidates: sets.next()?.to_vec(),
            secret: secrets.next()?,
            release: releases.next()?.to_owned(),
            guess: guesses.next()?,
            hit: hits.next()?,
            margin: margins.next()?,
            log_likelihoods: likelihoods.next()?.to_vec(),
            error: errors.next()?.map(str::to_owned),
            cause: causes.next()?,
            reading: readings.next()?,
        };
        Some(row.with_cause())
    };
    Ok(std::iter::from_fn(&mut row).collect())
}

/// The readings of a frame's rows, if it has any.
fn readings(frame: &DataFrame) -> PolarsResult<Vec<Option<Reading>>> {
    let Ok(texts) = frame.column("reconstruction") else {
        return Ok(vec![None; frame.height()]);
    };
    let numbers = frame.column("recalled")?.list()?;
    let (bounds, inner) = (numbers.offsets()?, numbers.get_inner());
    let numbers = slices(&bounds, inner.u32()?.cont_slice()?);
    let reading = |(text, numbers): (Option<&str>, &[u32])| {
        let of = |numbers: &[u32]| Recalled {
            source: numbers[0],
            release: numbers[1],
            text: numbers[2],
        };
        match (text, numbers) {
            (None, []) => Ok(None),
            (Some(text), [_, _, _, _, _, _]) => Ok(Some(Reading {
                text: text.to_owned(),
                words: of(&numbers[..3]),
                rare: of(&numbers[3..]),
            })),
            _ => Err(polars_err!(ComputeError: "a reconstruction has {} numbers", numbers.len())),
        }
    };
    texts.str()?.iter().zip(numbers).map(reading).collect()
}

/// The cause with this name.
fn cause(name: Option<&str>) -> PolarsResult<Option<Cause>> {
    let read = |name| {
        Cause::named(name).ok_or_else(|| polars_err!(ComputeError: "'{name}' is not a cause"))
    };
    name.map(read).transpose()
}

/// The lists of a column, given where each begins in the values of all.
fn slices<'a, T>(bounds: &'a [i64], values: &'a [T]) -> impl Iterator<Item = &'a [T]> {
    bounds
        .windows(2)
        .map(|pair| &values[pair[0] as usize..pair[1] as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

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
            Rows::open(dir.path(), FILE)
                .unwrap()
                .metadata
                .row_groups
                .len(),
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
        assert_eq!(schema(true).len(), schema(false).len() + 2);
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
        assert_eq!(rows.metadata.row_groups.len(), 2);
        assert!(rows.map(Result::unwrap).all(|row| row == long));
    }

    /// `teda.trials/2`, as it was written.
    #[test]
    fn a_file_without_causes_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let none = |row| Row { cause: None, ..row };
        let rows: Vec<Row> = (0..50).map(Row::example).map(none).collect();
        let mut group = Group::default();
        rows.iter().for_each(|row| group.push(row.clone()));
        let mut frame = group.into_frame(false).unwrap().drop("cause").unwrap();
        let pairs = vec![(SCHEMA_KEY.into(), WITHOUT_CAUSE.into())];
        let file = File::create(dir.path().join(FILE)).unwrap();
        ParquetWriter::new(file)
            .with_key_value_metadata(Some(KeyValueMetadata::from_static(pairs)))
            .finish(&mut frame)
            .unwrap();
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
        let mut frame = DataFrame::new(1, vec![Column::new("a".into(), [1_u32])]).unwrap();
        let file = File::create(dir.path().join(FILE)).unwrap();
        ParquetWriter::new(file).finish(&mut frame).unwrap();
        let error = read(dir.path()).unwrap_err().to_string();
        assert!(error.contains("schema '(none)'"), "{error}");
    }
}
