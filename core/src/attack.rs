//! The trait behind which every adversary stands.

use crate::{Answer, Result, Seed};

/// What the adversary sees of one trial: the candidate set and the release, never the secret.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    /// Indices of the k candidates among the audit's texts.
    pub candidates: &'a [usize],
    /// The released text.
    pub release: &'a str,
    /// ln P(release | candidate) under the mechanism itself, one a candidate, for an adversary that knows
    /// it; empty where it is not known or not asked for.
    pub log_likelihoods: &'a [f64],
    /// The adversary's own coins.
    pub seed: Seed,
}

/// An adversary: scores each candidate, higher meaning likelier to be the source.
pub trait Attack: Send + Sync {
    /// One row a trial, in order: the scores of its k candidates in theirs, or why there are none
    /// (a judge whose answer cannot be read, a text beyond its window): that trial is guessed at
    /// random and counted as failed. Row i depends on observation i alone. The guess is the highest
    /// score, equal ones being split fairly by the caller. A NaN is an error of the attack.
    ///
    /// # Errors
    /// Where a model that the attack needs fails.
    fn score(&self, batch: &[Observation<'_>]) -> Result<Vec<Answer<Vec<f64>>>>;
}
