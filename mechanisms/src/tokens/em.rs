//! `em`: the token-wise exponential mechanism, with its output released unchanged.
//!
//! # Definition
//! Each token of the text is replaced independently by [`TokenExponential`](super::token_exponential) with ε₁ = `share`
//! of ε, by default all of it; the tokens' text is released. `--preset paper` spends half of ε: phase 1 of PrivRewrite
//! at ε, which is what the paper's "EM" at ε is. `--preset as-shown` is phase 1 as the paper's examples show it
//! ([`Sanitiser`]).
//!
//! # Guarantee
//! ε₁-DP under one-token adjacency (equal token count, one position differs): the positions are independent, and only
//! one of them has a different distribution. The token count itself is released, so there is no finite ε between texts
//! of different length. Proven as printed; with kept words or lists it is **claimed** by the paper alone, and does not
//! hold ([`Sanitiser`]).
//!
//! What double precision leaves of this: "Numerical ends" in [`TokenExponential`](super::token_exponential).
//!
//! # Source
//! PrivRewrite, Applied Sciences 15(22):11930, Section 5.1: the baseline "EM". Its mean similarities in Figure 2 equal
//! those of phase 1 in Table 1, which spends half of ε.
//!
//! # Deviations
//! The paper specifies neither vocabulary nor embedding: here they are the audit's public token map, whose tokens are
//! word pieces, so that the number of tokens counts pieces. All of ε is spent unless `--preset paper` is named. What
//! [`Sanitiser`] says of kept words.

use std::sync::Arc;

use teda_core::{
    Answer, Basis, Guarantee, Likelihood, Mechanism, Neighbours, Parameter, Query, Release, Result,
    TokenMap, Unit,
};

use super::sanitiser::{KEEP_STOPWORDS, KEEP_UNKNOWN, NEIGHBOURS, Rule, Sanitiser};
use crate::entry::{Context, Entry};
use crate::privrewrite::privrewrite;

pub const ENTRY: Entry = Entry {
    name: "em",
    summary: "exponential mechanism on every token, over the whole vocabulary",
    source: "PrivRewrite (Applied Sciences 15(22):11930), baseline EM",
    grid: privrewrite::ENTRY.grid,
    parameters: &[SHARE, KEEP_STOPWORDS, KEEP_UNKNOWN, NEIGHBOURS],
    presets: &[
        ("paper", &[("share", "0.5")]),
        (
            "as-shown",
            &[
                ("share", "0.5"),
                ("keep_stopwords", "1"),
                ("keep_unknown", "1"),
                ("neighbours", "20"),
            ],
        ),
    ],
    build: &|context, epsilon, settings| {
        let epsilon = epsilon * settings.get("share");
        let sanitiser = Sanitiser::new(context, epsilon, Rule::of(settings));
        let basis = sanitiser.basis();
        Ok(Box::new(Em::new(context, sanitiser, epsilon, basis)))
    },
    ..Entry::PUBLISHED
};

/// ε₁/ε.
const SHARE: Parameter = Parameter::number(
    "share",
    1.0,
    [0.01, 1.0],
    "share of epsilon that is spent; 0.5: as phase 1 of PrivRewrite at epsilon",
);

/// The mechanism that claims the ε that it runs at, or another one.
pub struct Em {
    tokens: Arc<dyn TokenMap>,
    sanitiser: Sanitiser,
    claimed: f64,
    basis: Basis,
}

impl Em {
    /// Runs `sanitiser` and claims `claimed`.
    pub fn new(context: &Context, sanitiser: Sanitiser, claimed: f64, basis: Basis) -> Self {
        Self {
            tokens: context.tokens.clone(),
            sanitiser,
            claimed,
            basis,
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
        let tokenized = batch.iter().map(|query| self.tokens.tokenize(query.text));
        let texts: Vec<Vec<u32>> = tokenized.collect();
        self.sanitiser.prepare(&texts);
        let rewrite = |(tokens, query): (&Vec<u32>, &Query<'_>)| {
            Release::of(self.sanitiser.sanitise(tokens, &mut query.seed.stream()))
        };
        Ok(texts.iter().zip(batch).map(rewrite).collect())
    }
}

impl Likelihood for Em {
    fn log_likelihood(&self, pairs: &[(&str, &str)]) -> Result<Vec<Answer<f64>>> {
        self.sanitiser.log_likelihood(pairs)
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
        let settings = ENTRY.settings(None, &[]).unwrap();
        let em = ENTRY.instance(&context, Some(3.0), &settings).unwrap();
        let texts: Vec<String> = (0..toy::UNKNOWN)
            .flat_map(|s| (0..toy::UNKNOWN).map(move |t| format!("t{s} t{t}")))
            .collect();
        let exact = statistics::probabilities(&*em, &texts, "t3 t4");
        let counts = statistics::releases(&*em, "t3 t4", 40_000);
        statistics::assert_sampled(&counts, &exact, "em");
        let pairs = [("t3", "t3 t4"), ("t3 t4", "t3"), ("", ""), ("t8", "t3")];
        let found = em.likelihood().unwrap().log_likelihood(&pairs).unwrap();
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

    #[test]
    fn presets_spend_half_of_epsilon_and_claim_what_they_spend() {
        let context = toy::context();
        let claim = |preset: &str| {
            let settings = ENTRY.settings(Some(preset), &[]).unwrap();
            let em = ENTRY.instance(&context, Some(3.0), &settings).unwrap();
            let claim = em.guarantee().unwrap();
            (claim.epsilon, claim.basis)
        };
        assert_eq!(claim("paper"), (1.5, Basis::Proven));
        assert_eq!(claim("as-shown"), (1.5, Basis::Claimed));
        // Half of 3 is what all of 1.5 is.
        let of = |epsilon, set: &[(&str, &str)]| {
            let settings = ENTRY.settings(None, &toy::given(set)).unwrap();
            let em = ENTRY.instance(&context, Some(epsilon), &settings);
            statistics::releases(&*em.unwrap(), "t3 t4", 500)
        };
        assert_eq!(of(3.0, &[("share", "0.5")]), of(1.5, &[]));
    }
}
