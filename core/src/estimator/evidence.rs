//! The evidence in a cell's trials, taken one after the other.
//!
//! # Definition
//! An estimator starts empty and is shown every trial of its cell once, in the order of their numbers: its result
//! depends on them alone, whether they are made, resumed, merged or read again. Memory does not grow with the number
//! of trials, except where an estimator's documentation says otherwise.

use super::guesses::Guesses;
use super::{Bound, Level};
use crate::{Cause, ConfusionMatrix, Error, Result};

/// What an estimator knows about its cell beforehand.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Design {
    /// Candidates per trial.
    pub k: usize,
    /// Trials that will be counted.
    pub trials: u64,
    /// Trials that come before them and are not counted ([`Evidence::tune`]): those that an attack learned from.
    pub tuning: u64,
    /// The confidence.
    pub level: Level,
    /// The δ of the (ε, δ) to bound.
    pub delta: f64,
}

/// One trial, as an estimator sees it.
#[derive(Debug, Clone, Copy)]
pub struct Observed<'a> {
    /// The candidate texts, by index.
    pub candidates: &'a [u32],
    /// The position of the text that was rewritten.
    pub secret: usize,
    /// The position of the attack's guess.
    pub guess: usize,
    /// How sure the attack is: best score minus second best; 0 if the guess is random.
    pub margin: f64,
    /// Why there was no release, or why the attack had no scores for it; the guess is then random.
    pub failure: Option<Cause>,
    /// ln P(release | candidate) under the mechanism; empty if not known.
    pub log_likelihoods: &'a [f64],
}

impl Observed<'_> {
    /// Whether the guess is the secret.
    #[must_use]
    pub fn hit(&self) -> bool {
        self.guess == self.secret
    }
}

/// The trials of a cell so far.
pub trait Evidence: Send {
    /// Records the next trial.
    ///
    /// # Errors
    /// Failed, if the trial has numbers that no trial can have.
    fn record(&mut self, trial: &Observed<'_>) -> Result<()>;

    /// Records the next of the trials that are not counted, with the guess of a model that was fitted without it. An
    /// estimator may use these for choices of its own (such as a threshold).
    ///
    /// # Errors
    /// Same as [`Self::record`].
    fn tune(&mut self, _trial: &Observed<'_>) -> Result<()> {
        Ok(())
    }

    /// Whether equal trials may be taken together and all of them in any order: only their counts matter.
    fn goes_by_counts(&self) -> bool {
        false
    }

    /// Records this many identical trials.
    ///
    /// # Errors
    /// Same as [`Self::record`].
    fn record_times(&mut self, trial: &Observed<'_>, times: u64) -> Result<()> {
        (0..times).try_for_each(|_| self.record(trial))
    }

    /// What they show.
    fn bound(&self) -> Bound;

    /// In which of the trials counted the attack guessed, if the estimator lets it abstain.
    fn guesses(&self) -> Option<Guesses> {
        None
    }

    /// The candidate texts, by index, that show the bound, if particular texts do.
    fn witness(&self) -> Option<Vec<u32>> {
        None
    }
}

/// A bound that follows from counts alone.
pub(super) type OfCounts = fn(&ConfusionMatrix, Level, f64) -> Bound;

/// The evidence of estimators that count guesses.
pub(super) struct Counted {
    matrix: ConfusionMatrix,
    design: Design,
    bound: OfCounts,
}

impl Counted {
    pub(super) fn begin(design: Design, bound: OfCounts) -> Box<dyn Evidence> {
        Box::new(Self {
            matrix: ConfusionMatrix::new(design.k),
            design,
            bound,
        })
    }
}

impl Evidence for Counted {
    fn record(&mut self, trial: &Observed<'_>) -> Result<()> {
        self.record_times(trial, 1)
    }

    fn goes_by_counts(&self) -> bool {
        true
    }

    fn record_times(&mut self, trial: &Observed<'_>, times: u64) -> Result<()> {
        self.matrix
            .record_times(trial.secret, trial.guess, trial.failure, times);
        Ok(())
    }

    fn bound(&self) -> Bound {
        (self.bound)(&self.matrix, self.design.level, self.design.delta)
    }
}

/// The log-likelihoods of a trial, which white-box estimators require.
///
/// # Errors
/// Usage, if there are none.
pub(super) fn likelihoods<'a>(estimator: &str, trial: &Observed<'a>) -> Result<&'a [f64]> {
    if trial.log_likelihoods.is_empty() {
        return Err(Error::usage(format!(
            "the estimator '{estimator}' needs to know how likely a release is under each candidate, and these trials do not hold it: audit with --estimator {estimator}, on a mechanism that can say it exactly"
        )));
    }
    Ok(trial.log_likelihoods)
}
