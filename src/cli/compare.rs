//! Compares success counts of the same cell in two runs.
//!
//! # Definition
//! Each run's trials are independent and as many as were asked for. If a cell's success rates are equal, the p-value of Fisher's
//! exact test on its hits and misses is at most q with probability at most q. Of c cells that are compared, one moved if its
//! p-value is at most tolerance / c: of cells that are all the same, any is said to have moved with probability at most the tolerance
//! (Bonferroni), whatever they share.

use std::path::{Path, PathBuf};

use teda::audit::config::Config;
use teda::audit::stopping::{ANYTIME, Until};
use teda::report::finish::RESULT;
use teda_core::stats::two_sample::{self, Sample};
use teda_core::{Error, Result};
use teda_results::{Cell, Document, Manifest, Status, UtilityCell};

use super::key::Key;

/// Probability of a false alarm where none is named.
pub const TOLERANCE: f64 = 0.01;

/// The cells of a stored run.
pub struct Stored {
    /// The run, as named by the user.
    pub source: String,
    /// Its cells.
    pub cells: Vec<Cell>,
    /// What its releases are still good for, where it was measured.
    pub utilities: Vec<UtilityCell>,
    /// When its cells ended; `None` for a single file, which does not say.
    until: Option<Until>,
}

impl Stored {
    /// Reads a run directory, or a single result file.
    ///
    /// # Errors
    /// Usage, for anything else, a run that is not complete, and counts that no audit has.
    pub fn read(path: &Path) -> Result<Self> {
        let (file, until) = match path.is_dir() {
            true => (path.join(RESULT), Some(until(path)?)),
            false => (PathBuf::from(path), None),
        };
        let source = path.display().to_string();
        let document = Document::read(&file)?;
        if let Some(cell) = document.cells.iter().find(|cell| cell.hits > cell.trials) {
            return Err(Error::usage(format!(
                "{source}: {} hits in {} trials of {}: these are not counts of an audit",
                cell.hits,
                cell.trials,
                Key::from(cell)
            )));
        }
        Ok(Self {
            source,
            cells: document.cells,
            utilities: document.utilities,
            until,
        })
    }

    /// Why the counts of a cell cannot be compared: its number of trials depends on its hits.
    #[must_use]
    pub fn stopped(&self, cell: &Cell) -> Option<String> {
        match self.until {
            Some(Until::Trials) => None,
            Some(until) => Some(format!(
                "recorded with --until {until}: success counts are compared after fixed numbers of trials alone"
            )),
            None => (cell.estimator == ANYTIME).then(|| {
                format!("the estimator {ANYTIME} is for cells that may stop early, and a single file does not say whether they did: name the run directory")
            }),
        }
    }

    /// Refuses a run whose cells stopped once they were decided.
    ///
    /// # Errors
    /// Usage.
    pub fn refuse_stopped(&self) -> Result<()> {
        match (self.until, self.cells.first()) {
            (Some(until), Some(cell)) if until != Until::Trials => {
                let why = self.stopped(cell).unwrap_or_default();
                Err(Error::usage(format!("{}: {why}", self.source)))
            }
            _ => Ok(()),
        }
    }

    /// The cell with this key; `None` if there is none.
    ///
    /// # Errors
    /// Usage, if there are several.
    pub fn cell(&self, key: &Key<'_>) -> Result<Option<&Cell>> {
        let mut found = self.cells.iter().filter(|cell| Key::from(*cell) == *key);
        match (found.next(), found.next()) {
            (found, None) => Ok(found),
            (_, Some(_)) => Err(Error::usage(format!(
                "{}: more than one recorded cell {key}: name a single run",
                self.source
            ))),
        }
    }
}

/// When the cells of the complete run in `directory` ended.
fn until(directory: &Path) -> Result<Until> {
    let manifest = Manifest::load(directory)?;
    if manifest.status != Status::Complete {
        let place = directory.display();
        return Err(Error::usage(format!(
            "{place}: this run is not complete: finish it with teda audit --resume {place}"
        )));
    }
    Ok(Config::of_run(&manifest, directory)?.until)
}

/// The level at which a cell's two success rates are the same.
#[must_use]
pub fn p_value(then: &Cell, now: &Cell) -> f64 {
    two_sample::fisher(
        Sample::new(then.hits, then.trials),
        Sample::new(now.hits, now.trials),
    )
}

/// A tolerance that can be one.
///
/// # Errors
/// Usage, for a number that is no probability strictly between 0 and 1.
pub fn tolerance(tolerance: f64) -> Result<f64> {
    if tolerance > 0.0 && tolerance < 1.0 {
        return Ok(tolerance);
    }
    Err(Error::usage(format!(
        "tolerance = {tolerance}: a probability of false alarm lies strictly between 0 and 1"
    )))
}

/// A probability to the digits that matter; a very small one as a bound.
#[must_use]
pub fn shown(probability: f64) -> String {
    if probability == 0.0 {
        "1e-300".to_owned()
    } else if probability < 1e-3 {
        format!("{probability:.1e}")
    } else {
        format!("{probability:.4}")
    }
}
