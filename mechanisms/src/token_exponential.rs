//! The exponential mechanism over a public vocabulary, one token at a time.
//!
//! # Definition
//! Pr[t | x] ∝ exp((ε/2)·u(t; x)) over the whole vocabulary V, u(t; x) = clip₀₁⟨e(t), e(x)⟩ with
//! public embeddings e of norm 1 (an unknown x has e(x) = 0, so that its release is uniform on V).
//!
//! # Guarantee
//! ε between any two tokens: u ∈ [0, 1] has sensitivity Δu = 1, so the weight of t changes by a
//! factor of at most e^{ε/2}, and so does the normaliser.
//!
//! # Source
//! McSherry & Talwar (2007); as phase 1 of PrivRewrite, Applied Sciences 15(22):11930, Section 4.1.
//!
//! # Sampling
//! Exact in two ways. Rejection draws t uniformly from V and accepts it with probability
//! exp((ε/2)(u − 1)) ≥ e^{−ε/2}; it looks at few tokens when ε is small. Enumeration weighs all of V
//! and is used where rejection would look at many.

use std::sync::Arc;

use teda_core::{Stream, TokenMap};

/// Below this ε a rejection draw looks at e^{ε/2} ≤ 404 tokens on average; V has tens of thousands.
const REJECTION_BELOW: f64 = 12.0;

/// The mechanism at one ε over one vocabulary.
pub struct TokenExponential {
    tokens: Arc<dyn TokenMap>,
    epsilon: f64,
}

impl TokenExponential {
    /// The mechanism with `epsilon` a token.
    pub fn new(tokens: Arc<dyn TokenMap>, epsilon: f64) -> Self {
        Self { tokens, epsilon }
    }

    /// (ε/2)·u(t; x): Pr[t | x] ∝ its exponential.
    pub fn ln_weight(&self, t: u32, x: u32) -> f64 {
        self.epsilon / 2.0 * self.utility(t, x)
    }

    /// A token in place of `token`.
    pub fn draw(&self, token: u32, stream: &mut Stream) -> u32 {
        if self.epsilon < REJECTION_BELOW {
            self.draw_by_rejection(token, stream)
        } else {
            self.draw_by_enumeration(token, stream)
        }
    }

    fn draw_by_rejection(&self, token: u32, stream: &mut Stream) -> u32 {
        let released = self.tokens.released();
        loop {
            let proposal = released[stream.below(released.len())];
            let acceptance = (self.epsilon / 2.0 * (self.utility(proposal, token) - 1.0)).exp();
            if stream.uniform() < acceptance {
                return proposal;
            }
        }
    }

    fn draw_by_enumeration(&self, token: u32, stream: &mut Stream) -> u32 {
        let released = self.tokens.released();
        let mut log_weights: Vec<f64> =
            released.iter().map(|t| self.ln_weight(*t, token)).collect();
        released[stream.softmax(&mut log_weights)]
    }

    /// u(t; x) ∈ [0, 1]: the cosine, negative ones counted as 0. Clipping also takes back what
    /// rounding adds to a cosine of 1, without which Δu = 1 would not be exact.
    fn utility(&self, t: u32, x: u32) -> f64 {
        let vectors = self.tokens.vectors();
        let (t, x) = (vectors.row(t as usize), vectors.row(x as usize));
        f64::from(t.dot(&x)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use statrs::distribution::{ChiSquared, ContinuousCDF};
    use teda_core::Seed;

    use super::*;
    use crate::token_wise::TokenWise;
    use crate::toy;

    /// Probabilities straight from the definition, in the order of `released`.
    fn exact(tokens: &dyn TokenMap, epsilon: f64, x: u32) -> Vec<f64> {
        let vectors = tokens.vectors();
        let weights: Vec<f64> = tokens
            .released()
            .iter()
            .map(|t| {
                let cosine: f64 = (0..vectors.ncols())
                    .map(|i| {
                        f64::from(vectors[[*t as usize, i]]) * f64::from(vectors[[x as usize, i]])
                    })
                    .sum();
                (epsilon / 2.0 * cosine.clamp(0.0, 1.0)).exp()
            })
            .collect();
        let total: f64 = weights.iter().sum();
        weights.iter().map(|w| w / total).collect()
    }

    #[test]
    fn both_ways_of_drawing_follow_the_exact_probabilities() {
        let tokens = toy::tokens();
        let draws = 40_000;
        for epsilon in [0.5, 2.0, 8.0, 30.0] {
            for x in [1_u32, 4, toy::UNKNOWN] {
                let mechanism = TokenExponential::new(tokens.clone(), epsilon);
                let expected = exact(&*tokens, epsilon, x);
                let ways: [fn(&TokenExponential, u32, &mut Stream) -> u32; 2] = [
                    TokenExponential::draw_by_rejection,
                    TokenExponential::draw_by_enumeration,
                ];
                for (way, draw) in ways.iter().enumerate() {
                    // Rejection needs e^{ε/2} proposals a draw: 3 million at ε = 30.
                    if way == 0 && epsilon > 10.0 {
                        continue;
                    }
                    let mut stream = Seed::root(1)
                        .named("draws")
                        .at(x.into())
                        .at(way as u64)
                        .stream();
                    let mut counts = vec![0.0; expected.len()];
                    for _ in 0..draws {
                        let t = draw(&mechanism, x, &mut stream);
                        counts[tokens.released().binary_search(&t).unwrap()] += 1.0;
                    }
                    let (mut chi, mut degrees) = (0.0, -1.0);
                    for (p, seen) in expected.iter().zip(&counts) {
                        let mean = p * f64::from(draws);
                        if mean >= 5.0 {
                            chi += (seen - mean) * (seen - mean) / mean;
                            degrees += 1.0;
                        }
                    }
                    if degrees > 0.0 {
                        let p = ChiSquared::new(degrees).unwrap().sf(chi);
                        assert!(p > 1e-4, "ε={epsilon} x={x} way {way}: p={p}");
                    }
                }
            }
        }
    }

    #[test]
    fn stated_probabilities_are_the_exact_ones() {
        let tokens = toy::tokens();
        for epsilon in [0.5, 8.0, 300.0] {
            let mechanism = TokenExponential::new(tokens.clone(), epsilon);
            for x in 0..toy::TOKENS as u32 {
                for (t, p) in tokens.released().iter().zip(exact(&*tokens, epsilon, x)) {
                    let stated = ln_probability(&mechanism, *t, x);
                    // Cosines of the definition and of the mechanism are rounded differently.
                    assert!((stated - p.ln()).abs() < 1e-6 * epsilon, "{stated}, {p}");
                }
            }
        }
        // Where e^{ε/2} is no number.
        let stated = ln_probability(&TokenExponential::new(tokens, 1e5), 3, 3);
        assert!(stated.abs() < 1e-9, "{stated}");
    }

    /// ln Pr[t | x] of texts of one token.
    fn ln_probability(mechanism: &TokenExponential, t: u32, x: u32) -> f64 {
        let (release, text) = (format!("t{t}"), format!("t{x}"));
        let likelihood = TokenWise::new(mechanism.tokens.clone());
        let weight = |t, x| mechanism.ln_weight(t, x);
        let stated = likelihood.log_likelihood(&[(&release, &text)], weight);
        stated.unwrap().remove(0).unwrap()
    }

    /// The defect of `em-half-noise`: at twice the ε that is claimed, some pair of tokens is told apart by
    /// more than the claim, while the mechanism at its own ε stays within.
    #[test]
    fn at_twice_the_claimed_epsilon_the_exact_ratio_exceeds_the_claim() {
        let tokens = toy::tokens();
        let worst = |epsilon: f64| {
            let all: Vec<Vec<f64>> = (0..toy::TOKENS as u32)
                .map(|x| exact(&*tokens, epsilon, x))
                .collect();
            let pairs = all.iter().flat_map(|p| all.iter().map(move |q| (p, q)));
            pairs
                .flat_map(|(p, q)| p.iter().zip(q).map(|(p, q)| (p / q).ln()))
                .fold(0.0, f64::max)
        };
        for claimed in [0.25, 1.0, 4.0] {
            let (broken, sound) = (worst(2.0 * claimed), worst(claimed));
            assert!(broken > 1.01 * claimed, "{broken} at {claimed}");
            assert!(sound <= claimed * (1.0 + 1e-12), "{sound} at {claimed}");
        }
    }

    proptest! {
        /// Privacy itself: no output's probability changes by more than e^ε between two tokens.
        #[test]
        fn the_ratio_of_probabilities_never_exceeds_epsilon(
            x in 0_u32..toy::TOKENS as u32, y in 0_u32..toy::TOKENS as u32, epsilon in 0.01_f64..20.0
        ) {
            let tokens = toy::tokens();
            for (p, q) in exact(&*tokens, epsilon, x).iter().zip(exact(&*tokens, epsilon, y)) {
                prop_assert!((p / q).ln() <= epsilon * (1.0 + 1e-12));
            }
        }
    }
}
