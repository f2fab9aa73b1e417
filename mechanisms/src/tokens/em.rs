//! `em`: the token-wise exponential mechanism, with its output released unchanged.
//!
//! # Definition
//! Each token of the text is replaced independently by [`TokenExponential`] with the whole ε; the tokens' text is
//! released.
//!
//! # Guarantee
//! ε-DP under one-token adjacency (equal token count, one position differs): the positions are independent, and only
//! one of them has a different distribution. The token count itself is released, so there is no finite ε between texts
//! of different length. Proven.
//!
//! # Source
//! PrivRewrite, Applied Sciences 15(22):11930, Section 5.1: the baseline "EM", which there uses the ε of phase 1.
//!
//! # Deviations
//! The paper specifies neither vocabulary nor embedding: here they are the audit's public token map.

use std::sync::Arc;

use teda_core::{
    Answer, Basis, Guarantee, Likelihood, Mechanism, Neighbours, Query, Release, Result, TokenMap,
    Unit,
};

use super::token_exponential::TokenExponential;
use super::token_wise::TokenWise;
use crate::entry::{Context, Entry};
use crate::privrewrite::privrewrite;

pub const ENTRY: Entry = Entry {
    name: "em",
    summary: "exponential mechanism on every token, over the whole vocabulary",
    source: "PrivRewrite (Applied Sciences 15(22):11930), baseline EM",
    grid: privrewrite::ENTRY.grid,
    build: &|context, epsilon, _| Ok(Box::new(Em::new(context, epsilon, epsilon, Basis::Proven))),
    ..Entry::PUBLISHED
};

/// The mechanism that runs at one ε and claims another one (or the same).
pub struct Em {
    tokens: Arc<dyn TokenMap>,
    draw: TokenExponential,
    claimed: f64,
    basis: Basis,
    likelihood: TokenWise,
}

impl Em {
    /// Runs at `epsilon` and claims `claimed`.
    pub fn new(context: &Context, epsilon: f64, claimed: f64, basis: Basis) -> Self {
        Self {
            tokens: context.tokens.clone(),
            draw: TokenExponential::new(context, epsilon),
            claimed,
            basis,
            likelihood: TokenWise::new(context.tokens.clone()),
        }
    }
}

impl Mechanism for Em {
    fn guarantee(&self) -> Option<Guarantee> {
        Some(Guarantee {
            epsilon: self.claimed,
            delta: 0.0,
            unit: Unit::Text,
            neighbours: Neighbours::OneToken,
            basis: self.basis,
        })
    }

    fn units(&self, text: &str) -> Option<u64> {
        Some(self.tokens.tokenize(text).len() as u64)
    }

    fn likelihood(&self) -> Option<&dyn Likelihood> {
        Some(self)
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        let rewrite = |query: &Query<'_>| {
            let mut stream = query.seed.stream();
            let tokens: Vec<u32> = self
                .tokens
                .tokenize(query.text)
                .into_iter()
                .map(|token| self.draw.draw(token, &mut stream))
                .collect();
            Release::of(self.tokens.detokenize(&tokens))
        };
        Ok(batch.iter().map(rewrite).collect())
    }
}

impl Likelihood for Em {
    /// The release shows a text and not its tokens: this sums over all token sequences that write it.
    fn log_likelihood(&self, pairs: &[(&str, &str)]) -> Result<Vec<Answer<f64>>> {
        self.likelihood.log_likelihood(pairs, &self.draw)
    }
}

#[cfg(test)]
mod tests {
    use teda_core::Seed;

    use super::*;
    use crate::testing::{statistics, toy};

    #[test]
    fn likelihoods_are_those_of_its_releases() {
        let context = toy::context();
        let em = Em::new(&context, 3.0, 3.0, Basis::Proven);
        let texts: Vec<String> = (0..toy::UNKNOWN)
            .flat_map(|s| (0..toy::UNKNOWN).map(move |t| format!("t{s} t{t}")))
            .collect();
        let exact = statistics::probabilities(&em, &texts, "t3 t4");
        let counts = statistics::releases(&em, "t3 t4", 40_000);
        statistics::assert_sampled(&counts, &exact, "em");
        let pairs = [("t3", "t3 t4"), ("t3 t4", "t3"), ("", ""), ("t8", "t3")];
        let found = em.log_likelihood(&pairs).unwrap();
        let none = f64::NEG_INFINITY;
        assert_eq!(found, [Ok(none), Ok(none), Ok(0.0), Ok(none)]);
    }

    #[test]
    fn it_keeps_the_number_of_tokens_and_a_huge_epsilon_keeps_the_tokens() {
        let settings = ENTRY.settings(None, &[]).unwrap();
        let em = ENTRY
            .instance(&toy::context(), Some(1e6), &settings)
            .unwrap();
        let query = Query {
            text: "t3 t1 t1 t7",
            seed: Seed::root(0),
        };
        assert_eq!(em.rewrite(&[query]).unwrap()[0].text, query.text);
        assert_eq!(em.units(query.text), Some(4));
    }
}
