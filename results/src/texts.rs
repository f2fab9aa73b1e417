//! `texts.parquet`: the texts that the candidates of rows are indices into, so that a run can be understood without
//! its data set.
//!
//! # Schema
//! Columns `list` UInt32, `number` UInt32, `text` String, all without nulls, sorted by `list` and `number`, both from
//! 0 without gaps. A cell's list is [`CellPlan::texts`](crate::CellPlan::texts). The same texts give the same bytes.

use crate::parquet::caught;
use crate::{atomic, checksum, threads};
use polars::prelude::*;
use std::fs::File;
use std::path::Path;
use teda_core::Result;

/// The file's name in the run directory.
const FILE: &str = "texts.parquet";

/// Writes the lists into the run directory `dir` atomically and returns the file's SHA-256.
///
/// # Errors
/// Failed, if the file cannot be written.
pub fn write(dir: &Path, lists: &[impl AsRef<[String]>]) -> Result<String> {
    threads::can_start()?;
    let path = dir.join(FILE);
    let bytes = encoded(lists).map_err(|e| atomic::failed(&path, "cannot write", &e))?;
    atomic::write(&path, &bytes)?;
    checksum::sha256(&path)
}

fn encoded(lists: &[impl AsRef<[String]>]) -> PolarsResult<Vec<u8>> {
    let (mut list, mut number, mut text) = (Vec::new(), Vec::new(), Vec::new());
    for (place, texts) in (0_u32..).zip(lists) {
        for (i, one) in (0_u32..).zip(texts.as_ref()) {
            list.push(place);
            number.push(i);
            text.push(one.as_str());
        }
    }
    let columns = vec![
        Column::new("list".into(), list),
        Column::new("number".into(), number),
        Column::new("text".into(), text),
    ];
    let mut frame = DataFrame::new(columns[0].len(), columns)?;
    let mut bytes = Vec::new();
    ParquetWriter::new(&mut bytes)
        .with_compression(ParquetCompression::Zstd(None))
        .finish(&mut frame)?;
    Ok(bytes)
}

/// Refuses a file with a different SHA-256.
///
/// # Errors
/// Failed, if it is not the file that the run wrote, or cannot be read.
pub fn verify(dir: &Path, sha256: &str) -> Result<()> {
    checksum::verify(&dir.join(FILE), Some(sha256))
}

/// The lists of the run in `dir`, whose file has this SHA-256.
///
/// # Errors
/// Failed, if it is not the file that the run wrote, or cannot be read.
pub fn read(dir: &Path, sha256: &str) -> Result<Vec<Vec<String>>> {
    verify(dir, sha256)?;
    let path = dir.join(FILE);
    let file = File::open(&path).map_err(|e| atomic::failed(&path, "cannot read", &e))?;
    caught(|| decoded(&ParquetReader::new(file).finish()?))
        .map_err(|e| atomic::failed(&path, "damaged", &e))
}

fn decoded(frame: &DataFrame) -> PolarsResult<Vec<Vec<String>>> {
    let list = frame.column("list")?.u32()?.iter();
    let text = frame.column("text")?.str()?.iter();
    let mut lists: Vec<Vec<String>> = Vec::new();
    for (list, text) in list.flatten().zip(text.flatten()) {
        lists.resize_with(lists.len().max(list as usize + 1), Vec::new);
        lists[list as usize].push(text.to_owned());
    }
    Ok(lists)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists() -> Vec<Vec<String>> {
        let awkward = [
            "",
            "line one\nline \"two\" \u{2028}",
            "a\0b",
            "was läuft 🎵",
        ];
        let long = (0..3000).map(|i| format!("text {i}")).collect();
        vec![
            awkward.map(String::from).to_vec(),
            long,
            vec!["x".repeat(100_000)],
        ]
    }

    #[test]
    fn texts_read_back_and_the_same_make_the_same_bytes() {
        let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let sha256 = write(a.path(), &lists()).unwrap();
        assert_eq!(read(a.path(), &sha256).unwrap(), lists());
        assert_eq!(write(b.path(), &lists()).unwrap(), sha256);
    }

    #[test]
    fn another_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let sha256 = write(dir.path(), &lists()).unwrap();
        let path = dir.path().join(FILE);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[100] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let refused = || read(dir.path(), &sha256).unwrap_err().to_string();
        assert!(refused().contains("texts.parquet: not the file that the run wrote"));
        std::fs::remove_file(&path).unwrap();
        assert!(refused().contains("texts.parquet: cannot read"));
        // Whatever its digest, a file that is not Parquet is an error and not a panic.
        std::fs::write(&path, "PAR1 or not").unwrap();
        let damaged = read(dir.path(), &checksum::sha256(&path).unwrap()).unwrap_err();
        assert!(damaged.to_string().contains("damaged"), "{damaged}");
    }
}
