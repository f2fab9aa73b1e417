//! `random`: scores at random. A control: its empirical ε must be 0 on any mechanism.
//!
//! # Threat model
//! None: it looks at nothing.
//!
//! # Definition
//! score(v) uniform in [0, 1), from the attack's own stream.
//!
//! # Source
//! A control for the independence of the random streams.

use ndarray::Array2;
use teda_core::{Attack, Observation, Result};

use crate::registry::Entry;

pub const ENTRY: Entry = Entry {
    name: "random",
    summary: "guesses at random: the control that must show nothing",
    source: "control",
    build: |_| Box::new(Random),
};

struct Random;

impl Attack for Random {
    fn score(&self, batch: &[Observation<'_>]) -> Result<Array2<f64>> {
        let k = batch
            .first()
            .map_or(0, |observation| observation.candidates.len());
        let mut scores = Array2::zeros((batch.len(), k));
        for (observation, mut row) in batch.iter().zip(scores.rows_mut()) {
            let mut stream = observation.seed.stream();
            row.mapv_inplace(|_| stream.uniform());
        }
        Ok(scores)
    }
}
