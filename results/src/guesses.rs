//! `guesses.parquet`: the guesses of attacks that learn on a run's trials, once all of them were made.
//!
//! # Schema
//! Rows as in `trials.parquet`, but without release and likelihoods, which are stored there. For each such cell all
//! trials are included, in order: first those that the attack learned from
//! ([`CellPlan::trained`](crate::CellPlan::trained)), with the guesses of models that were fitted without them. The
//! same rows give the same bytes.

use crate::parquet::Rows;
use crate::{Row, Writer, checksum};
use std::path::Path;
use teda_core::Result;

/// The file's name in the run directory.
const FILE: &str = "guesses.parquet";

/// Creates the file in the run directory `dir`; `reads` says whether rows may have a reading.
///
/// # Errors
/// Failed, if it cannot be created.
pub fn create(dir: &Path, reads: bool) -> Result<Writer> {
    Writer::create(dir, FILE, reads)
}

/// SHA-256 of the file, in hexadecimal.
///
/// # Errors
/// Failed, if it cannot be read.
pub fn sha256(dir: &Path) -> Result<String> {
    checksum::sha256(&dir.join(FILE))
}

/// The rows of the run in `dir`, whose file has this SHA-256.
///
/// # Errors
/// Failed, if it is not the file that the run wrote, or cannot be read; the same applies to each row's own result.
pub fn rows(dir: &Path, sha: &str) -> Result<impl Iterator<Item = Result<Row>> + use<>> {
    checksum::verify(&dir.join(FILE), Some(sha))?;
    Rows::open(dir, FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_read_back_and_a_changed_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let all: Vec<Row> = (0..30).map(Row::example).collect();
        let mut writer = create(dir.path(), false).unwrap();
        all.iter().for_each(|row| writer.push(row.clone()).unwrap());
        writer.finish().unwrap();
        let sha = sha256(dir.path()).unwrap();
        let read: Vec<Row> = rows(dir.path(), &sha)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        assert_eq!(read, all);
        let refused = rows(dir.path(), "00").err().unwrap().to_string();
        assert!(refused.contains("guesses.parquet"), "{refused}");
    }
}
