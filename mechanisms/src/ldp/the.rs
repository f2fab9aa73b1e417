//! `the`: thresholding with histogram encoding.
//!
//! # Definition
//! Bit i is 1 if 1[i = x] + Laplace(2/ε) > θ, for each of K categories independently: the report of `she` cut at θ ∈
//! [0, 1]. So it is unary encoding ([`Unary`]) with p = 1 − ½e^{−ε(1−θ)/2} and q = ½e^{−εθ/2}. By default θ is the
//! value in [½, 1] with the least variance of the frequency estimate, q(1−q)/(p−q)².
//!
//! # Guarantee
//! ε-LDP between any two texts of the domain: post-processing of `she`. Not tight: the greatest
//! ratio of probabilities is p(1−q) / (q(1−p)), which is e^{0.47}, e^{0.90}, e^{1.64} and e^{2.86}
//! for ε = ½, 1, 2 and 4 at the default θ. An audit of the bits can find no more. Proven.
//!
//! # Source
//! Wang et al. (USENIX Security 2017), Section 4.3.
//!
//! # Deviations
//! Bits are tossed with their exact probabilities instead of by cutting noise: the same distribution, without the
//! noise's rounding. They are resolved to 2⁻³² of the rarer side's probability ([`Coin`]). The client cuts its own
//! report; if a server does so, the report to audit is that of `she`.

use std::f64::consts::LN_2;

use teda_core::Parameter;

use super::protocol::Local;
use super::unary::Unary;
use crate::entry::Entry;
use crate::noise::coin::Coin;

pub const ENTRY: Entry = Entry {
    name: "the",
    summary: "histogram encoding cut at a threshold: one bit a text",
    source: "Wang et al. (USENIX Security 2017), Section 4.3",
    parameters: &[THRESHOLD],
    build: &|context, epsilon, settings| {
        let claim = (epsilon, 0.0);
        let threshold = match settings.get(THRESHOLD.name) {
            0.0 => optimum(epsilon),
            given => given,
        };
        Ok(Box::new(Local::new(context, "'the'", claim, |size| {
            encoding(epsilon, threshold, size)
        })?))
    },
    ..Entry::PROTOCOL
};

const THRESHOLD: Parameter = Parameter::number(
    "threshold",
    0.0,
    [0.0, 1.0],
    "where noisy counts are cut; 0: at the point from 0.5 to 1 of least variance",
);

fn encoding(epsilon: f64, threshold: f64, size: usize) -> Unary {
    let own = Coin::new(false, -LN_2 - epsilon * (1.0 - threshold) / 2.0);
    let other = Coin::new(true, -LN_2 - epsilon * threshold / 2.0);
    Unary::new(size, own, other)
}

/// ln of q(1−q)/(p−q)², the variance of a frequency of 0 in units of 1/n.
fn ln_variance(epsilon: f64, threshold: f64) -> f64 {
    let q = (-epsilon * threshold / 2.0).exp() / 2.0;
    let gap = 1.0 - (-epsilon * (1.0 - threshold) / 2.0).exp() / 2.0 - q;
    -LN_2 - epsilon * threshold / 2.0 + (-q).ln_1p() - 2.0 * gap.ln()
}

/// The θ in [½, 1] with the least variance, by golden section: the variance has one minimum there.
fn optimum(epsilon: f64) -> f64 {
    let golden = (5_f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (0.5, 1.0);
    while high - low > 1e-9 {
        let (left, right) = (high - golden * (high - low), low + golden * (high - low));
        if ln_variance(epsilon, left) < ln_variance(epsilon, right) {
            high = right;
        } else {
            low = left;
        }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use teda_core::Seed;

    use super::*;
    use crate::ldp::histogram::Histogram;
    use crate::ldp::she::Laplace;
    use crate::ldp::unary::tests::assert_bits;

    #[test]
    fn bits_have_the_papers_probabilities() {
        for (epsilon, threshold) in [(0.5, 1.0), (2.0, 0.75), (4.0, 0.5)] {
            let p = 1.0 - f64::exp(epsilon * (threshold - 1.0) / 2.0) / 2.0;
            let q = f64::exp(-epsilon * threshold / 2.0) / 2.0;
            assert_bits(|size| encoding(epsilon, threshold, size), p, q, "the");
        }
    }

    #[test]
    fn a_bit_is_as_often_1_as_the_noisy_count_exceeds_the_threshold() {
        let (epsilon, threshold, draws) = (1.5, 0.7, 50_000);
        let she = Histogram::new(2, Laplace::of_sensitivity(2.0, epsilon));
        let mut stream = Seed::root(25).stream();
        let mut ones = [0.0; 2];
        for _ in 0..draws {
            for (count, y) in ones.iter_mut().zip(she.vector(0, &mut stream)) {
                *count += f64::from(u8::from(y > threshold));
            }
        }
        let p = 1.0 - f64::exp(epsilon * (threshold - 1.0) / 2.0) / 2.0;
        let q = f64::exp(-epsilon * threshold / 2.0) / 2.0;
        for (seen, p) in ones.iter().zip([p, q]) {
            let n = f64::from(draws);
            // Four standard deviations.
            assert!(
                (seen - n * p).abs() < 4.0 * (n * p * (1.0 - p)).sqrt(),
                "{ones:?}"
            );
        }
    }

    /// The paper's own formula for the variance, on a grid of thresholds.
    #[test]
    fn no_threshold_has_less_variance_than_the_default() {
        for epsilon in [0.1, 0.5, 1.0, 2.0, 4.0, 20.0] {
            let variance = |theta: f64| {
                let e = |power: f64| f64::exp(epsilon * power);
                (2.0 * e(theta / 2.0) - 1.0) / (1.0 + e(theta - 0.5) - 2.0 * e(theta / 2.0)).powi(2)
            };
            let least = variance(optimum(epsilon));
            for i in 0..=1000 {
                let other = variance(0.5 + f64::from(i) / 2000.0);
                assert!(least <= other * (1.0 + 1e-9), "{epsilon}: {least}, {other}");
            }
        }
    }

    /// The greatest ratios stated in the header.
    #[test]
    fn the_losses_at_the_default_are_as_stated() {
        for (epsilon, stated) in [(0.5, 0.47), (1.0, 0.90), (2.0, 1.64), (4.0, 2.86)] {
            let loss = encoding(epsilon, optimum(epsilon), 2).loss();
            assert!((loss - stated).abs() < 0.005, "{epsilon}: {loss}");
        }
    }

    proptest! {
        #[test]
        fn the_loss_never_exceeds_epsilon(epsilon in 1e-3_f64..3000.0, threshold in 0.0_f64..=1.0) {
            prop_assert!(encoding(epsilon, threshold, 2).loss() <= epsilon * (1.0 + 1e-12));
        }
    }
}
