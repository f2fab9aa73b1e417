//! Common parts of the protocols of local differential privacy over categories.
//!
//! # Definition
//! A client holds one of K categories and sends one randomised report. Here the categories are the data set's distinct
//! texts, and the report is released as a text: bits as a string of `0` and `1`, numbers in decimals separated by
//! spaces, with just enough digits to tell each from every other number.
//!
//! # Source
//! Wang, Blocki, Li & Jha, *Locally differentially private protocols for frequency estimation* (USENIX
//! Security 2017), and the protocols that its Section 3 compares.

use teda_core::{
    Answer, Basis, Guarantee, Likelihood, Mechanism, Neighbours, Query, Release, Result, Stream,
    Unit,
};

use super::categories::Categories;
use crate::entry::Context;

/// A protocol's client, at one ε and for one number of categories.
pub trait Protocol: Send + Sync {
    /// A report of `category`.
    fn report(&self, category: usize, stream: &mut Stream) -> String;

    /// Whether a report is the category's vector plus normal noise.
    fn is_gaussian(&self) -> bool {
        false
    }

    /// ln of the probability (or density) of `report` for `category`; −∞ if it is not a valid report.
    fn log_likelihood(&self, report: &str, category: usize) -> f64;
}

/// A protocol over the data set's texts, with its claim.
pub struct Local<P> {
    domain: Categories,
    protocol: P,
    claim: Guarantee,
}

impl<P: Protocol> Local<P> {
    /// The protocol that `build` makes for a number of categories, (ε, δ)-LDP between any two of them by the proof in
    /// its file.
    ///
    /// # Errors
    /// Usage, for a data set of fewer than two texts.
    pub fn new(
        context: &Context,
        owner: &'static str,
        (epsilon, delta): (f64, f64),
        build: impl FnOnce(usize) -> P,
    ) -> Result<Self> {
        let domain = Categories::new(context, owner)?;
        Ok(Self {
            protocol: build(domain.size()),
            domain,
            claim: Guarantee {
                epsilon,
                delta,
                unit: Unit::Text,
                neighbours: Neighbours::AnyTexts,
                basis: Basis::Proven,
            },
        })
    }
}

impl<P: Protocol> Mechanism for Local<P> {
    fn guarantee(&self) -> Option<Guarantee> {
        Some(self.claim)
    }

    fn is_gaussian(&self) -> bool {
        self.protocol.is_gaussian()
    }

    fn likelihood(&self) -> Option<&dyn Likelihood> {
        Some(self)
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        let report = |query: &Query<'_>| {
            let category = self.domain.of(query.text)?;
            let report = self.protocol.report(category, &mut query.seed.stream());
            Ok(Release::of(report))
        };
        batch.iter().map(report).collect()
    }
}

impl<P: Protocol> Likelihood for Local<P> {
    fn log_likelihood(&self, pairs: &[(&str, &str)]) -> Result<Vec<Answer<f64>>> {
        let of = |(report, text): &(&str, &str)| {
            let category = self.domain.of(text).map_err(|e| e.to_string())?;
            Ok(self.protocol.log_likelihood(report, category))
        };
        Ok(pairs.iter().map(of).collect())
    }
}

#[cfg(test)]
mod tests {
    use teda_core::{Error, Seed};

    use super::*;
    use crate::entry::Kind;
    use crate::registry;
    use crate::testing::toy;

    /// Every protocol of the registry, at its defaults.
    fn each(epsilon: f64, check: impl Fn(&str, &dyn Mechanism)) {
        for entry in registry::ALL {
            if entry.kind == Kind::Protocol {
                let settings = entry.settings(None, &[]).unwrap();
                let context = toy::over(&["a", "b", "c", "d"]);
                let mechanism = entry.instance(&context, Some(epsilon), &settings).unwrap();
                check(entry.name, &*mechanism);
            }
        }
    }

    #[test]
    fn texts_outside_of_the_domain_are_refused() {
        each(1.0, |name, protocol| {
            let text = "elsewhere";
            let seed = Seed::root(0);
            let refused = protocol.rewrite(&[Query { text, seed }]);
            assert!(matches!(refused, Err(Error::Usage(_))), "{name}");
            let likelihood = protocol.likelihood().unwrap();
            let unknown = likelihood.log_likelihood(&[("0000", text)]).unwrap();
            assert!(unknown[0].is_err(), "{name}");
        });
    }

    #[test]
    fn what_is_no_report_is_impossible() {
        for no_report in [
            "",
            "e",
            "01",
            "00002",
            "0 1 0 x",
            "1 2 3",
            "NaN 0 0 0",
            "1,2 3",
            "0,1 0",
        ] {
            each(1.0, |name, protocol| {
                let likelihood = protocol.likelihood().unwrap();
                let found = likelihood.log_likelihood(&[(no_report, "a")]).unwrap();
                assert_eq!(found, [Ok(f64::NEG_INFINITY)], "{name}: '{no_report}'");
            });
        }
    }

    /// For reports drawn under each text in turn, the likelihoods under every text.
    fn likelihoods(protocol: &dyn Mechanism) -> Vec<Vec<f64>> {
        let texts = ["a", "b", "c", "d"];
        let of = |trial: u64| {
            let text = texts[trial as usize % 4];
            let seed = Seed::root(22).at(trial);
            let report = &protocol.rewrite(&[Query { text, seed }]).unwrap()[0].text;
            let pairs = texts.map(|text| (&report[..], text));
            let logs = protocol.likelihood().unwrap().log_likelihood(&pairs);
            logs.unwrap().into_iter().map(Answer::unwrap).collect()
        };
        (0..400).map(of).collect()
    }

    /// How much the likelihoods differ; all must be finite.
    fn loss(logs: &[f64]) -> f64 {
        assert!(logs.iter().all(|log| log.is_finite()), "{logs:?}");
        let least = logs.iter().copied().fold(f64::INFINITY, f64::min);
        logs.iter().copied().fold(f64::NEG_INFINITY, f64::max) - least
    }

    /// Privacy itself for actual draws: no report tells two texts apart by more than ε, unless the claim has a δ; and
    /// each text's own reports are possible under every other.
    #[test]
    fn no_report_of_a_text_says_more_than_epsilon() {
        for epsilon in [0.01, 1.0, 4.0, 60.0, 2500.0] {
            each(epsilon, |name, protocol| {
                let pure = protocol.guarantee().unwrap().delta == 0.0;
                let bound = epsilon * (1.0 + 1e-9) + 1e-9;
                for logs in likelihoods(protocol) {
                    let found = loss(&logs);
                    assert!(!pure || found <= bound, "{name}: {found}, not {epsilon}");
                }
            });
        }
    }

    /// All but THE are tight, and their least private reports are not rare.
    #[test]
    fn some_report_says_all_of_epsilon() {
        for epsilon in [0.5, 1.0, 4.0] {
            each(epsilon, |name, protocol| {
                let losses = likelihoods(protocol);
                let most = losses.iter().map(|logs| loss(logs)).fold(0.0, f64::max);
                let reached = most > epsilon * (1.0 - 1e-9);
                // A release that reveals more than ε under δ is as rare as δ.
                let pure = protocol.guarantee().unwrap().delta == 0.0;
                assert!(
                    !pure || reached == (name != "the"),
                    "{name}: {most} of {epsilon}"
                );
            });
        }
    }
}
