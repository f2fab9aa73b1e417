//! Compares success counts of a cell with those that an earlier run recorded.

use std::path::Path;

use serde::Serialize;
use teda_core::stats::two_sample::{self, Sample};
use teda_core::{Error, Result};
use teda_results::{Cell, Document, Manifest};

use super::key::Key;
use crate::cli::fields::Fields;
use teda::audit::config::Config;
use teda::audit::stopping::Until;
use teda::report::finish::RESULT;

/// The key of an audit's reference run …
pub const REFERENCE: &str = "reference";
/// … and its former name.
pub const FORMERLY: &str = "recorded";

/// Probability of a false alarm for an audit without a `tolerance`.
const TOLERANCE: f64 = 0.01;

/// The cells of a recorded run.
pub struct Recorded {
    /// The file, as named by the user.
    source: String,
    cells: Vec<Cell>,
    /// Probability of a false alarm, over all cells that are compared.
    tolerance: f64,
}

/// A cell together with its record.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// The recorded run.
    source: String,
    trials: u64,
    hits: u64,
    /// The recorded success rate.
    pub success_rate: f64,
    /// For equal success rates, by Fisher's exact test.
    pub p_value: f64,
    /// The p-value at or below which the rates count as different: the tolerance over the number of compared cells.
    level: f64,
}

impl Recorded {
    /// The record that the fields of an audit name, if they name one.
    ///
    /// # Errors
    /// Usage, for a file that is not a result, an invalid tolerance, or counts that no test compares.
    pub fn read_field(fields: &Fields, config: &Config) -> Result<Option<Self>> {
        let key = match fields.has(FORMERLY) {
            true => FORMERLY,
            false => REFERENCE,
        };
        let Some(path) = fields.word(key)? else {
            return Ok(None);
        };
        if fields.has(REFERENCE) && fields.has(FORMERLY) {
            return Err(fields.at(
                FORMERLY,
                Error::usage("reference and recorded name the same thing: keep reference"),
            ));
        }
        let tolerance = fields.number("tolerance")?.unwrap_or(TOLERANCE);
        if !(tolerance > 0.0 && tolerance < 1.0) {
            return Err(fields.at(
                "tolerance",
                Error::usage(format!(
                    "tolerance = {tolerance}: a probability of false alarm lies strictly between 0 and 1"
                )),
            ));
        }
        if config.until != Until::Trials {
            return Err(fields.at(
                "until",
                Error::usage(format!(
                    "until = \"{}\" with {key}: success counts are compared after fixed numbers of trials alone",
                    config.until
                )),
            ));
        }
        let recorded = Self::read(Path::new(path), tolerance);
        recorded.map(Some).map_err(|e| fields.at(key, e))
    }

    /// Reads a run directory, or a single result file.
    fn read(path: &Path, tolerance: f64) -> Result<Self> {
        let file = if path.is_dir() {
            refuse_stopped(path)?;
            path.join(RESULT)
        } else {
            path.to_owned()
        };
        let source = path.display().to_string();
        let cells = Document::read(&file)?.cells;
        if let Some(cell) = cells.iter().find(|cell| cell.hits > cell.trials) {
            return Err(Error::usage(format!(
                "{source}: {} hits in {} trials of {}: these are not counts of an audit",
                cell.hits,
                cell.trials,
                Key::from(cell)
            )));
        }
        Ok(Self {
            source,
            cells,
            tolerance,
        })
    }

    /// The recorded cell with this key.
    ///
    /// # Errors
    /// Usage, unless there is exactly one.
    pub fn cell(&self, key: &Key<'_>) -> Result<&Cell> {
        let mut found = self.cells.iter().filter(|cell| Key::from(*cell) == *key);
        match (found.next(), found.next()) {
            (Some(cell), None) => Ok(cell),
            (None, _) => Err(Error::usage(format!(
                "{}: no recorded cell {key}: record this audit anew, or leave the cell out of it",
                self.source
            ))),
            (Some(_), Some(_)) => Err(Error::usage(format!(
                "{}: more than one recorded cell {key}: name a single run",
                self.source
            ))),
        }
    }

    /// `cell` together with its record, as one of `compared` cells.
    ///
    /// # Errors
    /// Same as [`Self::cell`].
    pub fn compare(&self, cell: &Cell, compared: usize) -> Result<Comparison> {
        let then = self.cell(&Key::from(cell))?;
        Ok(Comparison {
            source: self.source.clone(),
            trials: then.trials,
            hits: then.hits,
            success_rate: then.success_rate,
            p_value: two_sample::fisher(
                Sample::new(then.hits, then.trials),
                Sample::new(cell.hits, cell.trials),
            ),
            level: self.tolerance / compared as f64,
        })
    }
}

/// Refuses a run whose cells stopped once they were decided: their numbers of trials depend on hits.
fn refuse_stopped(directory: &Path) -> Result<()> {
    let until = Config::of_run(&Manifest::load(directory)?, directory)?.until;
    if until == Until::Trials {
        return Ok(());
    }
    Err(Error::usage(format!(
        "{}: recorded with --until {until}: success counts are compared after fixed numbers of trials alone",
        directory.display()
    )))
}

impl Comparison {
    /// The regression in words, if there is one.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        (self.p_value <= self.level).then(|| {
            format!(
                "the success rate is not that recorded: {} of {} hits then, p = {} ≤ {}",
                self.hits,
                self.trials,
                shown(self.p_value),
                shown(self.level)
            )
        })
    }
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
