//! `texts.parquet`: the texts that the candidates of rows are indices into, so that a run can be understood without
//! its data set.
//!
//! # Schema
//! Columns `list` UInt32, `number` UInt32, `text` String, all without nulls, sorted by `list` and `number`, both from
//! 0 without gaps. A cell's list is [`CellPlan::texts`](crate::CellPlan::texts). The same texts give the same bytes.

use std::fs::File;
use std::path::Path;

use teda_core::Result;
use teda_parquet::arrow::array::{MutableBinaryViewArray, PrimitiveArray, Utf8ViewArray};
use teda_parquet::arrow::datatypes::ArrowDataType;
use teda_parquet::{Compression, Footer, Writer};

use crate::columns::without_nulls;
use crate::{atomic, checksum};

/// The file's name in the run directory.
const FILE: &str = "texts.parquet";

/// Rows of a row group.
const GROUP: usize = 1 << 18;

/// Writes the lists into the run directory `dir` atomically and returns the file's SHA-256.
///
/// # Errors
/// Failed, if the file cannot be written.
pub fn write(dir: &Path, lists: &[impl AsRef<[String]>]) -> Result<String> {
    let path = dir.join(FILE);
    let bytes = encoded(lists).map_err(|e| atomic::failed(&path, "cannot write", &e))?;
    atomic::write(&path, &bytes)?;
    checksum::sha256(&path)
}

fn encoded(lists: &[impl AsRef<[String]>]) -> teda_parquet::Result<Vec<u8>> {
    let types = [
        ("list", ArrowDataType::UInt32),
        ("number", ArrowDataType::UInt32),
        ("text", ArrowDataType::Utf8View),
    ];
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &types, Compression::Zstd, &[])?;
    let lists = (0_u32..).zip(lists.iter().map(AsRef::as_ref));
    let mut rows = lists
        .flat_map(|(list, texts)| (0_u32..).zip(texts).map(move |(i, text)| (list, i, text)))
        .peekable();
    while rows.peek().is_some() {
        let (mut list, mut number) = (Vec::new(), Vec::new());
        let mut text = MutableBinaryViewArray::<str>::new();
        for (place, i, one) in rows.by_ref().take(GROUP) {
            list.push(place);
            number.push(i);
            text.push_value(one);
        }
        writer.write(&[
            PrimitiveArray::from_vec(list).boxed(),
            PrimitiveArray::from_vec(number).boxed(),
            text.freeze().boxed(),
        ])?;
    }
    writer.finish()?;
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
    let mut file = File::open(&path).map_err(|e| atomic::failed(&path, "cannot read", &e))?;
    decoded(&mut file).map_err(|e| atomic::failed(&path, "damaged", &e))
}

fn decoded(file: &mut File) -> teda_parquet::Result<Vec<Vec<String>>> {
    let footer = Footer::read(file)?;
    let mut lists: Vec<Vec<String>> = Vec::new();
    for group in 0..footer.groups().len() {
        let numbers = footer.column(file, group, "list", None)?;
        let texts = footer.column(file, group, "text", None)?;
        let numbers: &PrimitiveArray<u32> = without_nulls("list", &*numbers)?;
        let texts: &Utf8ViewArray = without_nulls("text", &*texts)?;
        for (list, text) in numbers.values_iter().zip(texts.values_iter()) {
            lists.resize_with(lists.len().max(*list as usize + 1), Vec::new);
            lists[*list as usize].push(text.to_owned());
        }
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
