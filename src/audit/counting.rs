//! Turns trials into counts and evidence: one code path, whether they are made, resumed, merged or judged again.

use teda_core::estimator::abstain::Guesses;
use teda_core::estimator::{self, Design, Evidence, Level, Observed};
use teda_core::{ConfusionMatrix, Error, Result};
use teda_results::{CellPlan, Row};

use crate::audit::reading::Readings;
use crate::audit::variety::Variety;

/// What the rows of a cell add up to so far.
pub struct Count {
    /// Guesses by secret.
    pub matrix: ConfusionMatrix,
    /// What the cell's estimator has gathered from them.
    pub evidence: Box<dyn Evidence>,
    /// The same at the level for a cell chosen among several; `None` if there is no choice.
    chosen: Option<Box<dyn Evidence>>,
    /// Cells of the same mechanism that are shown together with this one, including itself.
    pub choices: u64,
    /// Coming trials that are not counted: the attack learned from them, or they looked for a set.
    uncounted: u64,
    /// The set of the first counted row; it is the set of all of them if it was hunted.
    pub hunted: Option<Vec<u32>>,
    /// Rows, counted or not.
    pub rows: u64,
    /// How varied the candidate sets of its rows were.
    pub variety: Variety,
    /// What was read of their sources, in those that are counted.
    pub readings: Readings,
}

impl Count {
    /// Counts a trial, unless the attack learned from it.
    ///
    /// # Errors
    /// Failed, if it has numbers that no trial can have.
    pub fn observe(&mut self, trial: &Observed<'_>) -> Result<()> {
        if self.uncounted == 0 {
            return self.observe_times(trial, 1);
        }
        self.uncounted -= 1;
        self.each(|evidence| evidence.tune(trial))
    }

    /// Counts this many identical trials.
    ///
    /// # Errors
    /// Same as [`Self::observe`].
    pub fn observe_times(&mut self, trial: &Observed<'_>, times: u64) -> Result<()> {
        self.matrix
            .record_times(trial.secret, trial.guess, trial.failure, times);
        self.each(|evidence| evidence.record_times(trial, times))
    }

    fn each(&mut self, mut take: impl FnMut(&mut dyn Evidence) -> Result<()>) -> Result<()> {
        take(&mut *self.evidence)?;
        match &mut self.chosen {
            Some(chosen) => take(&mut **chosen),
            None => Ok(()),
        }
    }

    /// The bound of a cell that is named because it shows most: at α divided by the number of cells it was chosen
    /// from.
    #[must_use]
    pub fn chosen_epsilon(&self) -> f64 {
        self.chosen
            .as_ref()
            .unwrap_or(&self.evidence)
            .bound()
            .epsilon
    }

    /// In which trials the attack guessed for that bound, if there is a choice and its estimator lets it abstain.
    #[must_use]
    pub fn chosen_guesses(&self) -> Option<Guesses> {
        self.chosen.as_ref()?.guesses()
    }
}

/// A cell whose trials have been counted.
pub struct Counted {
    /// The cell.
    pub plan: CellPlan,
    /// Its trials.
    pub count: Count,
    /// Seconds that the trials took, if known.
    pub seconds: Option<f64>,
}

/// Empty counts for each cell, of which `trials` trials are to come, including those that its attack learns from.
/// `choices` gives for each cell among how many it may be chosen.
///
/// # Errors
/// Usage, for a level or an estimator that a valid plan cannot hold.
pub fn begin(cells: &[CellPlan], choices: &[u64], trials: u64) -> Result<Vec<Count>> {
    let begin = |(cell, choices): (&CellPlan, &u64)| {
        let design = |alpha: f64| {
            Ok::<_, Error>(Design {
                k: cell.k as usize,
                trials: trials.saturating_sub(cell.uncounted()),
                tuning: cell.uncounted(),
                level: Level::new(alpha)?,
                delta: cell.delta,
            })
        };
        let estimator = estimator::named(&cell.estimator)?;
        let whole = design(cell.alpha)?;
        (estimator.supports)(&whole)?;
        Ok(Count {
            matrix: ConfusionMatrix::new(whole.k),
            evidence: (estimator.begin)(whole),
            chosen: match choices {
                0 | 1 => None,
                choices => Some((estimator.begin)(design(cell.alpha / *choices as f64)?)),
            },
            choices: *choices,
            uncounted: cell.uncounted(),
            hunted: None,
            rows: 0,
            variety: Variety::default(),
            readings: Readings::default(),
        })
    };
    cells.iter().zip(choices).map(begin).collect()
}

/// For each cell, how many cells of its mechanism are shown with it.
#[must_use]
pub fn choices(cells: &[CellPlan]) -> Vec<u64> {
    let same = |cell: &CellPlan| {
        let same = |other: &&CellPlan| other.mechanism == cell.mechanism;
        cells.iter().filter(same).count() as u64
    };
    cells.iter().map(same).collect()
}

/// Counts a row.
///
/// # Errors
/// Failed, if it does not fit its cell: the rows were changed or belong to another run.
pub fn add(counts: &mut [Count], row: &Row) -> Result<()> {
    let count = counts.get_mut(row.cell as usize);
    count.ok_or_else(|| foreign(row))?.add(row)
}

impl Count {
    /// Counts a row.
    ///
    /// # Errors
    /// Failed, if it does not fit: the rows were changed or belong to another run.
    pub fn add(&mut self, row: &Row) -> Result<()> {
        let (secret, guess, k) = (row.secret as usize, row.guess as usize, self.matrix.k());
        let fits = secret < k && guess < k && row.candidates.len() == k;
        if !fits || row.hit != (secret == guess) {
            return Err(foreign(row));
        }
        self.rows += 1;
        self.variety.add(&row.candidates);
        if let Some(reading) = row.reading.as_ref().filter(|_| self.uncounted == 0) {
            self.readings.add(reading);
        }
        if self.uncounted == 0 && self.hunted.is_none() {
            self.hunted = Some(row.candidates.clone());
        }
        self.observe(&Observed {
            candidates: &row.candidates,
            secret,
            guess,
            margin: row.margin,
            failure: row.cause,
            log_likelihoods: &row.log_likelihoods,
        })
    }
}

/// The error for a row that does not belong to this run.
#[must_use]
pub fn foreign(row: &Row) -> Error {
    Error::failed(format!(
        "the row of cell {}, trial {} does not fit this run: the rows were changed or belong to another run",
        row.cell, row.trial
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::audit::progress::Silent;
    use crate::audit::run::{Control, InMemory};
    use crate::builder::Audit;

    fn made() -> InMemory {
        let audit = Audit::of("krr").dataset("categories:4").epsilons([2.0]);
        let audit = audit.lambda(0.0).attacks(["embedding", "learned"]);
        let prepared = audit.trials(900).prepare().unwrap();
        let control = Control {
            batch: 64,
            stop: &AtomicBool::new(false),
            progress: &Silent,
        };
        prepared.in_memory(&control).unwrap().unwrap()
    }

    #[test]
    fn rows_make_the_counts_and_those_that_were_learned_from_do_not() {
        let InMemory { cells, rows, .. } = made();
        let mut counts = begin(&cells, &choices(&cells), 900).unwrap();
        let learned = cells.iter().position(|cell| cell.trained > 0).unwrap();
        for row in &rows {
            add(&mut counts, row).unwrap();
            // The same guesses, attributed to the other attack.
            let row = Row {
                cell: learned as u32,
                ..row.clone()
            };
            add(&mut counts, &row).unwrap();
        }
        let [all, rest] = [&counts[1 - learned], &counts[learned]];
        assert_eq!((all.matrix.trials(), rest.matrix.trials()), (900, 630));
        assert_eq!((all.rows, rest.rows), (900, 900));
        let hits = rows.iter().skip(270).filter(|row| row.hit).count();
        assert_eq!(rest.matrix.hits(), hits as u64);
        // A cell chosen among two gets half the level.
        assert_eq!(all.choices, 2);
        assert!(all.chosen_epsilon() < all.evidence.bound().epsilon);
    }

    #[test]
    fn rows_that_do_not_fit_are_refused() {
        let InMemory { cells, rows, .. } = made();
        let wrong = |change: fn(&mut Row)| {
            let mut counts = begin(&cells, &choices(&cells), 900).unwrap();
            let mut row = rows[0].clone();
            change(&mut row);
            add(&mut counts, &row).unwrap_err().to_string()
        };
        for change in [
            (|row| row.cell = 9) as fn(&mut Row),
            |row| row.secret = 2,
            |row| row.guess = 2,
            |row| row.hit = !row.hit,
            |row| row.candidates.push(0),
        ] {
            assert!(wrong(change).contains("does not fit this run"));
        }
    }
}
