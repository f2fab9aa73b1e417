//! The trait that every adversary implements.

use serde::{Deserialize, Serialize};

use crate::{Answer, Result, Seed};

/// What the adversary sees of one trial: the candidate set and the release, never the secret.
#[derive(Debug, Clone, Copy)]
pub struct Observation<'a> {
    /// Indices of the k candidates among the audit's texts.
    pub candidates: &'a [usize],
    /// The released text.
    pub release: &'a str,
    /// ln P(release | candidate) under the mechanism itself, one per candidate, for an adversary that knows it; empty
    /// if it is not known or not asked for.
    pub log_likelihoods: &'a [f64],
    /// The adversary's own coins.
    pub seed: Seed,
}

/// An adversary: scores each candidate; a higher score means more likely to be the source.
pub trait Attack: Send + Sync {
    /// One row per trial, in order: the scores of its k candidates in their order, or why there are none (a judge
    /// whose answer cannot be read, a text beyond its window); such a trial is guessed at random and counted as
    /// failed. Row i depends on observation i alone. The guess is the highest score; the caller splits ties fairly.
    /// NaN is an error of the attack.
    ///
    /// # Errors
    /// If a model that the attack needs fails.
    fn score(&self, batch: &[Observation<'_>]) -> Result<Vec<Answer<Vec<f64>>>>;

    /// Itself as one that writes the source back, if it does.
    fn reconstructor(&self) -> Option<&dyn Reconstructor> {
        None
    }
}

/// An adversary that writes the source back before it guesses, so that one can see how much of it comes back.
pub trait Reconstructor: Attack {
    /// One row per trial, in order, as [`Attack::score`]: the same scores, and what they rest on.
    ///
    /// # Errors
    /// As [`Attack::score`].
    fn reconstruct(&self, batch: &[Observation<'_>]) -> Result<Vec<Answer<Reconstruction>>>;

    /// How much of the run's text number `source` stands in its release, and in what was written back from that.
    fn read(&self, source: usize, release: &str, text: String) -> Reading;
}

/// A text that an adversary wrote back from a release.
#[derive(Debug, Clone, PartialEq)]
pub struct Reconstruction {
    /// The text.
    pub text: String,
    /// The scores of the k candidates in their order.
    pub scores: Vec<f64>,
}

/// What an adversary wrote back from a release, counted against the source: the judge's view, which it does not have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// The text that it wrote.
    pub text: String,
    /// The different words of the source.
    pub words: Recalled,
    /// The rare ones among them.
    pub rare: Recalled,
}

/// How many of a source's words are found again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recalled {
    /// Words of the source.
    pub source: u32,
    /// Those of them that the release has.
    pub release: u32,
    /// Those of them that the text has that was written back.
    pub text: u32,
}

/// A trial whose secret is known, as shown to an attack that learns.
#[derive(Debug, Clone, Copy)]
pub struct Example<'a> {
    /// What the adversary sees. A failed release is an empty text: an outcome like any other.
    pub observation: Observation<'a>,
    /// The position of the secret among the candidates.
    pub secret: usize,
}

/// An adversary that learns from some trials of a series before it judges the others.
pub trait Learner: Send + Sync {
    /// Learns from examples of one series, in the order of their trials, all with the same number of candidates. What
    /// is learned depends on them alone, to the bit, for any number of threads.
    ///
    /// # Errors
    /// If a model that the attack needs fails.
    fn fit(&self, examples: &[Example<'_>]) -> Result<Fitted>;
}

/// What a [`Learner`] learned.
pub struct Fitted {
    /// Judges trials that were not learned from: score(v) = ln P(v | release, candidates), calibrated.
    pub attack: Box<dyn Attack>,
    /// The scores of each example by a model that was fitted without it, `[examples][k]`: the final model's own scores
    /// are too good, so a threshold must not be chosen on them.
    pub out_of_fold: Vec<Vec<f64>>,
    /// What weighs most, largest first.
    pub signs: Vec<Sign>,
}

/// Something that an attack learned to go by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sign {
    /// A statement on a candidate and the release: "the release has as many words as the candidate".
    pub words: String,
    /// Its weight in ln P per standard deviation of the sign; above 0 if it speaks for the candidate.
    pub weight: f64,
}
