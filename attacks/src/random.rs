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

use teda_core::{Answer, Attack, Observation, Result};

use crate::entry::{Build, Entry};

pub const ENTRY: Entry = Entry {
    name: "random",
    summary: "guesses at random: the control that must show nothing",
    source: "control",
    judge: false,
    likelihoods: false,
    latent: false,
    reads: false,
    build: Build::Scores(|_| Ok(Box::new(Random))),
};

struct Random;

impl Attack for Random {
    fn score(&self, batch: &[Observation<'_>]) -> Result<Vec<Answer<Vec<f64>>>> {
        Ok(batch
            .iter()
            .map(|observation| {
                let mut stream = observation.seed.stream();
                let candidates = observation.candidates.iter();
                Ok(candidates.map(|_| stream.uniform()).collect())
            })
            .collect())
    }
}
