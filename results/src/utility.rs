//! One line of a result: what the releases of one setting are still good for by one measure.
//!
//! # Schema
//! The fields and their order are the JSON contract of `utilities` in `teda.audit/1`, and the columns of `utilities.csv`.

use std::path::Path;

use serde::{Deserialize, Serialize};
use teda_core::{Error, Neighbours, Result, Unit};

use crate::atomic;
use crate::cells_csv::name;

/// The mean of one utility over the releases of one (dataset, mechanism, ε, neighbours, k, λ).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UtilityCell {
    /// The dataset's name.
    pub dataset: String,
    /// The mechanism's name.
    pub mechanism: String,
    /// The nominal ε as published, in `epsilon_unit`; missing for a mechanism without ε.
    pub epsilon: Option<f64>,
    /// What one nominal ε is spent on: `token`, `triple` or `text`.
    pub epsilon_unit: Option<Unit>,
    /// Which pairs of texts the candidate sets hold.
    pub neighbours: Neighbours,
    /// Candidates per trial.
    pub k: u32,
    /// Sampling temperature of the candidate sets.
    pub lambda: f64,
    /// The utility's name.
    pub utility: String,
    /// What was computed, and with which model.
    pub signature: String,
    /// Trials, each of which released something or failed.
    pub trials: u64,
    /// Trials without a release: they have no score.
    pub failed: u64,
    /// Releases for which the utility is not defined.
    pub undefined: u64,
    /// The mean score of the other releases; missing if there are none.
    pub mean: Option<f64>,
    /// Ends of the confidence interval of the mean (Student's t); missing for fewer than two scores.
    pub mean_lower: Option<f64>,
    /// See `mean_lower`.
    pub mean_upper: Option<f64>,
    /// The standard deviation of the scores (n − 1); missing for fewer than two.
    pub deviation: Option<f64>,
    /// Two-sided level of the interval.
    pub alpha: f64,
    /// The score of all releases together, for a utility that has one which is not the mean.
    pub corpus: Option<f64>,
    /// What was computed for `corpus`.
    pub corpus_signature: Option<String>,
}

/// Writes the lines as a table for spreadsheets, with a header of the fields in order.
///
/// # Errors
/// Failed, if the file cannot be written.
pub fn write(path: &Path, cells: &[UtilityCell]) -> Result<()> {
    let failed = |e: &dyn std::fmt::Display| Error::failed(format!("utilities as CSV: {e}"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    for cell in cells {
        let row = UtilityCell {
            dataset: name(&cell.dataset),
            mechanism: name(&cell.mechanism),
            signature: name(&cell.signature),
            ..cell.clone()
        };
        writer.serialize(row).map_err(|e| failed(&e))?;
    }
    let bytes = writer.into_inner().map_err(|e| failed(&e))?;
    atomic::write(path, &bytes)
}
