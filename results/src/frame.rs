//! The Parquet files of a run as whole tables, for programs that calculate with them.

use std::fs::File;
use std::path::Path;

use polars::prelude::*;
use teda_core::{Error, Result};

use crate::parquet::caught;
use crate::{atomic, threads};

/// The whole table in the file named `name` (`trials.parquet`, `guesses.parquet`, `texts.parquet`) of the run
/// directory `dir`, in one chunk.
///
/// # Errors
/// Usage, if there is no such file; failed, if it cannot be read or is damaged.
pub fn read(dir: &Path, name: &str) -> Result<DataFrame> {
    let path = dir.join(name);
    if !path.exists() {
        return Err(Error::usage(format!(
            "{}: this run has no {name}",
            dir.display()
        )));
    }
    threads::can_start()?;
    let file = File::open(&path).map_err(|e| atomic::failed(&path, "cannot read", &e))?;
    caught(|| ParquetReader::new(file).set_rechunk(true).finish())
        .map_err(|e| atomic::failed(&path, "damaged", &e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Row, Writer};

    #[test]
    fn a_table_has_the_rows_of_its_file_in_one_chunk() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(dir.path(), "trials.parquet", false).unwrap();
        for trial in 0..100 {
            writer.push(Row::example(trial)).unwrap();
        }
        writer.finish().unwrap();
        let table = read(dir.path(), "trials.parquet").unwrap();
        assert_eq!((table.height(), table.width()), (100, 11));
        assert!(!table.should_rechunk() && table.column("trial").unwrap().n_chunks() == 1);
        let missing = read(dir.path(), "guesses.parquet").unwrap_err();
        assert!(matches!(missing, Error::Usage(m) if m.contains("no guesses.parquet")));
        std::fs::write(dir.path().join("texts.parquet"), "PAR1 or not").unwrap();
        let damaged = read(dir.path(), "texts.parquet").unwrap_err().to_string();
        assert!(damaged.contains("damaged"), "{damaged}");
    }
}
