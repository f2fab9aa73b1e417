//! Trials into counts and evidence: the one way, whether they are made, resumed, merged or judged again.

use teda_core::estimator::{self, Design, Evidence, Level, Observed};
use teda_core::{Error, Result, Tally};
use teda_results::{CellPlan, Row};

/// What the rows of a cell amount to so far.
pub struct Count {
    /// Guesses by secret.
    pub tally: Tally,
    /// What the cell's estimator makes of them.
    pub evidence: Box<dyn Evidence>,
}

impl Count {
    /// Counts a trial.
    ///
    /// # Errors
    /// Failed, where it has numbers that no trial can have.
    pub fn observe(&mut self, trial: &Observed<'_>) -> Result<()> {
        self.observe_times(trial, 1)
    }

    /// Counts as many trials that are all the same.
    ///
    /// # Errors
    /// As [`Self::observe`].
    pub fn observe_times(&mut self, trial: &Observed<'_>, times: u64) -> Result<()> {
        self.tally
            .record_times(trial.secret, trial.guess, trial.failed, times);
        self.evidence.record_times(trial, times)
    }
}

/// Nothing counted yet, for each cell of which `trials` trials are to come.
///
/// # Errors
/// Usage, for a level or an estimator that a plan should not hold.
pub fn begin(cells: &[CellPlan], trials: u64) -> Result<Vec<Count>> {
    let begin = |cell: &CellPlan| {
        let design = Design {
            k: cell.k as usize,
            trials,
            level: Level::new(cell.alpha)?,
            delta: cell.delta,
        };
        let estimator = estimator::named(&cell.estimator)?;
        (estimator.supports)(&design)?;
        Ok(Count {
            tally: Tally::new(design.k),
            evidence: (estimator.begin)(design),
        })
    };
    cells.iter().map(begin).collect()
}

/// Counts a row.
///
/// # Errors
/// Failed, if it does not fit its cell: the rows were changed or belong to another run.
pub fn add(counts: &mut [Count], row: &Row) -> Result<()> {
    let (secret, guess) = (row.secret as usize, row.guess as usize);
    let fits = |count: &&mut Count| {
        let k = count.tally.k();
        secret < k && guess < k && row.candidates.len() == k && row.hit == (secret == guess)
    };
    let count = counts.get_mut(row.cell as usize).filter(fits);
    let count = count.ok_or_else(|| foreign(row))?;
    count.observe(&Observed {
        candidates: &row.candidates,
        secret,
        guess,
        margin: row.margin,
        failed: row.error.is_some(),
        log_likelihoods: &row.log_likelihoods,
    })
}

/// The error for a row that is not of this run.
#[must_use]
pub fn foreign(row: &Row) -> Error {
    Error::failed(format!(
        "the row of cell {}, trial {} does not fit this run: the rows were changed or belong to another run",
        row.cell, row.trial
    ))
}
