//! The joint Beta interval: a credible lower bound on ε from both error rates together.
//!
//! # Definition
//! FPR and FNR have independent posteriors Beta(½ + errors, ½ + successes). (ε, δ)-DP confines them to lo(x) ≤ FPR ≤
//! hi(x) at FNR = x, with lo(x) = max(0, 1−δ−xe^ε, (1−δ−x)e^−ε) and hi(x) = min(1, 1+(δ−x)e^−ε, δ+(1−x)e^ε). The bound
//! is the ε at which that region has the posterior probability α/2: mass(ε) = ∫₀¹ [F_FPR(hi(x_u)) − F_FPR(lo(x_u))] du
//! = α/2, x_u = F_FNR⁻¹(u); 0 if the region of ε = 0 already has more.
//!
//! # Guarantee
//! Credible, not a confidence bound: under Jeffreys' prior for both rates the posterior probability
//! that ε is below the bound is α/2, all of it on one solve. It need not cover in repetition, and it
//! does not where both constraints bind, as in randomised response: at α = 0.05 it exceeds a true
//! ε = 1 in about 7 % of audits, and at δ = 0 a true ε = 0 in all of them, because there the region
//! has no area. Never derive a verdict from it.
//!
//! # Source
//! Zanella-Béguelin et al. (2023), "Bayesian estimation of differential privacy".
//!
//! # Accuracy
//! The integral is over the angle of FNR, in panels that start where either posterior has its mass or the region has a
//! corner; the bound is right to 2·10⁻⁵ from 1 to 10⁷ trials per side.

use super::error_counts::ErrorCounts;
use super::evidence::Counted;
use super::{Assurance, Bound, Estimator, Level, Needs, check_delta, two_candidates};
use crate::ConfusionMatrix;
use crate::stats::binomial::Probability;
use crate::stats::posterior::{Posterior, rate};
use crate::stats::quadrature;

/// The credible estimator.
pub const ESTIMATOR: Estimator = Estimator {
    name: "joint-beta",
    summary: "CREDIBLE, not a confidence bound: joint posterior of both error rates under Jeffreys' prior",
    spends: "alpha/2 of posterior probability",
    assurance: Assurance::Credible,
    needs: Needs::Guesses,
    supports: |design| two_candidates("joint-beta", design),
    begin: |design| Counted::begin(design, of_tally),
};

/// The bound from a matrix over two candidates.
fn of_tally(matrix: &ConfusionMatrix, level: Level, delta: f64) -> Bound {
    ErrorCounts::bound(matrix, |counts| bound(counts, level, delta))
}

/// ε ≥ this with posterior probability 1 − α/2, at δ = `delta`. 0 without trials on either side.
///
/// # Panics
/// If δ is outside [0, 1).
#[must_use]
pub fn bound(counts: &ErrorCounts, level: Level, delta: f64) -> f64 {
    check_delta(delta);
    if counts.negatives == 0 || counts.positives == 0 {
        return 0.0;
    }
    let tail = level.tail();
    let fpr = Posterior::new(counts.false_positives, counts.negatives, tail);
    let fnr = Posterior::new(counts.false_negatives, counts.positives, tail);
    let enough = |epsilon| Region::new(epsilon, delta).mass(&fpr, &fnr) >= tail;
    if enough(0.0) {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while !enough(high) {
        (low, high) = (high, 2.0 * high);
    }
    while high - low > 1e-6 {
        let middle = 0.5 * (low + high);
        if enough(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    low
}

/// The error rates that (ε, δ)-DP allows.
struct Region {
    grown: f64,
    shrunk: f64,
    delta: f64,
}

impl Region {
    fn new(epsilon: f64, delta: f64) -> Self {
        Self {
            grown: epsilon.exp(),
            shrunk: (-epsilon).exp(),
            delta,
        }
    }

    /// The region's probability under both posteriors.
    fn mass(&self, fpr: &Posterior, fnr: &Posterior) -> f64 {
        let mut breaks: Vec<f64> = self
            .corners()
            .into_iter()
            .chain(fpr.breaks().flat_map(|angle| self.meets(rate(angle))))
            .map(|x| x.clamp(0.0, 1.0).sqrt().asin())
            .filter(|angle| fnr.start() < *angle && *angle < fnr.end())
            .chain(fnr.breaks())
            .collect();
        breaks.sort_by(f64::total_cmp);
        breaks
            .windows(2)
            .map(|ends| {
                quadrature::panel(ends[0], ends[1], |angle| {
                    let (low, high) = self.interval(rate(angle));
                    fnr.density(angle) * (fpr.cdf(high) - fpr.cdf(low)).max(0.0)
                })
            })
            .sum()
    }

    /// Smallest and largest FPR at FNR = `x`, as angles.
    fn interval(&self, x: Probability) -> (f64, f64) {
        let low = ((x.q - self.delta) * self.shrunk)
            .max(1.0 - self.delta - x.p * self.grown)
            .max(0.0);
        let high = (1.0 + (self.delta - x.p) * self.shrunk)
            .min(self.delta + x.q * self.grown)
            .min(1.0);
        (low.sqrt().asin(), high.sqrt().asin())
    }

    /// The FNR at which an end of the interval changes its formula.
    fn corners(&self) -> [f64; 4] {
        [
            (1.0 - self.delta) / (1.0 + self.grown),
            1.0 - self.delta,
            self.delta,
            (1.0 + self.delta * self.shrunk) / (1.0 + self.shrunk),
        ]
    }

    /// The FNR at which either end of the interval is at FPR = `y`.
    fn meets(&self, y: Probability) -> [f64; 2] {
        let low = ((y.q - self.delta) * self.shrunk).max(1.0 - self.delta - y.p * self.grown);
        let high = (self.delta + y.q * self.grown).min(1.0 + (self.delta - y.p) * self.shrunk);
        [low, high]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn randomised_response(epsilon: f64, side: u64) -> ErrorCounts {
        let errors = (side as f64 / (1.0 + epsilon.exp())).round() as u64;
        ErrorCounts::new(errors, side, errors, side)
    }

    /// Bounds at posterior probability 0.05.
    #[test]
    fn randomised_response_at_its_mean() {
        let level = Level::new(0.1).unwrap();
        for (side, epsilon, expected) in [
            (10_000, 1.0, 0.9789),
            (10_000, 2.0, 1.9742),
            (10_000, 4.0, 3.9409),
            (1_000_000, 0.5, 0.4979),
            (1_000_000, 1.0, 0.9979),
            (1_000_000, 2.0, 1.9974),
            (1_000_000, 4.0, 3.9942),
        ] {
            let found = bound(&randomised_response(epsilon, side), level, 0.0);
            assert!((found - expected).abs() < 1e-4, "{epsilon}: {found}");
        }
    }

    /// Against sums over 400 001 points of the angle with another incomplete Beta function, from 1 to 10⁷ trials per
    /// side, at probability 0.005. The last one, at 0.05, also by simulation.
    #[test]
    fn values_of_a_brute_force_reference() {
        for (counts, delta, expected) in [
            ((0, 1, 0, 1), 0.0, 0.024_673_7),
            ((1, 1, 0, 1), 0.0, 0.013_919_9),
            ((0, 10, 0, 10), 0.0, 1.661_379_4),
            ((3, 10, 2, 10), 0.0, 0.045_202_4),
            ((0, 10, 0, 10_000_000), 0.0, 14.689_292_2),
            ((0, 10_000_000, 0, 10), 0.0, 14.689_292_1),
            ((100, 10_000_000, 3, 100), 1e-6, 11.223_334_9),
            ((500, 1_000, 1, 10_000), 0.0, 6.655_247_7),
            ((0, 1_000, 900, 1_000), 0.0, 3.220_250_4),
            ((9_990, 10_000, 9_995, 10_000), 0.0, 6.749_440_0),
            ((10, 1_000, 20, 1_000), 0.01, 3.900_797_7),
            ((300, 10_000, 2_000, 10_000), 0.05, 3.074_918_0),
            ((400, 1_000, 500, 1_000), 0.3, 0.0),
            (
                (180_000, 10_000_000, 179_000, 10_000_000),
                1e-5,
                3.999_277_6,
            ),
            ((0, 10_000_000, 0, 10_000_000), 0.0, 15.627_54),
            ((0, 10_000, 0, 10_000), 0.0, 9.510_630),
        ] {
            let (fp, negatives, fnr, positives) = counts;
            let alpha = if counts == (0, 10_000, 0, 10_000) {
                0.1
            } else {
                0.01
            };
            let found = bound(
                &ErrorCounts::new(fp, negatives, fnr, positives),
                Level::new(alpha).unwrap(),
                delta,
            );
            assert!((found - expected).abs() < 2e-5, "{counts:?}: {found}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Renaming the hypotheses, or the guesses, changes nothing.
        #[test]
        fn the_bound_is_symmetric(n in 1_u64..100_000, m in 1_u64..100_000, a in 0.0_f64..=1.0, b in 0.0_f64..=1.0, delta in 0.0_f64..0.3) {
            let (e, f) = ((n as f64 * a) as u64, (m as f64 * b) as u64);
            let level = Level::new(0.05).unwrap();
            let at = |counts: ErrorCounts| bound(&counts, level, delta);
            let found = at(ErrorCounts::new(e, n, f, m));
            prop_assert!(found.is_finite() && found >= 0.0);
            prop_assert!((found - at(ErrorCounts::new(f, m, e, n))).abs() < 1e-4);
            prop_assert!((found - at(ErrorCounts::new(n - e, n, m - f, m))).abs() < 1e-4);
        }

        #[test]
        fn a_larger_delta_or_a_surer_level_shows_less(n in 1_u64..100_000, share in 0.0_f64..0.5, delta in 0.0_f64..0.3) {
            let e = (n as f64 * share) as u64;
            let counts = ErrorCounts::new(e, n, e, n);
            let at = |alpha, delta| bound(&counts, Level::new(alpha).unwrap(), delta);
            prop_assert!(at(0.05, delta + 0.01) <= at(0.05, delta) + 1e-5);
            prop_assert!(at(0.01, delta) <= at(0.05, delta) + 1e-5);
        }
    }

    #[test]
    fn one_sided_trials_show_nothing() {
        let level = Level::new(0.01).unwrap();
        assert_eq!(bound(&ErrorCounts::new(0, 0, 0, 50), level, 0.0), 0.0);
    }

    #[test]
    fn a_call_takes_milliseconds() {
        for counts in [
            randomised_response(0.1, 10),
            randomised_response(2.0, 10_000_000),
            ErrorCounts::new(0, 10, 0, 10_000_000),
        ] {
            let level = Level::new(0.01).unwrap();
            let quickest = (0..10)
                .map(|_| {
                    let started = std::time::Instant::now();
                    std::hint::black_box(bound(&counts, level, 0.0));
                    started.elapsed()
                })
                .min();
            assert!(quickest < Some(std::time::Duration::from_millis(5)));
        }
    }
}
