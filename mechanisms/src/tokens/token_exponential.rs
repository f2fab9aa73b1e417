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
//! With a list of the tokens nearest to each ([`Near`]) in place of V there is no such ε: two lists differ, and so does
//! what can be released.
//!
//! # Source
//! McSherry & Talwar (2007); as phase 1 of PrivRewrite, Applied Sciences 15(22):11930, Section 4.1.
//!
//! # Sampling
//! Exact in two ways. Rejection draws t uniformly from V and accepts it with probability exp((ε/2)(u − 1)) ≥ e^{−ε/2};
//! it examines few tokens if ε is small. Inversion walks along the weights of all of V until their sum exceeds a
//! uniform share of the total, and is used where rejection would examine many.
//!
//! # Numerical ends
//! Weights and sums are in double precision. A draw compares numbers of 53 bits: a token of probability p is drawn with
//! a probability that differs from p by at most (V + 2)·2⁻⁵³ for V tokens (3·10⁻¹² for 30,000). By inversion, tokens of
//! less than 2⁻⁵³ may never be drawn, and a weight below e^{−745} of the greatest counts as 0, which only happens above
//! ε = 1,490. So ε holds up to a δ of (1 + e^ε)(V + 2)·2⁻⁵³ a token. Stated likelihoods are those of exact arithmetic:
//! never −∞ for a token that can be drawn, but finite (below −36) for tokens that cannot. A certificate goes by
//! what is stated.
//!
//! # How it runs
//! For inversion, the sums of a token's weights are kept once they are computed, as far as there is memory
//! ([`Inversion`]). A release is the same with them and without.

use std::sync::Arc;

use teda_core::{Inversion, Stream, TokenMap, dots_of};

use super::inversions::Inversions;
use super::near::{Near, SIDE_BY_SIDE};
use super::token_wise::{self, Weights};
use crate::entry::Context;

/// Below this ε a rejection draw examines e^{ε/2} ≤ 404 tokens on average; V has tens of thousands.
const REJECTION_BELOW: f64 = 12.0;

/// The mechanism at one ε over one vocabulary.
pub struct TokenExponential {
    tokens: Arc<dyn TokenMap>,
    epsilon: f64,
    kept: Inversions,
    /// The tokens that are drawn from, unless it is the whole vocabulary.
    near: Option<Near>,
}

impl TokenExponential {
    /// The mechanism with `epsilon` per token.
    pub fn new(context: &Context, epsilon: f64) -> Self {
        let tokens = context.tokens.clone();
        let (all, released) = (tokens.vectors().nrows(), tokens.released().len());
        Self {
            tokens,
            epsilon,
            kept: Inversions::new(all, released, context.memory.clone()),
            near: None,
        }
    }

    /// The same weights over the `count` tokens nearest to each alone.
    pub fn among(context: &Context, epsilon: f64, count: usize) -> Self {
        Self {
            near: Some(Near::new(context.tokens.clone(), count)),
            ..Self::new(context, epsilon)
        }
    }

    /// The tokens that are drawn from in place of `token`, unless it is the whole vocabulary.
    fn list(&self, token: u32) -> Option<&[u32]> {
        self.near.as_ref()?.of(token)
    }

    /// A token in place of `token`.
    pub fn draw(&self, token: u32, stream: &mut Stream) -> u32 {
        if let Some(list) = self.list(token) {
            return list[stream.softmax(&mut self.weights_of(list, token))];
        }
        if self.epsilon < REJECTION_BELOW {
            self.draw_by_rejection(token, stream)
        } else {
            self.draw_by_inversion(token, stream)
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

    fn draw_by_inversion(&self, token: u32, stream: &mut Stream) -> u32 {
        let released = self.tokens.released();
        let chosen = match self.inversion(token) {
            Some(inversion) => {
                inversion.draw(stream, |place| self.ln_weight(released[place], token))
            }
            None => stream.softmax(&mut self.ln_weights(token)),
        };
        released[chosen]
    }

    /// Computes what draws in place of these tokens will need and is kept, side by side: draws are the same without.
    pub fn prepare(&self, tokens: impl Iterator<Item = u32>) {
        if let Some(near) = &self.near {
            near.prepare(&Vec::from_iter(tokens));
        } else if self.epsilon >= REJECTION_BELOW {
            let missing = self.kept.missing(&Vec::from_iter(tokens));
            for tokens in missing.chunks(SIDE_BY_SIDE) {
                for (token, mut weights) in tokens.iter().zip(self.ln_weights_of(tokens)) {
                    self.kept.of(*token, || Inversion::new(&mut weights));
                }
            }
        }
    }

    /// The sums for draws in place of `token`, unless there is no memory for them.
    fn inversion(&self, token: u32) -> Option<&Inversion> {
        let make = || Inversion::new(&mut self.ln_weights(token));
        self.kept.of(token, make)
    }

    /// (ε/2)·u(t; x) of all released tokens t: [`Weights::ln_weight`] of each, to the bit.
    fn ln_weights(&self, x: u32) -> Vec<f64> {
        self.ln_weights_of(&[x]).next().expect("there is one x")
    }

    /// [`Self::ln_weights`] of each x.
    fn ln_weights_of(&self, xs: &[u32]) -> impl Iterator<Item = Vec<f64>> {
        let vectors = self.tokens.vectors();
        let own: Vec<_> = xs.iter().map(|x| vectors.row(*x as usize)).collect();
        let cosines = dots_of(vectors, self.tokens.released(), &own).into_iter();
        cosines.map(|row| row.into_iter().map(|c| self.scaled(clip(c))).collect())
    }

    /// ln Σ_t exp((ε/2)·u(t; x)), if it follows from a list or from sums that are kept.
    fn kept_ln_sum(&self, x: u32) -> Option<f64> {
        match self.list(x) {
            Some(list) => Some(token_wise::ln_sum(self.weights_of(list, x))),
            None if self.epsilon < REJECTION_BELOW => None,
            None => self.inversion(x).map(Inversion::ln_total),
        }
    }

    /// (ε/2)·u(t; x) of the tokens t of a list.
    fn weights_of(&self, list: &[u32], x: u32) -> Vec<f64> {
        let weight = |t: &u32| self.scaled(self.utility(*t, x));
        list.iter().map(weight).collect()
    }

    /// (ε/2)·u.
    fn scaled(&self, utility: f64) -> f64 {
        self.epsilon / 2.0 * utility
    }

    /// u(t; x) ∈ [0, 1].
    fn utility(&self, t: u32, x: u32) -> f64 {
        let vectors = self.tokens.vectors();
        let (t, x) = (vectors.row(t as usize), vectors.row(x as usize));
        clip(t.dot(&x))
    }
}

/// The utility of a cosine: negative ones count as 0. Clipping also undoes what rounding adds to a cosine of 1;
/// without that, Δu = 1 would not be exact.
fn clip(cosine: f32) -> f64 {
    f64::from(cosine).clamp(0.0, 1.0)
}

impl Weights for TokenExponential {
    /// (ε/2)·u(t; x): Pr[t | x] ∝ its exponential. −∞ outside the list of x, if it has one.
    fn ln_weight(&self, t: u32, x: u32) -> f64 {
        match self.list(x) {
            Some(list) if list.binary_search(&t).is_err() => f64::NEG_INFINITY,
            _ => self.scaled(self.utility(t, x)),
        }
    }

    /// Uses the sums that draws need, too, if they are needed there.
    fn ln_sums(&self, _: &[u32], xs: &[u32]) -> Vec<f64> {
        self.prepare(xs.iter().copied());
        let mut sums = Vec::with_capacity(xs.len());
        for xs in xs.chunks(SIDE_BY_SIDE) {
            let kept: Vec<Option<f64>> = xs.iter().map(|x| self.kept_ln_sum(*x)).collect();
            let is_left = |(x, sum): (&u32, &Option<f64>)| sum.is_none().then_some(*x);
            let left: Vec<u32> = xs.iter().zip(&kept).filter_map(is_left).collect();
            let mut others = self.ln_weights_of(&left).map(token_wise::ln_sum);
            sums.extend(
                kept.into_iter()
                    .filter_map(|sum| sum.or_else(|| others.next())),
            );
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, ArrayView2};
    use proptest::prelude::*;
    use statrs::distribution::{ChiSquared, ContinuousCDF};
    use teda_core::{Query, Seed};

    use super::*;
    use crate::memory::Memory;
    use crate::testing::toy;
    use crate::tokens::em;
    use crate::tokens::token_wise::TokenWise;

    /// Probabilities directly from the definition, in the order of `released`.
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
        let context = toy::context();
        let tokens = context.tokens.clone();
        let draws = 40_000;
        for epsilon in [0.5, 2.0, 8.0, 30.0] {
            for x in [1_u32, 4, toy::UNKNOWN] {
                let mechanism = TokenExponential::new(&context, epsilon);
                let expected = exact(&*tokens, epsilon, x);
                let ways: [fn(&TokenExponential, u32, &mut Stream) -> u32; 2] = [
                    TokenExponential::draw_by_rejection,
                    TokenExponential::draw_by_inversion,
                ];
                for (way, draw) in ways.iter().enumerate() {
                    // Rejection needs e^{ε/2} proposals per draw: 3 million at ε = 30.
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
        let context = toy::context();
        let tokens = context.tokens.clone();
        for epsilon in [0.5, 8.0, 300.0] {
            let mechanism = TokenExponential::new(&context, epsilon);
            for x in 0..toy::TOKENS as u32 {
                for (t, p) in tokens.released().iter().zip(exact(&*tokens, epsilon, x)) {
                    let stated = ln_probability(&mechanism, *t, x);
                    // The cosines in the definition and in the mechanism are rounded differently.
                    assert!((stated - p.ln()).abs() < 1e-6 * epsilon, "{stated}, {p}");
                }
            }
        }
        // Where the weights of other tokens underflow: stated, and never drawn.
        let mechanism = TokenExponential::new(&context, 4_000.0);
        let far = tokens
            .released()
            .iter()
            .copied()
            .find(|t| mechanism.utility(*t, 3) < 0.2);
        let far = far.unwrap();
        let stated = ln_probability(&mechanism, far, 3);
        assert!(stated.is_finite() && stated < -1_500.0, "{stated}");
        let mut stream = Seed::root(4).stream();
        assert!((0..500).all(|_| mechanism.draw(3, &mut stream) != far));
        // Where e^{ε/2} overflows.
        let stated = ln_probability(&TokenExponential::new(&context, 1e5), 3, 3);
        assert!(stated.abs() < 1e-9, "{stated}");
    }

    /// ln Pr[t | x] for texts of one token.
    fn ln_probability(mechanism: &TokenExponential, t: u32, x: u32) -> f64 {
        let (release, text) = (format!("t{t}"), format!("t{x}"));
        let likelihood = TokenWise::new(mechanism.tokens.clone());
        let stated = likelihood.log_likelihood(&[(&release, &text)], mechanism);
        stated.unwrap().remove(0).unwrap()
    }

    /// A vocabulary of a given size, in which tokens are near others as words are; the last token is unknown.
    struct Vocabulary {
        vectors: Array2<f32>,
        released: Vec<u32>,
    }

    impl Vocabulary {
        fn new(tokens: usize) -> Self {
            let mut stream = Seed::root(12).stream();
            let mut vectors: Array2<f32> = Array2::zeros((tokens, 12));
            for token in 0..tokens - 1 {
                // Every fourth is near the one before it.
                let near = if token % 4 == 3 { 0.9 } else { 0.0 };
                for axis in 0..12 {
                    let before = vectors[[token.max(1) - 1, axis]];
                    let own = stream.uniform() as f32 - 0.5;
                    vectors[[token, axis]] = near * before + (1.0 - near) * own;
                }
                let norm = vectors.row(token).dot(&vectors.row(token)).sqrt();
                vectors.row_mut(token).mapv_inplace(|x| x / norm);
            }
            // Not all are released.
            let released = (0..tokens as u32 - 1).filter(|t| t % 50 != 7).collect();
            Self { vectors, released }
        }
    }

    impl TokenMap for Vocabulary {
        fn tokenize(&self, text: &str) -> Vec<u32> {
            let word = |word: &str| word.strip_prefix('t').and_then(|n| n.parse().ok());
            text.split_whitespace()
                .map(|w| word(w).unwrap_or(self.vectors.nrows() as u32 - 1))
                .collect()
        }

        fn detokenize(&self, tokens: &[u32]) -> String {
            let words: Vec<String> = tokens.iter().map(|t| format!("t{t}")).collect();
            words.join(" ")
        }

        fn vectors(&self) -> ArrayView2<'_, f32> {
            self.vectors.view()
        }

        fn released(&self) -> &[u32] {
            &self.released
        }
    }

    /// Releases and likelihoods at every ε, with memory for all tokens, for two, for one and for none.
    #[test]
    fn memory_changes_nothing() {
        let tokens = Arc::new(Vocabulary::new(1_000));
        let context = |bytes| Context {
            tokens: tokens.clone(),
            memory: Memory::new(bytes),
            ..toy::context()
        };
        let each = Inversion::bytes(tokens.released.len());
        // Besides the sums there are slots of a few words per token.
        let mut sizes = (0..).step_by(64);
        let one = sizes.find(|bytes| kept(&context(*bytes), 2) == 1).unwrap();
        let texts = ["t3 t2 t3 t7 t500 what t3", "t7 t3 t1 t8 t8 t9 t998"];
        for epsilon in [0.5, 5.0, 12.0, 20.0, 100.0, 1_000.0] {
            let of = |bytes: usize| {
                let context = context(bytes);
                let settings = em::ENTRY.settings(None, &[]).unwrap();
                let em = em::ENTRY.instance(&context, Some(epsilon), &settings);
                let em = em.unwrap();
                let queries: Vec<Query<'_>> = (0..40)
                    .map(|i| Query {
                        text: texts[i as usize % 2],
                        seed: Seed::root(3).at(i),
                    })
                    .collect();
                let releases: Vec<String> = em
                    .rewrite(&queries)
                    .unwrap()
                    .into_iter()
                    .map(|release| release.text)
                    .collect();
                let pairs: Vec<(&str, &str)> =
                    releases.iter().map(|text| (&text[..], texts[0])).collect();
                let likelihoods = em.likelihood().unwrap().log_likelihood(&pairs).unwrap();
                let bits: Vec<u64> = likelihoods
                    .into_iter()
                    .map(|likelihood| likelihood.unwrap().to_bits())
                    .collect();
                (releases, bits)
            };
            let without = of(0);
            for bytes in [1, one, one + each, 1 << 30] {
                assert!(of(bytes) == without, "{bytes} bytes at ε={epsilon}");
            }
        }
    }

    /// All weights at once, and each alone.
    #[test]
    fn a_weight_is_the_same_to_the_bit_however_it_is_computed() {
        let context = Context {
            tokens: Arc::new(Vocabulary::new(1_000)),
            ..toy::context()
        };
        let mechanism = TokenExponential::new(&context, 37.0);
        for x in (0..1_000).step_by(37).chain([999]) {
            let alone = context.tokens.released().iter();
            let alone: Vec<f64> = alone.map(|t| mechanism.ln_weight(*t, x)).collect();
            assert_eq!(mechanism.ln_weights(x), alone);
        }
    }

    /// For how many of the first `tokens` tokens the sums are kept.
    fn kept(context: &Context, tokens: u32) -> usize {
        let mechanism = TokenExponential::new(context, 20.0);
        let kept = |token: &u32| mechanism.inversion(*token).is_some();
        (0..tokens).filter(kept).count()
    }

    /// The defect of `em-half-noise`: at twice the claimed ε, some pair of tokens is told apart by more than the
    /// claim, while the mechanism at its own ε stays within it.
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
        /// Privacy itself: no output's probability changes by more than a factor of e^ε between two tokens.
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
