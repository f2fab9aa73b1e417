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
//! # Deviations
//! The draw compares one number of 53 bits: above ε ≈ 36 another text is never drawn, though its probability is not 0.
//! At most 2⁻⁵³ of the releases differ.
//!
//! # Errors
//! A text outside the domain has no defined release; a domain of one text offers nothing to hide among.

use teda_core::{
    Answer, Basis, Categorical, Guarantee, Likelihood, Mechanism, Neighbours, Query, Release,
    Result, Stream, Unit,
};

use crate::entry::{Context, Entry};
use crate::ldp::categories::Categories;

pub const ENTRY: Entry = Entry {
    name: "krr",
    summary: "randomised response over the data set's texts: epsilon is exact",
    source: "Kairouz, Oh & Viswanath (2014)",
    unit: Some(Unit::Text),
    grid: Entry::PROTOCOL.grid,
    build: &|context, epsilon, _| {
        Ok(Box::new(RandomisedResponse::new(
            context,
            epsilon,
            epsilon,
            Basis::Proven,
        )?))
    },
    ..Entry::CONTROL
};

/// Randomised response that runs at one ε and claims another one (or the same).
pub struct RandomisedResponse {
    domain: Categories,
    kept: f64,
    /// ln of the probability of each other text.
    ln_other: f64,
    claim: Guarantee,
}

impl RandomisedResponse {
    /// Runs at `epsilon` and claims `claimed`.
    ///
    /// # Errors
    /// Usage, for a domain of fewer than two texts.
    pub fn new(context: &Context, epsilon: f64, claimed: f64, basis: Basis) -> Result<Self> {
        let domain = Categories::new(context, "randomised response")?;
        // e^ε / (e^ε + N − 1), divided by e^ε so that no ε overflows.
        let kept = 1.0 / (1.0 + (domain.size() as f64 - 1.0) * (-epsilon).exp());
        Ok(Self {
            domain,
            kept,
            ln_other: kept.ln() - epsilon,
            claim: Guarantee {
                epsilon: claimed,
                delta: 0.0,
                unit: Unit::Text,
                neighbours: Neighbours::AnyTexts,
                basis,
            },
        })
    }
}

impl Categorical for RandomisedResponse {
    fn respond(&self, secret: usize, stream: &mut Stream) -> usize {
        let kept = stream.uniform() < self.kept;
        match self.domain.size() - 1 {
            // A single other text needs no coin, and no branch that cannot be predicted.
            1 => secret ^ usize::from(!kept),
            _ if kept => secret,
            others => {
                let other = stream.below(others);
                if other >= secret { other + 1 } else { other }
            }
        }
    }
}

impl Mechanism for RandomisedResponse {
    fn guarantee(&self) -> Option<Guarantee> {
        Some(self.claim)
    }

    fn likelihood(&self) -> Option<&dyn Likelihood> {
        Some(self)
    }

    fn categorical(&self) -> Option<&dyn Categorical> {
        Some(self)
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        batch
            .iter()
            .map(|query| {
                let secret = self.domain.of(query.text)?;
                let released = self.respond(secret, &mut query.seed.stream());
                Ok(Release::of(self.domain.text(released)))
            })
            .collect()
    }
}

impl Likelihood for RandomisedResponse {
    fn log_likelihood(&self, pairs: &[(&str, &str)]) -> Result<Vec<Answer<f64>>> {
        let of = |(release, text): &(&str, &str)| {
            self.domain.of(text).map_err(|e| e.to_string())?;
            Ok(match self.domain.find(release) {
                Some(_) if release == text => self.kept.ln(),
                Some(_) => self.ln_other,
                None => f64::NEG_INFINITY,
            })
        };
        Ok(pairs.iter().map(of).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use teda_core::{Error, Seed};

    use super::*;
    use crate::testing::{statistics, toy};

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
        let krr = RandomisedResponse::new(&toy::context(), 1.0, 1.0, Basis::Proven).unwrap();
        let query = Query {
            text: "elsewhere",
            seed: Seed::root(0),
        };
        assert!(matches!(krr.rewrite(&[query]), Err(Error::Usage(_))));
        let unknown = krr.log_likelihood(&[("t3 t4", "elsewhere")]).unwrap();
        assert!(
            unknown[0]
                .as_ref()
                .unwrap_err()
                .reason
                .contains("'elsewhere'")
        );
        let alone = toy::over(&["alone"]);
        assert!(RandomisedResponse::new(&alone, 1.0, 1.0, Basis::Proven).is_err());
    }

    /// Even where e^ε overflows: the two log probabilities are ε apart at any ε.
    #[test]
    fn likelihoods_are_those_of_its_releases() {
        let context = toy::context();
        for epsilon in [0.5, 4.0] {
            let krr = RandomisedResponse::new(&context, epsilon, epsilon, Basis::Proven).unwrap();
            let exact: BTreeMap<String, f64> =
                statistics::probabilities(&krr, &context.texts, "t3 t4");
            let counts = statistics::releases(&krr, "t3 t4", 20_000);
            statistics::assert_sampled(&counts, &exact, "krr");
        }
        let krr = RandomisedResponse::new(&context, 1e4, 1e4, Basis::Proven).unwrap();
        let pairs = ["t3 t4", "t0 t1 t2", "t9"].map(|release| (release, "t3 t4"));
        let found = krr.log_likelihood(&pairs).unwrap();
        assert_eq!(found, [Ok(0.0), Ok(-1e4), Ok(f64::NEG_INFINITY)]);
    }
}
