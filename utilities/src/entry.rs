//! A utility's entry in the registry, and the trait that it implements.

use std::sync::Arc;

use teda_core::{Encoder, Result, Scorer};

/// A text and what was released of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair<'a> {
    /// The text.
    pub source: &'a str,
    /// What was released of it.
    pub release: &'a str,
}

/// A measure of releases.
pub trait Utility: Send + Sync {
    /// One score a pair; `None` where it is not defined. Score i depends on pair i alone.
    ///
    /// # Errors
    /// If a model fails.
    fn scores(&self, pairs: &[Pair<'_>]) -> Result<Vec<Option<f64>>>;

    /// What was computed, in the words of the field's reference package: everything that a figure has to say to be
    /// compared with another.
    fn signature(&self) -> String;

    /// A score of all pairs together that is not the mean of their scores, if there is one.
    fn corpus(&self) -> Option<Box<dyn Corpus>> {
        None
    }
}

/// A score of many pairs together, which is not the mean of theirs.
pub trait Corpus: Send {
    /// Takes further pairs into account.
    fn add(&mut self, pairs: &[Pair<'_>]);

    /// The score of all pairs so far.
    fn score(&self) -> f64;

    /// Its signature, as [`Utility::signature`].
    fn signature(&self) -> String;
}

/// What utilities are built from.
#[derive(Clone)]
pub struct Context {
    /// The sentence encoder, and its name.
    pub encoder: (Arc<dyn Encoder>, String),
    /// The language model of the perplexity, and its name; present if [`Entry::needs`] asks for one.
    pub scorer: Option<(Arc<dyn Scorer>, String)>,
}

/// The model that a utility computes with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// None.
    Nothing,
    /// The sentence encoder.
    Encoder,
    /// The language model.
    Scorer,
}

/// Builds an instance.
pub type Build = fn(&Context) -> Result<Box<dyn Utility>>;

/// A utility's entry in the registry.
pub struct Entry {
    /// Name on the command line.
    pub name: &'static str,
    /// What it says, in one line.
    pub summary: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// The model that it computes with.
    pub needs: Needs,
    /// Digits after the point that its figures are worth.
    pub digits: usize,
    /// Builds an instance.
    pub build: Build,
}
