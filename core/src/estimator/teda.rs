//! TeDA's estimator: the forced guess among k candidates.
//!
//! # Definition
//! ε̂ = max(0, ln((k−1)(p − δ) / (1 − p))), p the Clopper-Pearson lower limit of the success rate at
//! tail α/2; 0 where p ≤ δ.
//!
//! # Why it is a bound
//! The secret is uniform over the set and independent of everything else. Under (ε, δ)-LDP each
//! P[A = i | i] ≤ e^ε P[A = i | j] + δ for every j ≠ i; averaging over i and the k−1 values of j
//! gives, with h the probability of a hit, (k−1)h ≤ e^ε (1 − h) + (k−1)δ.
//!
//! # Source
//! TeDA (arXiv 2603.22968), Section 3.3 and Appendix A; its ceiling of 7.54 at k = 2 and 10⁴ trials
//! fixes the two-sided convention for α.

use super::evidence::Counted;
use super::{Assurance, Bound, Estimator, Level, Needs, positive_ln_ratio};
use crate::ConfusionMatrix;
use crate::stats::binomial::{self, Probability};

/// The pooled forced-choice estimator.
pub const ESTIMATOR: Estimator = Estimator {
    name: "teda",
    summary: "success rate of the forced guess, all candidates pooled",
    spends: "alpha/2 on one Clopper-Pearson limit",
    assurance: Assurance::Confidence,
    needs: Needs::Guesses,
    supports: |_| Ok(()),
    begin: |design| Counted::begin(design, bound),
};

/// The bound from a matrix.
#[must_use]
pub fn bound(matrix: &ConfusionMatrix, level: Level, delta: f64) -> Bound {
    let epsilon = |hits| forced_choice(matrix.k(), hits, matrix.trials(), level.tail(), delta);
    Bound {
        epsilon: epsilon(matrix.hits()),
        ceiling: epsilon(matrix.trials()),
    }
}

/// ε̂ for `hits` of `trials` among k candidates at one-sided `tail`; 0 without trials.
pub(super) fn forced_choice(k: usize, hits: u64, trials: u64, tail: f64, delta: f64) -> f64 {
    if trials == 0 {
        return 0.0;
    }
    shown(binomial::lower_limit(hits, trials, tail), k, delta)
}

/// The ε implied by a success rate of guesses among k candidates.
pub(super) fn shown(rate: Probability, k: usize, delta: f64) -> f64 {
    positive_ln_ratio((k as f64 - 1.0) * (rate.p - delta), rate.q)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// α = 0.01.
    const TAIL: f64 = 0.005;

    #[test]
    fn the_published_ceilings() {
        let ceiling = |k, n| forced_choice(k, n, n, TAIL, 0.0);
        for (k, trials, expected, tolerance) in [
            (2, 10_000, 7.5427, 5e-5),
            (2, 1_000_000, 12.148, 5e-4),
            (4, 10_000, 8.641, 5e-4),
            (8, 10_000, 9.489, 5e-4),
            (16, 10_000, 10.251, 5e-4),
        ] {
            let found = ceiling(k, trials);
            assert!(
                (found - expected).abs() <= tolerance,
                "k={k}, T={trials}: {found}"
            );
        }
    }

    #[test]
    fn nothing_is_shown_at_or_below_chance() {
        for k in [2, 4, 16] {
            let chance = 10_000 / k as u64;
            assert_eq!(forced_choice(k, chance, 10_000, TAIL, 0.0), 0.0);
            assert_eq!(forced_choice(k, 0, 10_000, TAIL, 0.0), 0.0);
        }
        assert_eq!(forced_choice(2, 0, 0, TAIL, 0.0), 0.0);
    }

    #[test]
    fn delta_lowers_the_bound_and_can_remove_it() {
        let at = |delta| forced_choice(2, 9_000, 10_000, TAIL, delta);
        assert!(at(0.0) > at(0.01) && at(0.01) > at(0.5));
        assert_eq!(at(0.95), 0.0);
    }

    /// Randomised response at its expected count: the figures of Arcolezi & Gambs' setting.
    #[test]
    fn randomised_response_at_its_mean() {
        for (epsilon, expected) in [(0.5_f64, 0.496), (1.0, 0.996), (2.0, 1.994), (4.0, 3.986)] {
            let trials = 2_000_000_u64;
            let rate = 1.0 / (1.0 + (-epsilon).exp());
            let hits = (trials as f64 * rate).round() as u64;
            let found = forced_choice(2, hits, trials, TAIL, 0.0);
            assert!((found - expected).abs() < 6e-4, "{epsilon}: {found}");
        }
    }
}
