//! `constant`: releases the same text for every input. No attack can do better than chance.
//!
//! # Definition
//! M(x) = "text".
//!
//! # Guarantee
//! 0-LDP between any texts: the release does not depend on the input. Proven.
//!
//! # Source
//! A control: the most private mechanism.

use teda_core::{
    Answer, Basis, Guarantee, Likelihood, Mechanism, Neighbours, Query, Release, Result, Unit,
};

use super::identity::certain;
use crate::entry::Entry;

pub const ENTRY: Entry = Entry {
    name: "constant",
    summary: "releases one fixed text whatever the input: perfect privacy",
    source: "control",
    build: &|_, _, _| Ok(Box::new(Constant)),
    ..Entry::CONTROL
};

/// The released text.
const RELEASE: &str = "text";

struct Constant;

impl Mechanism for Constant {
    fn guarantee(&self) -> Option<Guarantee> {
        Some(Guarantee {
            epsilon: 0.0,
            delta: 0.0,
            unit: Unit::Text,
            neighbours: Neighbours::AnyTexts,
            basis: Basis::Proven,
        })
    }

    fn likelihood(&self) -> Option<&dyn Likelihood> {
        Some(self)
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        Ok(batch.iter().map(|_| Release::of(RELEASE)).collect())
    }
}

impl Likelihood for Constant {
    fn log_likelihood(&self, pairs: &[(&str, &str)]) -> Result<Vec<Answer<f64>>> {
        Ok(pairs
            .iter()
            .map(|(release, _)| Ok(certain(*release == RELEASE)))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_input_says_nothing_of_the_release() {
        let pairs = [("text", "a"), ("text", "b"), ("a", "a")];
        let found = Constant.log_likelihood(&pairs).unwrap();
        assert_eq!(found, [Ok(0.0), Ok(0.0), Ok(f64::NEG_INFINITY)]);
    }
}
