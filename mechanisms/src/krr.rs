//! `krr`: randomised response whose domain is the data set's texts.
//!
//! # Definition
//! With N texts, the input is released with probability e^ε / (e^ε + N − 1), each other text with
//! probability 1 / (e^ε + N − 1).
//!
//! # Guarantee
//! ε-LDP between any two texts of the domain, and tight: the ratio of the two probabilities is e^ε.
//! Proven. With `--limit 2 --k 2` the best attack succeeds with probability e^ε/(e^ε + 1) exactly.
//!
//! # Source
//! Warner (1965); k-ary: Kairouz, Oh & Viswanath (2014), Section 2.
//!
//! # Errors
//! A text outside the domain has no defined release; a domain of one text has nothing to hide in.

use std::sync::Arc;

use teda_core::{
    Basis, Error, Guarantee, Mechanism, Neighbours, Query, Release, Result, Stream, Unit,
};

use crate::registry::{Context, Entry, Kind, Rewriter};

pub const ENTRY: Entry = Entry {
    name: "krr",
    summary: "randomised response over the data set's texts: epsilon is exact",
    source: "Kairouz, Oh & Viswanath (2014)",
    kind: Kind::Control,
    unit: Some(Unit::Text),
    grid: &GRID,
    parameters: &[],
    presets: &[],
    rewriter: Rewriter::Nothing,
    build: |context, epsilon, _| {
        Ok(Box::new(RandomisedResponse::new(
            context,
            epsilon,
            epsilon,
            Basis::Proven,
        )?))
    },
};

/// The ε at which Arcolezi & Gambs audit it.
pub const GRID: [f64; 4] = [0.5, 1.0, 2.0, 4.0];

/// Randomised response that runs at one ε and claims another (or the same).
pub struct RandomisedResponse {
    texts: Arc<[String]>,
    /// Numbers of the texts in alphabetical order, to find a text by bisection.
    sorted: Vec<usize>,
    kept: f64,
    claim: Guarantee,
}

impl RandomisedResponse {
    /// Runs at `epsilon` and claims `claimed`.
    ///
    /// # Errors
    /// Usage, for a domain of fewer than two texts.
    pub fn new(context: &Context, epsilon: f64, claimed: f64, basis: Basis) -> Result<Self> {
        let size = context.texts.len();
        if size < 2 {
            return Err(Error::usage(format!(
                "randomised response over a data set of {size} text: it needs at least 2 texts"
            )));
        }
        let texts = context.texts.clone();
        let mut sorted: Vec<usize> = (0..size).collect();
        sorted.sort_unstable_by_key(|i| &texts[*i]);
        Ok(Self {
            texts,
            sorted,
            // e^ε / (e^ε + N − 1), divided through by e^ε so that no ε overflows.
            kept: 1.0 / (1.0 + (size as f64 - 1.0) * (-epsilon).exp()),
            claim: Guarantee {
                epsilon: claimed,
                delta: 0.0,
                unit: Unit::Text,
                neighbours: Neighbours::AnyTexts,
                basis,
            },
        })
    }

    /// The number of a text of the domain.
    fn number(&self, text: &str) -> Option<usize> {
        let place = self.sorted.binary_search_by_key(&text, |i| &self.texts[*i]);
        place.ok().map(|place| self.sorted[place])
    }

    /// The released text's number for input number `secret`.
    fn respond(&self, secret: usize, stream: &mut Stream) -> usize {
        if stream.uniform() < self.kept {
            return secret;
        }
        let other = stream.below(self.texts.len() - 1);
        if other >= secret { other + 1 } else { other }
    }
}

impl Mechanism for RandomisedResponse {
    fn guarantee(&self) -> Option<Guarantee> {
        Some(self.claim)
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        batch
            .iter()
            .map(|query| {
                let secret = self.number(query.text).ok_or_else(|| {
                    let shown: String = query.text.chars().take(60).collect();
                    Error::usage(format!(
                        "randomised response is defined on the data set's own texts only, and '{shown}' is none of its {}: give it a line of the data set",
                        self.texts.len()
                    ))
                })?;
                let released = self.respond(secret, &mut query.seed.stream());
                Ok(Release::of(self.texts[released].as_str()))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use teda_core::Seed;

    use super::*;
    use crate::toy;

    #[test]
    fn each_text_is_released_with_its_probability() {
        let krr = RandomisedResponse::new(&toy::context(), 1.0, 1.0, Basis::Proven).unwrap();
        let mut stream = Seed::root(3).stream();
        let mut counts = [0_u32; 3];
        for _ in 0..90_000 {
            counts[krr.respond(1, &mut stream)] += 1;
        }
        let e = 1_f64.exp();
        for (seen, weight) in counts.iter().zip([1.0, e, 1.0]) {
            let mean = 90_000.0 * weight / (e + 2.0);
            // Four standard deviations.
            assert!(
                (f64::from(*seen) - mean).abs() < 4.0 * mean.sqrt(),
                "{counts:?}"
            );
        }
    }

    #[test]
    fn a_text_outside_the_domain_and_a_domain_of_one_are_refused() {
        let mut context = toy::context();
        let krr = RandomisedResponse::new(&context, 1.0, 1.0, Basis::Proven).unwrap();
        let query = Query {
            text: "elsewhere",
            seed: Seed::root(0),
        };
        assert!(matches!(krr.rewrite(&[query]), Err(Error::Usage(_))));
        context.texts = Arc::from([String::from("alone")]);
        assert!(RandomisedResponse::new(&context, 1.0, 1.0, Basis::Proven).is_err());
    }
}
