//! A series: one sequence of releases, which all attacks judge.

use std::sync::Arc;

use teda_attacks::Choice;
use teda_core::{Composition, Mechanism, Privacy, Seed, Unit};

use crate::audit::plan::hunt::Hunt;
use crate::audit::plan::layout::Layout;

/// Where the candidate sets of a series come from.
pub enum Sets {
    /// Transition sampling over the texts of the corpus.
    Sampled,
    /// The corpus holds whole sets rather than single texts; one of them is drawn.
    Given,
    /// Sets and releases come from a recording.
    Recorded(Layout),
    /// The set among many that shows most is looked for, and then used alone.
    Hunted(Hunt),
}

/// One sequence of releases: a mechanism at one ε on one data set with one way of drawing candidates.
pub struct Series {
    /// Index of the data set.
    pub corpus: usize,
    /// The mechanism's name.
    pub name: String,
    /// What one nominal ε is spent on; `None` for a mechanism without ε.
    pub unit: Option<Unit>,
    /// The mechanism itself.
    pub mechanism: Arc<dyn Mechanism>,
    /// Nominal ε; `None` for a mechanism without ε.
    pub epsilon: Option<f64>,
    /// Candidates per trial.
    pub k: usize,
    /// Sampling temperature of the sets.
    pub lambda: f64,
    /// Where its candidate sets come from.
    pub sets: Sets,
    /// The attacks that judge its trials, one per cell.
    pub attacks: Vec<Choice>,
    /// Whether its trials are of the mechanism's noisy latent, and not of its releases.
    pub latent: bool,
    /// Whether trials record how likely their releases are under the mechanism.
    pub white_box: bool,
    /// What the mechanism claims between the texts of this audit.
    pub claim: Option<Privacy>,
    /// The greatest distance between two texts of a candidate set, if the claim grows with it.
    pub diameter: Option<f64>,
    /// What the claim is the product of, if it is one.
    pub composition: Option<Composition>,
    /// The mean number of units (tokens, triples) of a text, if the mechanism's ε is spent on them.
    pub mean_units: Option<f64>,
    /// The δ of the (ε, δ) to bound.
    pub delta: f64,
    /// The node of the seed tree whose children are the trials.
    pub seed: Seed,
}

impl Series {
    /// Whether what its trials show is of a Gaussian mechanism.
    #[must_use]
    pub fn is_gaussian(&self) -> bool {
        match self.mechanism.latent().filter(|_| self.latent) {
            Some(latent) => latent.is_gaussian(),
            None => self.mechanism.is_gaussian(),
        }
    }

    /// The attacks, with their indices, whose guesses are made while trials are made.
    pub fn scoring(&self) -> impl Iterator<Item = (usize, &Choice)> {
        let attacks = self.attacks.iter().enumerate();
        attacks.filter(|(_, attack)| !attack.learns())
    }

    /// A short description.
    #[must_use]
    pub fn describe(&self) -> String {
        let epsilon = self.epsilon.map_or(String::new(), |e| format!(" ε={e}"));
        format!("{}{epsilon} k={} λ={}", self.name, self.k, self.lambda)
    }
}

/// The name in results of a mechanism's noisy latents: a bound on them is none on its releases.
#[must_use]
pub fn latent_of(mechanism: &str) -> String {
    format!("{mechanism} (latent)")
}

/// For each seed, one of the sets of k consecutive texts in `texts`.
#[must_use]
pub fn given(texts: usize, k: usize, seeds: &[Seed]) -> Vec<usize> {
    let of = |seed: &Seed| {
        let first = seed.stream().below(texts / k) * k;
        first..first + k
    };
    seeds.iter().flat_map(of).collect()
}
