//! An attack's entry in the registry, and what it is built from.

use std::sync::Arc;

use ndarray::Array2;
use teda_core::{Attack, Encoder, Learner, Result, TextGenerator, TokenMap};

use crate::llm::Judge;

/// What attacks are built from.
#[derive(Clone)]
pub struct Context {
    /// The audit's texts, from which candidates are drawn.
    pub texts: Arc<[String]>,
    /// The adversary's sentence encoder.
    pub encoder: Arc<dyn Encoder>,
    /// Its vectors of the audit's texts, `[texts × dimension]`, norm 1 or 0.
    pub vectors: Arc<Array2<f32>>,
    /// The public token map: the pieces by which texts are counted and compared.
    pub tokens: Arc<dyn TokenMap>,
    /// The adversary's language model, if an attack of the run needs one.
    pub judge: Option<Judge>,
    /// The same model as one that writes.
    pub writer: Option<Arc<dyn TextGenerator>>,
}

/// How an attack obtains its scores.
#[derive(Clone, Copy)]
pub enum Build {
    /// From what it knows beforehand.
    Scores(fn(&Context) -> Result<Box<dyn Attack>>),
    /// From the first trials of a series, which are not counted.
    Learns(fn(&Context) -> Result<Box<dyn Learner>>),
}

/// An attack's entry in the registry.
pub struct Entry {
    /// Name on the command line.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Paper and section, or where a control comes from.
    pub source: &'static str,
    /// Whether it needs a language model, which judges or writes.
    pub judge: bool,
    /// Whether it needs the mechanism's own likelihoods ([`teda_core::Observation::log_likelihoods`]).
    pub likelihoods: bool,
    /// Whether what it sees is the noisy latent and not the release; its likelihoods are then those of the latent.
    pub latent: bool,
    /// Whether it writes sources back ([`teda_core::Attack::reconstructor`]).
    pub reads: bool,
    /// Builds an instance.
    pub build: Build,
}

impl Entry {
    /// Whether it learns from the first trials of a series, and judges once all are made.
    #[must_use]
    pub fn learns(&self) -> bool {
        matches!(self.build, Build::Learns(_))
    }
}
