//! The rows of a run from its first trial to its finished file.
//!
//! While a run is in progress they are in the [`Journal`], since lines can be appended and cut but a Parquet file
//! cannot; when it is done they become `trials.parquet`. The journal is removed last: whenever a process is killed,
//! one of the two holds all rows.

use crate::parquet::{self, Rows};
use crate::{Journal, Manifest, Row, Writer, atomic, checksum, journal};
use std::fs;
use std::path::Path;
use teda_core::{Error, Result};

/// Turns the journal into `trials.parquet`, in constant memory, hands the file's SHA-256 to `keep`, and removes the
/// journal.
///
/// If it is killed at any moment and called again after [`resume`], it produces the same bytes.
///
/// # Errors
/// Failed, if the journal is damaged or a file cannot be written; the journal is then kept. Any error that `keep`
/// returns.
pub fn finish(mut journal: Journal, keep: impl FnOnce(String) -> Result<()>) -> Result<()> {
    journal.flush()?;
    let (dir, reads) = (journal.dir().to_owned(), journal.reads());
    // Some systems do not remove a file that is open.
    drop(journal);
    let mut writer = create(&dir, reads)?;
    for row in journal::Lines::open(&dir)? {
        writer.push(row?)?;
    }
    writer.finish()?;
    // The journal checks itself, a Parquet file does not: it must not be the only copy before its digest is stored.
    keep(sha256(&dir)?)?;
    let path = dir.join(journal::FILE);
    fs::remove_file(&path).map_err(|e| atomic::failed(&path, "cannot remove", &e))
}

/// Creates the `trials.parquet` of a run whose rows are made already, as when shards are merged; `reads` says whether
/// rows may have a reading.
///
/// # Errors
/// Failed, if it cannot be created.
pub fn create(dir: &Path, reads: bool) -> Result<Writer> {
    Writer::create(dir, parquet::FILE, reads)
}

/// Whether rows of a finished run may have a reading.
///
/// # Errors
/// Failed, if they cannot be read.
pub fn reads(dir: &Path) -> Result<bool> {
    Ok(Rows::open(dir, parquet::FILE)?.reads())
}

/// SHA-256 of `trials.parquet`, in hexadecimal.
///
/// # Errors
/// Failed, if the file cannot be read.
pub fn sha256(dir: &Path) -> Result<String> {
    checksum::sha256(&dir.join(parquet::FILE))
}

/// Refuses a `trials.parquet` whose SHA-256 is not `known`.
///
/// # Errors
/// Failed, if it differs, or the file cannot be read.
pub fn verify(dir: &Path, known: Option<&str>) -> Result<()> {
    checksum::verify(&dir.join(parquet::FILE), known)
}

/// Opens the rows of an earlier run to continue it, after handing each to `each`.
///
/// For a run that was killed after its trials were finished, the journal is rebuilt from a file with the SHA-256 in
/// its manifest, so that a caller need not distinguish the cases.
///
/// # Errors
/// Same as [`Journal::resume`]; also failed, if `trials.parquet` cannot be read or is another file.
pub fn resume(
    dir: &Path,
    manifest: &Manifest,
    each: impl FnMut(Row) -> Result<()>,
) -> Result<Journal> {
    let run = manifest.identity();
    if !dir.join(journal::FILE).exists() && dir.join(parquet::FILE).exists() {
        // Older runs did not store a digest before they were complete.
        if manifest.trials_sha256.is_some() {
            verify(dir, manifest.trials_sha256.as_deref())?;
        }
        Journal::restore(dir, &run, Rows::open(dir, parquet::FILE)?)?;
    }
    Journal::resume(dir, &run, each)
}

/// The rows of a run, finished or not, in the order in which they were made.
///
/// # Errors
/// Usage, if there are none; failed, also as each row's own result, if a file cannot be read or is damaged.
pub fn rows(dir: &Path) -> Result<Box<dyn Iterator<Item = Result<Row>>>> {
    // A journal beside a finished file is a conversion that was killed at its very end, or a
    // resumed run: either way the journal has every row.
    if dir.join(journal::FILE).exists() {
        Ok(Box::new(journal::Lines::open(dir)?))
    } else if dir.join(parquet::FILE).exists() {
        Ok(Box::new(Rows::open(dir, parquet::FILE)?))
    } else {
        Err(Error::usage(format!(
            "{}: no trials: there is neither {} nor {}",
            dir.display(),
            parquet::FILE,
            journal::FILE
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn examples(trials: std::ops::Range<u64>) -> Vec<Row> {
        trials.map(Row::example).collect()
    }

    fn manifest() -> Manifest {
        Manifest::new("0", "", serde_json::Value::Null)
    }

    fn stored(journal: Journal) -> Result<()> {
        finish(journal, |_| Ok(()))
    }

    fn journal(dir: &Path, rows: &[Row]) -> Journal {
        let mut journal = Journal::create(dir, &manifest().identity()).unwrap();
        rows.iter().for_each(|row| journal.append(row).unwrap());
        journal.flush().unwrap();
        journal
    }

    fn resumed(dir: &Path) -> (Vec<Row>, Journal) {
        let mut found = Vec::new();
        let journal = resume(dir, &manifest(), |row| {
            found.push(row);
            Ok(())
        });
        (found, journal.unwrap())
    }

    fn read(dir: &Path) -> Vec<Row> {
        rows(dir).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn a_finished_run_has_its_rows_in_one_file() {
        let dir = tempfile::tempdir().unwrap();
        let all = examples(0..1000);
        let journal = journal(dir.path(), &all);
        assert_eq!(read(dir.path()), all);
        stored(journal).unwrap();
        assert_eq!(read(dir.path()), all);
        let names: Vec<_> = fs::read_dir(dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, [parquet::FILE]);
    }

    #[test]
    fn a_kill_at_any_step_ends_with_the_same_bytes() {
        let all = examples(0..1000);
        let (expected, lines) = {
            let dir = tempfile::tempdir().unwrap();
            let journal = journal(dir.path(), &all);
            let lines = fs::read(dir.path().join(journal::FILE)).unwrap();
            stored(journal).unwrap();
            (fs::read(dir.path().join(parquet::FILE)).unwrap(), lines)
        };
        let temporary = "trials.parquet.tmp";
        // What a killed process may leave: half a row, half a file, both whole files, one of them.
        let states: [&[(&str, &[u8])]; 5] = [
            &[(journal::FILE, &lines[..lines.len() / 2])],
            &[
                (journal::FILE, &lines),
                (temporary, &expected[..expected.len() / 2]),
            ],
            &[(journal::FILE, &lines), (parquet::FILE, &expected)],
            &[(parquet::FILE, &expected)],
            &[
                (parquet::FILE, &expected),
                ("trials.jsonl.tmp", &lines[..lines.len() / 2]),
            ],
        ];
        for state in states {
            let dir = tempfile::tempdir().unwrap();
            for (name, bytes) in state {
                fs::write(dir.path().join(name), bytes).unwrap();
            }
            let (found, mut journal) = resumed(dir.path());
            assert_eq!(found, all[..found.len()]);
            for row in &all[found.len()..] {
                journal.append(row).unwrap();
            }
            stored(journal).unwrap();
            assert!(fs::read(dir.path().join(parquet::FILE)).unwrap() == expected);
            assert!(!dir.path().join(journal::FILE).exists());
        }
    }

    /// The file has columns for readings if a row has one, also one that an earlier process wrote.
    #[test]
    fn readings_are_kept_after_a_kill() {
        let dir = tempfile::tempdir().unwrap();
        let mut all = examples(0..20);
        all[3].reading = Some(teda_core::Reading {
            text: "what came back".into(),
            words: teda_core::Recalled::default(),
            rare: teda_core::Recalled::default(),
        });
        drop(journal(dir.path(), &all[..10]));
        let (found, mut journal) = resumed(dir.path());
        assert_eq!(found, all[..10]);
        all[10..]
            .iter()
            .for_each(|row| journal.append(row).unwrap());
        stored(journal).unwrap();
        assert_eq!(read(dir.path()), all);
    }

    #[test]
    fn a_finished_run_can_be_extended() {
        let dir = tempfile::tempdir().unwrap();
        let all = examples(0..20);
        stored(journal(dir.path(), &all[..10])).unwrap();
        let (found, mut journal) = resumed(dir.path());
        assert_eq!(found, all[..10]);
        all[10..]
            .iter()
            .for_each(|row| journal.append(row).unwrap());
        stored(journal).unwrap();
        assert_eq!(read(dir.path()), all);
    }

    #[test]
    fn a_damaged_journal_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let journal = journal(dir.path(), &examples(0..5));
        let path = dir.path().join(journal::FILE);
        let damaged = fs::read_to_string(&path).unwrap().replacen('{', "(", 1);
        fs::write(&path, &damaged).unwrap();
        assert!(stored(journal).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), damaged);
        assert!(!dir.path().join(parquet::FILE).exists());
    }

    #[test]
    fn no_trials_are_an_error_of_the_request() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(rows(dir.path()), Err(Error::Usage(m)) if m.contains("no trials")));
    }
}
