//! Many audits of one series, which show how often a bound is wrong.

use std::sync::Arc;

use teda_core::{Attack, Result, Seed};

use crate::audit::corpus::Corpus;
use crate::audit::run::Prepared;
use crate::audit::series::Series;
use crate::audit::trial;

/// Many audits of one series, each with its own seed, which show how often a bound is wrong.
pub struct Simulation<'a> {
    /// The series.
    pub series: &'a Series,
    /// Its texts.
    pub corpus: &'a Corpus,
    attacks: Vec<Arc<dyn Attack>>,
}

impl Prepared {
    /// Simulations of the first series, judged by the attacks that guess while trials are made.
    ///
    /// # Errors
    /// If an attack cannot be built.
    pub fn simulation(&self) -> Result<Simulation<'_>> {
        Ok(Simulation {
            series: &self.plan.series[0],
            corpus: &self.plan.corpora[self.plan.series[0].corpus],
            attacks: self.attacks()?.swap_remove(0),
        })
    }
}

impl Simulation<'_> {
    /// The trials of one audit.
    ///
    /// # Errors
    /// Same as [`trial::run`].
    pub fn audit(&self, trials: u64, seed: Seed) -> Result<Vec<trial::Trial>> {
        trial::run_from(self.series, self.corpus, &self.attacks, seed, 0..trials)
    }
}
