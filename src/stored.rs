//! A finished run as its directory holds it.

use std::path::{Path, PathBuf};

use teda_core::{Error, Result, Tally};
use teda_results::{Cell, Document, Manifest, Status, trials};

use crate::config::Config;
use crate::finish;
use crate::outcome::judge;

/// A stored run.
pub struct Stored {
    /// Its directory.
    pub directory: PathBuf,
    /// What it was asked to do.
    pub manifest: Manifest,
}

/// Opens the complete run in `directory`.
///
/// # Errors
/// Usage, if there is none or it is not complete; failed, if its rows are not those that it wrote.
pub fn open(directory: &Path) -> Result<Stored> {
    let manifest = Manifest::load(directory)?;
    if manifest.status != Status::Complete {
        return Err(Error::usage(format!(
            "{}: this run is not complete: finish it with teda audit --resume {}",
            directory.display(),
            directory.display()
        )));
    }
    if manifest.trials_sha256 != Some(trials::sha256(directory)?) {
        return Err(Error::failed(format!(
            "{}: trials.parquet is not the file that the run wrote (another sha256): it was changed or cut",
            directory.display()
        )));
    }
    Ok(Stored {
        directory: directory.to_owned(),
        manifest,
    })
}

impl Stored {
    /// The run's configuration.
    ///
    /// # Errors
    /// Failed, if the manifest holds none.
    pub fn config(&self) -> Result<Config> {
        finish::config(&self.manifest, &self.directory)
    }

    /// The cells' results, counted anew from the rows.
    ///
    /// # Errors
    /// Failed, if rows cannot be read or do not fit the manifest.
    pub fn judge(&self) -> Result<Vec<Cell>> {
        let mut tallies: Vec<Tally> = self
            .manifest
            .cells
            .iter()
            .map(|cell| Tally::new(cell.k as usize))
            .collect();
        for row in trials::rows(&self.directory)? {
            let row = row?;
            let (secret, guess) = (row.secret as usize, row.guess as usize);
            let fits = |tally: &&mut Tally| secret < tally.k() && guess < tally.k();
            let tally = tallies.get_mut(row.cell as usize).filter(fits).ok_or_else(|| {
                Error::failed(format!(
                    "{}: the row of cell {}, trial {} does not fit the manifest: the run was changed",
                    self.directory.display(),
                    row.cell,
                    row.trial
                ))
            })?;
            tally.record(secret, guess, row.error.is_some());
        }
        let seconds = self.seconds();
        self.manifest
            .cells
            .iter()
            .zip(&tallies)
            .enumerate()
            .map(|(index, (plan, tally))| judge(plan, tally, seconds.get(index).copied().flatten()))
            .collect()
    }

    /// What each cell took, as its result says; rows do not hold it.
    pub fn seconds(&self) -> Vec<Option<f64>> {
        Document::read(&self.directory.join(finish::RESULT)).map_or_else(
            |_| Vec::new(),
            |document| document.cells.iter().map(|c| c.seconds).collect(),
        )
    }
}
