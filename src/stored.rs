//! A finished run as its directory holds it.

use std::path::{Path, PathBuf};

use teda_core::{Error, Result};
use teda_results::{Cell, Document, Manifest, Status, trials};

use crate::config::{Config, Keep};
use crate::outcome::judge;
use crate::plan::refuse_ungaussian;
use crate::until::ANYTIME;
use crate::{count, finish};

/// A stored run.
pub struct Stored {
    /// Its directory.
    pub directory: PathBuf,
    /// What it was asked to do, and what came of it.
    pub manifest: Manifest,
    /// The configuration in it.
    pub config: Config,
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
    let config = Config::of_run(&manifest, directory)?;
    if config.keep == Keep::Rows && manifest.trials_sha256 != Some(trials::sha256(directory)?) {
        return Err(Error::failed(format!(
            "{}: trials.parquet is not the file that the run wrote (another sha256): it was changed or cut",
            directory.display()
        )));
    }
    Ok(Stored {
        directory: directory.to_owned(),
        manifest,
        config,
    })
}

impl Stored {
    /// Has the rows judged by another estimator than the run's.
    ///
    /// # Errors
    /// Usage, where its bound would not hold for these rows.
    pub fn judge_by(&mut self, estimator: &str) -> Result<()> {
        let until = self.config.until;
        if !until.allows(estimator) {
            return Err(Error::usage(format!(
                "{}: this run stopped by what it saw (--until {until}), which estimator '{estimator}' does not allow; only {ANYTIME} does",
                self.directory.display()
            )));
        }
        for cell in &mut self.manifest.cells {
            refuse_ungaussian(&cell.mechanism, cell.gaussian, estimator)?;
            estimator.clone_into(&mut cell.estimator);
        }
        Ok(())
    }

    /// Refuses a run that kept no rows to be counted anew.
    ///
    /// # Errors
    /// Usage.
    pub fn needs_rows(&self) -> Result<()> {
        if self.config.keep == Keep::Rows {
            return Ok(());
        }
        Err(Error::usage(format!(
            "{}: this run kept its counts alone (--keep counts): there are no rows to be judged by other settings than its own",
            self.directory.display()
        )))
    }

    /// The cells' results, counted anew from the rows; as they were, where the run kept none.
    ///
    /// # Errors
    /// Failed, if rows or results cannot be read or do not fit the manifest.
    pub fn judge(&self) -> Result<Vec<Cell>> {
        if self.config.keep == Keep::Counts {
            return Ok(Document::read(&self.directory.join(finish::RESULT))?.cells);
        }
        let trials = self.config.trial_range();
        let mut counts = count::begin(&self.manifest.cells, trials.end - trials.start)?;
        for row in trials::rows(&self.directory)? {
            count::add(&mut counts, &row?).map_err(|e| e.context(self.directory.display()))?;
        }
        judge(&self.manifest, &self.directory, &counts, &self.seconds())
    }

    /// What each cell took, as the run's result says (rows do not hold it); one entry a cell.
    pub fn seconds(&self) -> Vec<Option<f64>> {
        let document = Document::read(&self.directory.join(finish::RESULT));
        let cells = document.map_or_else(|_| Vec::new(), |document| document.cells);
        let mut seconds: Vec<Option<f64>> = cells.iter().map(|cell| cell.seconds).collect();
        seconds.resize(self.manifest.cells.len(), None);
        seconds
    }
}
