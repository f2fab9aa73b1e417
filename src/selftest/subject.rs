//! Mechanisms of known ε, audited many times with the best possible attack.

use teda_core::{Query, Result, Role, Seed};

use crate::audit::run::Prepared;
use crate::audit::simulation::Simulation;
use crate::audit::trial::Trial;
use crate::builder::Audit;

/// A mechanism over a few categories; each trial tells two of them apart.
pub struct Subject {
    /// Its name in the table.
    pub name: String,
    prepared: Prepared,
    /// The claimed ε.
    pub claim: f64,
    /// The δ of the claim, at which it is audited.
    pub delta: f64,
    /// The true ε at that δ.
    pub truth: f64,
}

impl Subject {
    /// The mechanism `name` of the registry over `categories` at `claim`, whose true ε is `truth`.
    ///
    /// # Errors
    /// If it cannot be built.
    pub fn new(name: &str, categories: usize, claim: f64, delta: f64, truth: f64) -> Result<Self> {
        let mut audit = Audit::of(name)
            .dataset(&format!("categories:{categories}"))
            .attacks(["likelihood-ratio"])
            .lambda(0.0);
        if name != "constant" {
            audit = audit.epsilons([claim]);
        }
        if delta > 0.0 {
            audit = audit.parameter("delta", &delta.to_string());
        }
        Ok(Self {
            name: match categories {
                2 => name.to_owned(),
                _ => format!("{name}, {categories} categories"),
            },
            prepared: audit.prepare()?,
            claim,
            delta,
            truth,
        })
    }

    /// Whether it is declared Gaussian.
    #[must_use]
    pub fn is_gaussian(&self) -> bool {
        self.prepared.plan.series[0].mechanism.is_gaussian()
    }

    /// Audits of it: pairs and secrets uniform, guesses by the likelihood ratio, ties split.
    ///
    /// # Errors
    /// If the attack cannot be built.
    pub fn simulation(&self) -> Result<Simulation<'_>> {
        self.prepared.simulation()
    }
}

/// The guess of an attack that tosses the mechanism's own coins: the candidate that they turn into the release. A
/// planted bug.
///
/// # Errors
/// If the mechanism fails.
pub fn guesses_with_its_coins(
    simulation: &Simulation<'_>,
    trials: &[Trial],
    root: Seed,
) -> Result<Vec<usize>> {
    let guess = |trial: &Trial| {
        let seed = root.role(trial.number, Role::Mechanism);
        let text = &simulation.corpus.texts[trial.candidates[0]];
        let releases = simulation
            .series
            .mechanism
            .rewrite(&[Query { text, seed }])?;
        Ok(usize::from(releases[0].text != trial.release))
    };
    trials.iter().map(guess).collect()
}
