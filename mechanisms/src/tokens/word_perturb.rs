//! `word-perturb`: noise on every word's vector, then the nearest word of the vocabulary.
//!
//! # Definition
//! For every token x_i independently: z of density ∝ exp(−ε‖z‖), then the token of the public
//! vocabulary nearest to e(x_i) + z by Euclidean distance; the tokens' text.
//!
//! # Guarantee
//! ε-metric privacy per token: Pr[t | x] ≤ e^{ε‖e(x) − e(x′)‖} Pr[t | x′], since the density of e(x) + z at any point
//! changes by at most that factor (triangle inequality) and the search is post-processing. For texts with the same
//! number of tokens the distances add up, d(x, x′) = Σ_i ‖e(x_i) − e(x′_i)‖; between texts of different length nothing
//! is claimed, as the token count is released. So the claim between the texts of an audit is εD, D the greatest d
//! between two texts that one candidate set can hold: with one-token neighbours the greatest distance between two
//! words of a set, with any texts the greatest between two texts of the data set, if all have one token count.
//! Proven for exact arithmetic.
//!
//! # Source
//! Feyisetan, Balle, Drake and Diethe, *Privacy- and utility-preserving textual analysis via calibrated
//! multivariate perturbations* (WSDM 2020), Algorithm 1; the baseline "WP" of PrivRewrite and SafeDP-Rewrite.
//!
//! # Deviations
//! The vocabulary is the audit's public token map (word pieces of norm 1) instead of GloVe or fastText, so ε has a
//! different scale: in d dimensions noise is d/ε long on average, and vectors of norm 1 are at most 2 apart. An
//! unknown token is perturbed from the vector 0.
//!
//! # Likelihood
//! Approximate, for use by attacks. P(t | x) is the mass of noise in the cell of all points that are nearer to t than
//! to any other token, in some hundred dimensions that no formula integrates over. Instead P(t | x) ∝ exp(−ε‖e(t) −
//! e(x)‖), the noise's density at the released token itself: as if all cells had the same size, and the density were
//! constant within a cell. What a release reveals by its tokenisation is exact: the sum runs over all token sequences
//! that write it, and −∞ means that none of that length does. The probabilities for an x add up to 1; otherwise
//! sequences of different length could not be compared.

use std::sync::Arc;

use ndarray::Array1;
use teda_core::{
    Answer, Basis, Guarantee, Likelihood, Mechanism, Neighbours, Query, Release, Result, Stream,
    TokenMap, Unit,
};

use super::nearest::Nearest;
use super::token_wise::{TokenWise, Weights};
use crate::entry::{Context, Entry};
use crate::noise::metric;

pub const ENTRY: Entry = Entry {
    name: "word-perturb",
    summary: "noise on every token's vector, then the nearest token (metric privacy)",
    source: "Feyisetan et al. (WSDM 2020), Algorithm 1",
    unit: Some(Unit::Token),
    grid: &GRID,
    build: &|context, epsilon, _| Ok(Box::new(WordPerturb::new(context, epsilon))),
    ..Entry::PUBLISHED
};

/// From noise that drowns every word to noise that leaves most of them, for vectors of norm 1 in some hundred
/// dimensions.
const GRID: [f64; 5] = [10.0, 25.0, 50.0, 100.0, 200.0];

/// Word perturbation at one ε.
struct WordPerturb {
    tokens: Arc<dyn TokenMap>,
    nearest: Nearest,
    likelihood: TokenWise,
    epsilon: f64,
}

impl WordPerturb {
    fn new(context: &Context, epsilon: f64) -> Self {
        Self {
            tokens: context.tokens.clone(),
            nearest: Nearest::new(context.tokens.clone()),
            likelihood: TokenWise::new(context.tokens.clone()),
            epsilon,
        }
    }

    /// Σ_i ‖e(x_i) − e(y_i)‖ of two texts with the same number of tokens.
    fn distance(&self, x: &[u32], y: &[u32]) -> f64 {
        let vectors = self.tokens.vectors();
        let changed = x.iter().zip(y).filter(|(a, b)| a != b);
        let distances = changed.map(|(a, b)| {
            let (a, b) = (vectors.row(*a as usize), vectors.row(*b as usize));
            let squares = a
                .iter()
                .zip(b)
                .map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2));
            squares.sum::<f64>().sqrt()
        });
        distances.sum()
    }

    /// e(x) + z.
    fn perturb(&self, token: u32, stream: &mut Stream) -> Array1<f32> {
        let vector = self.tokens.vectors().row(token as usize).mapv(f64::from);
        let noise = metric::draw(vector.len(), self.epsilon, stream);
        (vector + noise).mapv(|value| value as f32)
    }
}

impl Weights for WordPerturb {
    /// −ε‖e(t) − e(x)‖: ln of the noise's density at t, up to a constant.
    fn ln_weight(&self, t: u32, x: u32) -> f64 {
        let vectors = self.tokens.vectors();
        let (t, x) = (vectors.row(t as usize), vectors.row(x as usize));
        // As products, which processors compute fast: every token of the vocabulary is needed.
        let square = t.dot(&t) + x.dot(&x) - 2.0 * t.dot(&x);
        -self.epsilon * f64::from(square.max(0.0)).sqrt()
    }
}

impl Mechanism for WordPerturb {
    fn guarantee(&self) -> Option<Guarantee> {
        Some(Guarantee {
            epsilon: self.epsilon,
            delta: 0.0,
            unit: Unit::Token,
            neighbours: Neighbours::Metric,
            basis: Basis::Proven,
        })
    }

    fn units(&self, text: &str) -> Option<u64> {
        Some(self.tokens.tokenize(text).len() as u64)
    }

    /// max Σ_i ‖e(x_i) − e(x′_i)‖ over the pairs of texts, if all have the same number of tokens.
    fn diameter(&self, texts: &[&str]) -> Option<f64> {
        let tokens: Vec<Vec<u32>> = texts.iter().map(|t| self.tokens.tokenize(t)).collect();
        if tokens.windows(2).any(|pair| pair[0].len() != pair[1].len()) {
            return None;
        }
        let pairs = tokens
            .iter()
            .enumerate()
            .flat_map(|(i, x)| tokens[..i].iter().map(move |y| self.distance(x, y)));
        Some(pairs.fold(0.0, f64::max))
    }

    fn likelihood(&self) -> Option<&dyn Likelihood> {
        Some(self)
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        let rewrite = |query: &Query<'_>| {
            let mut stream = query.seed.stream();
            let points: Vec<Array1<f32>> = self
                .tokens
                .tokenize(query.text)
                .into_iter()
                .map(|token| self.perturb(token, &mut stream))
                .collect();
            Release::of(self.tokens.detokenize(&self.nearest.tokens(&points)))
        };
        Ok(batch.iter().map(rewrite).collect())
    }
}

impl Likelihood for WordPerturb {
    fn is_exact(&self) -> bool {
        false
    }

    fn log_likelihood(&self, pairs: &[(&str, &str)]) -> Result<Vec<Answer<f64>>> {
        self.likelihood.log_likelihood(pairs, self)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use teda_core::Seed;

    use super::*;
    use crate::testing::{statistics, toy};

    fn instance(epsilon: f64) -> WordPerturb {
        WordPerturb::new(&toy::context(), epsilon)
    }

    #[test]
    fn it_keeps_the_number_of_tokens_and_a_huge_epsilon_keeps_the_tokens() {
        let query = Query {
            text: "t3 t1 t1 t7",
            seed: Seed::root(0),
        };
        let kept = instance(1e6).rewrite(&[query]).unwrap();
        assert_eq!(kept[0].text, query.text);
        let noisy = instance(1e-3).rewrite(&[query]).unwrap();
        assert_eq!(noisy[0].text.split(' ').count(), 4);
        assert_eq!(instance(1.0).units(query.text), Some(4));
    }

    #[test]
    fn the_diameter_is_the_greatest_sum_of_distances() {
        let toy = toy::opposites();
        let context = Context {
            tokens: toy.clone(),
            ..toy::context()
        };
        let mechanism = WordPerturb::new(&context, 1.0);
        // Opposite vectors are 2 apart, those at right angles √2, and an unknown one is 1 from all.
        for (texts, expected) in [
            (&["t0 t2", "t1 t2"][..], Some(2.0)),
            (&["t0 t2", "t2 t2", "t1 t3"], Some(4.0)),
            (&["t0", "t2"], Some(2.0_f64.sqrt())),
            (&["t0", "x"], Some(1.0)),
            (&["t0", "t0"], Some(0.0)),
            (&["t0 t2", "t0"], None),
        ] {
            let found = mechanism.diameter(texts);
            let same = |(a, b): (f64, f64)| (a - b).abs() < 1e-12;
            assert_eq!(found.is_some(), expected.is_some(), "{texts:?}");
            assert!(found.zip(expected).is_none_or(same), "{texts:?}: {found:?}");
        }
    }

    /// In one dimension, with the words −1 and 1, the noise is Laplace's: a word is released in place of the other
    /// with probability ½e^{−ε}, and the greatest loss is ln(2e^ε − 1), which the claim of 2ε allows.
    #[test]
    fn in_one_dimension_releases_follow_the_exact_probabilities_and_the_claim() {
        let toy = toy::line();
        let context = Context {
            tokens: toy.clone(),
            ..toy::context()
        };
        for epsilon in [0.5_f64, 2.0] {
            let mechanism = WordPerturb::new(&context, epsilon);
            let other = 0.5 * (-epsilon).exp();
            let of = |own: &str, else_: &str| {
                BTreeMap::from([(own.to_owned(), 1.0 - other), (else_.to_owned(), other)])
            };
            let (p, q) = (of("t0", "t1"), of("t1", "t0"));
            let counts = statistics::releases(&mechanism, "t0", 40_000);
            statistics::assert_sampled(&counts, &p, "word-perturb on a line");
            let loss = statistics::greatest_loss(&p, &q);
            let claim = mechanism.guarantee().unwrap();
            let diameter = mechanism.diameter(&["t0", "t1"]);
            let lengths = Some(teda_core::Lengths {
                shortest: 1,
                longest: 1,
            });
            let claim = claim
                .between(Neighbours::OneToken, lengths, diameter)
                .unwrap();
            assert_eq!(claim.epsilon, 2.0 * epsilon);
            assert!(
                loss <= claim.epsilon && loss > claim.epsilon / 2.0,
                "{loss}"
            );
            assert!(claim.epsilon < 1.5 || loss < claim.epsilon, "{loss}");
        }
    }

    /// Every text of two tokens, weighed by hand.
    #[test]
    fn likelihoods_are_the_densities_at_the_released_tokens() {
        let tokens = toy::tokens();
        let distance = |t: u32, x: u32| {
            let row = |token: u32| tokens.vectors().row(token as usize).mapv(f64::from);
            let difference = row(t) - row(x);
            difference.dot(&difference).sqrt()
        };
        for epsilon in [0.5, 6.0] {
            let mechanism = instance(epsilon);
            let likelihood = mechanism.likelihood().unwrap();
            assert!(!likelihood.is_exact());
            let probability = |t: u32, x: u32| {
                let weight = |t: u32| (-epsilon * distance(t, x)).exp();
                weight(t) / (0..toy::UNKNOWN).map(weight).sum::<f64>()
            };
            // The second is unknown: its vector is 0.
            for text in ["t3 t4", "t5 x"] {
                let private = tokens.tokenize(text);
                for (a, b) in (0..toy::UNKNOWN).flat_map(|a| (0..toy::UNKNOWN).map(move |b| (a, b)))
                {
                    let release = format!("t{a} t{b}");
                    let found = likelihood.log_likelihood(&[(&release, text)]).unwrap();
                    let found = found[0].clone().unwrap();
                    let expected = probability(a, private[0]) * probability(b, private[1]);
                    assert!(
                        (found - expected.ln()).abs() < 1e-3,
                        "'{release}' of '{text}': {found}, not {}",
                        expected.ln()
                    );
                }
            }
            let pairs = [("t3", "t3 t4"), ("t3 t4", "t3"), ("", ""), ("t8", "t3")];
            let found = likelihood.log_likelihood(&pairs).unwrap();
            let none = f64::NEG_INFINITY;
            assert_eq!(found, [Ok(none), Ok(none), Ok(0.0), Ok(none)]);
        }
    }

    /// What the likelihoods are for: the likelier of two texts is the source more often than not, the more so
    /// the less noise there is, and at last always.
    #[test]
    fn the_likelier_text_is_the_source() {
        let rate = |epsilon: f64| {
            let mechanism = instance(epsilon);
            let texts = ["t3 t4", "t5 t1"];
            let trials = 2_000;
            let queries: Vec<Query<'_>> = (0..trials)
                .map(|i| Query {
                    text: texts[i as usize % 2],
                    seed: Seed::root(19).at(i),
                })
                .collect();
            let releases = mechanism.rewrite(&queries).unwrap();
            let right = |(i, release): &(usize, Release)| {
                let pairs = texts.map(|text| (&release.text[..], text));
                let found = mechanism.log_likelihood(&pairs).unwrap();
                let of = |text: usize| found[text].clone().unwrap();
                of(i % 2) > of(1 - i % 2)
            };
            let rows = releases.into_iter().enumerate();
            rows.filter(right).count() as f64 / trials as f64
        };
        let rates = [1.0, 4.0, 12.0, 100.0].map(rate);
        // Five standard deviations of Bin(2000, ½).
        assert!(rates[0] > 0.556, "{rates:?}");
        assert!(rates.is_sorted() && rates[3] == 1.0, "{rates:?}");
    }

    /// Privacy itself, on frequencies: no token is more than e^{ε‖x − x′‖} likelier from x than from x′, up to
    /// four standard deviations.
    #[test]
    fn frequencies_stay_within_the_metric_bound() {
        let draws = 20_000;
        let vectors = toy::tokens();
        for epsilon in [0.5, 3.0] {
            let all: Vec<BTreeMap<String, f64>> = (0..toy::UNKNOWN)
                .map(|x| statistics::releases(&instance(epsilon), &format!("t{x}"), draws))
                .collect();
            for (x, p) in all.iter().enumerate() {
                for (y, q) in all.iter().enumerate() {
                    let (vx, vy) = (vectors.vectors().row(x).to_owned(), vectors.vectors());
                    let difference = &vx - &vy.row(y);
                    let bound = (epsilon * f64::from(difference.dot(&difference).sqrt())).exp();
                    for (token, seen) in p {
                        let other = q.get(token).copied().unwrap_or(0.0);
                        let slack = 4.0 * (seen + bound * bound * (other + 1.0)).sqrt();
                        assert!(
                            *seen <= bound * other + slack,
                            "'{token}' from t{x} and t{y}: {seen} and {other}, bound {bound}"
                        );
                    }
                }
            }
        }
    }
}
