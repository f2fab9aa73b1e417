//! A success rate monitored for any length of time: Robbins' mixture for Bernoulli trials.
//!
//! # Definition
//! After s successes in t trials, K(q) is the likelihood ratio against the success rate q, averaged
//! over the rates above q by Jeffreys' prior:
//! ln K(q) = ln B(½+s, ½+t−s) + ln(1 − I_q(½+s, ½+t−s)) − ln B(½, ½) − ln(1 − I_q(½, ½))
//! − s ln q − (t−s) ln(1−q). In the angle θ with q = sin²θ it is a plain average over (θ, π/2), and
//! that is how it is computed. q is refuted when K(q) ≥ 1/tail; the lower limit is the supremum of the
//! refuted q. The upper limit is one minus the lower limit of the failures. For k candidates,
//! ε ≤ claim means q ≤ (e^ε + (k−1)δ)/(e^ε + k−1).
//!
//! # Guarantee
//! As long as each trial succeeds with conditional probability at most q given the past, K(q) is a
//! non-negative supermartingale that starts at 1, so it ever reaches 1/tail with probability at most
//! tail = α/2 (Ville). K falls in q wherever it exceeds 1, so all refuted q lie below one limit, and
//! that single event covers all times and all q. Lower and upper limit spend α/2 each, as the two
//! sides of an interval at level α.
//!
//! # Source
//! Robbins (1970), "Statistical methods related to the law of the iterated logarithm"; Howard,
//! Ramdas, McAuliffe & Sekhon (2021), "Time-uniform, nonparametric, nonasymptotic confidence
//! sequences": the one-sided beta-binomial mixture.
//!
//! # Deviations
//! ln K is lowered by 10⁻⁸, which exceeds the errors of its quadrature and rounding where K is near 1/tail, up to 10⁹
//! trials.

use super::evidence::Counted;
use super::{Assurance, Bound, Estimator, Level, Needs, check_guess, teda};
use crate::ConfusionMatrix;
use crate::stats::angle::Angle;
use crate::stats::binomial::Probability;
use crate::stats::quadrature;

/// The estimator that may be looked at any time.
pub const ESTIMATOR: Estimator = Estimator {
    name: "anytime",
    summary: "success rate of the forced guess, valid however often it is looked at and whenever the audit stops",
    spends: "alpha/2 on one mixture over all times",
    assurance: Assurance::Confidence,
    needs: Needs::Guesses,
    supports: |_| Ok(()),
    begin: |design| Counted::begin(design, bound),
};

fn bound(matrix: &ConfusionMatrix, level: Level, delta: f64) -> Bound {
    let (k, trials) = (matrix.k(), matrix.trials());
    let epsilon = |hits| Anytime::from_counts(level, hits, trials).epsilon_lower_limit(k, delta);
    Bound {
        epsilon: epsilon(matrix.hits()),
        ceiling: epsilon(trials),
    }
}

/// Subtracted from ln K for rounding.
const ALLOWANCE: f64 = 1e-8;

/// Successes and trials so far, at a level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Anytime {
    level: Level,
    successes: u64,
    trials: u64,
}

impl Anytime {
    /// The state before the first trial.
    #[must_use]
    pub fn new(level: Level) -> Self {
        Self::from_counts(level, 0, 0)
    }

    /// The state after `trials` trials with `successes` successes.
    ///
    /// # Panics
    /// If successes > trials.
    #[must_use]
    pub fn from_counts(level: Level, successes: u64, trials: u64) -> Self {
        assert!(
            successes <= trials,
            "{successes} successes in {trials} trials"
        );
        Self {
            level,
            successes,
            trials,
        }
    }

    /// Counts one trial.
    pub fn observe(&mut self, success: bool) {
        self.trials += 1;
        self.successes += u64::from(success);
    }

    /// Successes so far.
    #[must_use]
    pub fn successes(&self) -> u64 {
        self.successes
    }

    /// Trials so far.
    #[must_use]
    pub fn trials(&self) -> u64 {
        self.trials
    }

    /// ln K(q): the evidence, in nats, against a success rate of at most q; 0 without trials, −∞
    /// against q = 1.
    #[must_use]
    pub fn ln_evidence(&self, q: Probability) -> f64 {
        ln_evidence(self.successes, self.trials, q)
    }

    /// Whether "ε ≤ `claim` at δ" is refuted by forced guesses among `k` candidates.
    ///
    /// # Panics
    /// If k < 2, the claim is negative or NaN, or δ is outside [0, 1).
    #[must_use]
    pub fn refutes(&self, k: usize, claim: f64, delta: f64) -> bool {
        self.ln_evidence(success_limit(k, claim, delta)) >= self.target()
    }

    /// The lower limit of the success rate, valid at all times simultaneously. 0 without successes.
    #[must_use]
    pub fn lower_limit(&self) -> Probability {
        lower_limit(self.successes, self.trials, self.target())
    }

    /// The upper limit of the success rate, valid at all times simultaneously. 1 without failures.
    #[must_use]
    pub fn upper_limit(&self) -> Probability {
        lower_limit(self.trials - self.successes, self.trials, self.target()).complement()
    }

    /// ε ≥ this with confidence 1 − α/2, for forced guesses among `k` candidates at δ.
    ///
    /// # Panics
    /// If k < 2 or δ is outside [0, 1).
    #[must_use]
    pub fn epsilon_lower_limit(&self, k: usize, delta: f64) -> f64 {
        epsilon(self.lower_limit(), k, delta)
    }

    /// With confidence 1 − α/2 the success rate proves no more than this ε, however long the audit
    /// goes on: a limit on what this attack can show, not on the mechanism's ε. ∞ without failures.
    ///
    /// # Panics
    /// If k < 2 or δ is outside [0, 1).
    #[must_use]
    pub fn epsilon_upper_limit(&self, k: usize, delta: f64) -> f64 {
        epsilon(self.upper_limit(), k, delta)
    }

    /// The evidence needed to refute.
    fn target(&self) -> f64 {
        ALLOWANCE - self.level.tail().ln()
    }
}

/// The ε implied by a success rate.
fn epsilon(rate: Probability, k: usize, delta: f64) -> f64 {
    check_guess(k, delta);
    teda::shown(rate, k, delta)
}

/// The highest success probability of a forced guess among `k` candidates under (ε, δ).
///
/// # Panics
/// If k < 2, ε is negative or NaN, or δ is outside [0, 1).
#[must_use]
pub fn success_limit(k: usize, epsilon: f64, delta: f64) -> Probability {
    check_guess(k, delta);
    assert!(epsilon >= 0.0, "ε = {epsilon} is no privacy budget");
    let others = (k as f64 - 1.0) * (-epsilon).exp();
    Probability {
        p: (1.0 + others * delta) / (1.0 + others),
        q: others * (1.0 - delta) / (1.0 + others),
    }
}

fn ln_evidence(successes: u64, trials: u64, q: Probability) -> f64 {
    if trials == 0 {
        return 0.0;
    }
    if q.q <= 0.0 {
        return f64::NEG_INFINITY;
    }
    let (s, f) = (successes as f64, (trials - successes) as f64);
    if q.p <= 0.0 {
        return if successes == 0 { 0.0 } else { f64::INFINITY };
    }
    let start = Angle::of(q);
    let whole = start.remainder();
    let best = Angle::of(Probability {
        p: s / trials as f64,
        q: f / trials as f64,
    });
    // The peak of the likelihood above q, and the range around it down to e⁻¹⁶ of it. What is cut off only lowers K.
    let peak = (best.radians() - start.radians()).max(0.0);
    let reach = 4.0 / (trials as f64).sqrt();
    let fall = -start.slope(s, f);
    let end = if peak > 0.0 || fall <= 0.0 {
        peak + reach
    } else {
        reach.min(32.0 / fall)
    };
    let highest = start.ln_likelihood_ratio(s, f, peak);
    let average = quadrature::integral((peak - reach).max(0.0), end.min(whole), 6, |shift| {
        (start.ln_likelihood_ratio(s, f, shift) - highest).exp()
    }) / whole;
    highest + average.ln()
}

/// The largest q, to the last digits of its log-odds, whose evidence reaches the target.
fn lower_limit(successes: u64, trials: u64, target: f64) -> Probability {
    if successes == 0 {
        return Probability { p: 0.0, q: 1.0 };
    }
    let at = |log_odds: f64| Probability {
        p: 1.0 / (1.0 + (-log_odds).exp()),
        q: 1.0 / (1.0 + log_odds.exp()),
    };
    // A limit beyond this is farther from 0 or 1 than any rate that the counts can distinguish from it.
    let reach = (trials as f64).ln() + target + 40.0;
    let (mut low, mut high) = (-reach, reach);
    while high - low > 1e-12 * reach {
        let middle = 0.5 * (low + high);
        if ln_evidence(successes, trials, at(middle)) >= target {
            low = middle;
        } else {
            high = middle;
        }
    }
    at(low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use proptest::prelude::*;

    fn rate(p: f64) -> Probability {
        Probability { p, q: 1.0 - p }
    }

    fn level() -> Level {
        Level::new(0.01).unwrap()
    }

    /// The formula with incomplete Beta functions, in 40-digit arithmetic.
    #[test]
    fn evidence_at_known_points() {
        for (s, t, q, expected) in [
            (0, 0, 0.5, 0.0),
            (3, 3, 0.5, 1.575_730_651_954_62),
            (10, 10, 0.9, 0.750_383_831_624_202),
            (30, 43, 0.6, -0.495_988_448_314_509),
            (0, 10, 0.3, -2.696_565_531_590_75),
            (90, 150, 0.5, 0.973_610_432_665_443),
            (60, 150, 0.5, -3.978_753_322_364_83),
        ] {
            let found = ln_evidence(s, t, rate(q));
            assert!((found - expected).abs() < 2e-7, "{s}/{t} at {q}: {found}");
        }
    }

    /// The same in a range where the incomplete Beta functions would lose every digit.
    #[test]
    fn evidence_at_a_billion_trials() {
        for (s, q, expected) in [
            (950_000_000, 0.949_96, 8.186_728_025_534_99),
            (999_900_000, 0.999_898, 14.198_680_474_545_1),
            (1_000_000, 0.000_994, 7.523_197_951_759_12),
            (999_999_990, 0.999_999_9, 64.893_195_072_068_6),
            (500_000_000, 0.499_9, 10.105_595_993_210_3),
        ] {
            let found = ln_evidence(s, 1_000_000_000, rate(q));
            // The complement of q has no more digits than 1 − q.
            assert!((found - expected).abs() < 2e-6, "{s} at {q}: {found}");
        }
    }

    proptest! {
        #[test]
        fn evidence_is_finite_and_falls_in_q_where_it_counts(t in 1_u64..1_000_000_000, share in 0.0_f64..=1.0, x in -25.0_f64..25.0, step in 0.001_f64..1.0) {
            let s = ((t as f64 * share) as u64).min(t);
            let at = |x: f64| Probability { p: 1.0 / (1.0 + (-x).exp()), q: 1.0 / (1.0 + x.exp()) };
            let (near, far) = (ln_evidence(s, t, at(x)), ln_evidence(s, t, at(x + step)));
            prop_assert!(near.is_finite() && far.is_finite());
            prop_assert!(near >= far || far <= 1e-6, "{near} {far}");
        }

        /// The defining equation of the limits, and their mirror.
        #[test]
        fn limits_solve_their_equation(t in 1_u64..1_000_000_000, share in 0.0_f64..=1.0) {
            let s = ((t as f64 * share) as u64).min(t);
            let rate = Anytime::from_counts(level(), s, t);
            let (low, high) = (rate.lower_limit(), rate.upper_limit());
            prop_assert!(low.p <= s as f64 / t as f64 && high.p >= s as f64 / t as f64);
            if s > 0 {
                let attained = rate.ln_evidence(low);
                prop_assert!(attained >= 200.0_f64.ln() && attained < 200.0_f64.ln() + 1e-4, "{attained}");
            } else {
                prop_assert_eq!(low.p, 0.0);
            }
            prop_assert_eq!(high.q, Anytime::from_counts(level(), t - s, t).lower_limit().p);
        }

        #[test]
        fn more_successes_never_lower_the_bound(t in 2_u64..5_000, share in 0.0_f64..1.0) {
            let s = (t as f64 * share) as u64;
            let at = |s| Anytime::from_counts(level(), s, t).epsilon_lower_limit(4, 0.0);
            prop_assert!(at(s + 1) >= at(s) - 1e-9);
        }

        #[test]
        fn a_claim_is_refuted_exactly_below_the_limit(t in 1_u64..100_000, share in 0.4_f64..=1.0, k in 2_usize..20, delta in 0.0_f64..0.2) {
            let s = ((t as f64 * share) as u64).min(t);
            let rate = Anytime::from_counts(level(), s, t);
            let limit = rate.epsilon_lower_limit(k, delta);
            prop_assert!(!rate.refutes(k, limit + 1e-6, delta));
            prop_assert!(limit < 1e-6 || rate.refutes(k, limit - 1e-6, delta));
        }
    }

    #[test]
    fn the_ends_are_never_nan() {
        let empty = Anytime::new(level());
        assert_eq!((empty.lower_limit().p, empty.upper_limit().p), (0.0, 1.0));
        assert_eq!(empty.epsilon_lower_limit(2, 0.0), 0.0);
        assert_eq!(empty.epsilon_upper_limit(2, 0.0), f64::INFINITY);
        let all = Anytime::from_counts(level(), 1_000_000_000, 1_000_000_000);
        assert!(all.lower_limit().q > 5e-9 && all.lower_limit().q < 2e-7);
        assert!(!all.refutes(2, 800.0, 0.0) && !all.refutes(2, f64::INFINITY, 0.0));
        assert!(all.refutes(2, 10.0, 0.0));
        assert_eq!(success_limit(4, 0.0, 0.0).p, 0.25);
    }

    /// True ε = 2 against a claim of 1 at a tail of 0.05: 43 trials decide half of the audits (the
    /// share is 0.518 there and 0.453 after 37, with none between).
    #[test]
    fn a_false_claim_is_refuted_after_few_trials() {
        let truth = success_limit(2, 2.0, 0.0).p;
        let decided = (0..4_000)
            .filter(|run| {
                let mut stream = Seed::root(43).at(*run).stream();
                let mut watched = Anytime::new(Level::new(0.1).unwrap());
                (0..43).any(|_| {
                    watched.observe(stream.uniform() < truth);
                    watched.refutes(2, 1.0, 0.0)
                })
            })
            .count();
        // Three standard deviations of the share are 0.024.
        assert!((1_976..=2_168).contains(&decided), "{decided}");
    }
}
