//! A series: one line of releases, which all attacks judge.

use std::sync::Arc;

use teda_attacks::Choice;
use teda_core::{Mechanism, Privacy, Seed, Unit};

use crate::audit::plan::hunt::Hunt;
use crate::audit::plan::layout::Layout;

/// Where the candidate sets of a series come from.
pub enum Sets {
    /// Transition sampling over the texts of the corpus.
    Sampled,
    /// The corpus holds whole sets and no single texts; one of them is drawn.
    Given,
    /// Sets and releases are those of a recording.
    Recorded(Layout),
    /// The one of many that shows most is looked for, and then the only one.
    Hunted(Hunt),
}

/// One line of releases: a mechanism at one ε on one data set with one way of drawing candidates.
pub struct Series {
    /// Index of the data set.
    pub corpus: usize,
    /// The mechanism's name.
    pub name: String,
    /// What one nominal ε is spent on; `None` for a mechanism without.
    pub unit: Option<Unit>,
    /// The mechanism itself.
    pub mechanism: Arc<dyn Mechanism>,
    /// Nominal ε; `None` for a mechanism without.
    pub epsilon: Option<f64>,
    /// Candidates a trial.
    pub k: usize,
    /// Sampling temperature of the sets.
    pub lambda: f64,
    /// Where candidate sets come from.
    pub sets: Sets,
    /// The attacks that judge its trials, one a cell.
    pub attacks: Vec<Choice>,
    /// Whether trials hold how likely their releases are under the mechanism.
    pub white_box: bool,
    /// What the mechanism claims between the texts of this audit.
    pub claim: Option<Privacy>,
    /// The node of the seed tree whose children are the trials.
    pub seed: Seed,
}

impl Series {
    /// The attacks, by their place, whose guesses are made with the trials.
    pub fn scoring(&self) -> impl Iterator<Item = (usize, &Choice)> {
        let attacks = self.attacks.iter().enumerate();
        attacks.filter(|(_, attack)| !attack.learns())
    }

    /// What it is, in a few words.
    #[must_use]
    pub fn describe(&self) -> String {
        let epsilon = self.epsilon.map_or(String::new(), |e| format!(" ε={e}"));
        format!("{}{epsilon} k={} λ={}", self.name, self.k, self.lambda)
    }
}

/// One of the sets of k texts that follow each other among `texts`, with each of some seeds.
#[must_use]
pub fn given(texts: usize, k: usize, seeds: &[Seed]) -> Vec<usize> {
    let of = |seed: &Seed| {
        let first = seed.stream().below(texts / k) * k;
        first..first + k
    };
    seeds.iter().flat_map(of).collect()
}
