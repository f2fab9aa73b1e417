//! Compares success counts of a cell with those that an earlier run recorded.

use std::path::Path;

use serde::Serialize;
use teda::audit::config::Config;
use teda::audit::stopping::Until;
use teda_core::{Error, Result};
use teda_results::Cell;

use crate::cli::compare::{self, Stored, TOLERANCE, shown};
use crate::cli::fields::Fields;
use crate::cli::key::Key;

/// The key of an audit's reference run …
pub const REFERENCE: &str = "reference";
/// … and its former name.
pub const FORMERLY: &str = "recorded";

/// The cells of a recorded run.
pub struct Recorded {
    run: Stored,
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
        let tolerance = compare::tolerance(tolerance).map_err(|e| fields.at("tolerance", e))?;
        if config.until != Until::Trials {
            return Err(fields.at(
                "until",
                Error::usage(format!(
                    "until = \"{}\" with {key}: success counts are compared after fixed numbers of trials alone",
                    config.until
                )),
            ));
        }
        let run = Stored::read(Path::new(path)).and_then(|run| run.refuse_stopped().map(|()| run));
        let run = run.map_err(|e| fields.at(key, e))?;
        Ok(Some(Self { run, tolerance }))
    }

    /// The recorded cell with this key.
    ///
    /// # Errors
    /// Usage, unless there is exactly one.
    pub fn cell(&self, key: &Key<'_>) -> Result<&Cell> {
        self.run.cell(key)?.ok_or_else(|| {
            Error::usage(format!(
                "{}: no recorded cell {key}: record this audit anew, or leave the cell out of it",
                self.run.source
            ))
        })
    }

    /// `cell` together with its record, as one of `compared` cells.
    ///
    /// # Errors
    /// Same as [`Self::cell`].
    pub fn compare(&self, cell: &Cell, compared: usize) -> Result<Comparison> {
        let then = self.cell(&Key::from(cell))?;
        Ok(Comparison {
            source: self.run.source.clone(),
            trials: then.trials,
            hits: then.hits,
            success_rate: then.success_rate,
            p_value: compare::p_value(then, cell),
            level: self.tolerance / compared as f64,
        })
    }
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
