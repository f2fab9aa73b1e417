//! Abstention: the attack guesses only when it is sure.
//!
//! # Definition
//! The attack guesses if its margin is at least τ: r guesses in T trials, v of them right. At δ = 0, ε̂ =
//! ln((k−1)p/(1−p)), p the Clopper-Pearson lower limit of v in r. At δ > 0, ε̂ = ln((k−1)(C − δ)/W), C the lower limit
//! of v in T and W the upper limit of r − v in T. τ is the margin of the tuning trials that maximises the bound
//! expected in the certification.
//!
//! # Guarantee
//! The margin may depend on the release and the candidates, never on the secret. Averaging P(guess i | i) ≤ e^ε
//! P(guess i | j) + δ over i and j gives (k−1)P(right) ≤ e^ε P(wrong) + (k−1)δ, so at δ = 0 each guess is right with
//! probability at most q(ε), given that it is made. This takes one limit at α/2, or two at α/4 each. The tuning trials
//! must be separate from those counted, or τ fixed beforehand: the best of many τ on the same trials is not a bound.
//!
//! # Source
//! Abstention as in Steinke, Nasr & Jagielski (2023), "Privacy auditing with one (1) training run". The choice of τ is
//! our own; its approximate limit: Paulson (1942), the cube root of F.
//!
//! # Deviations
//! The first fifth of the trials, at most 100,000, chooses τ. For an attack that learns, the trials that it learned
//! from choose τ, using the guesses of models that were fitted without them, and all others are counted; τ is then in
//! the middle of the widest gap between two margins at which the expected bound is within a twentieth of the largest.
//!
//! # Errors
//! Failed, if a margin is NaN.

use super::evidence::{Design, Evidence, Observed};
pub use super::guesses::Guesses;
use super::{Assurance, Bound, Estimator, Level, Needs, check_guess, positive_ln_ratio, teda};
use crate::stats::{binomial, normal};
use crate::{Error, Result};

/// The estimator by abstention.
pub const ESTIMATOR: Estimator = Estimator {
    name: "abstain",
    summary: "the attack guesses only where its margin is large; the threshold is chosen on the first trials, which are not counted",
    spends: "alpha/2 on one Clopper-Pearson limit (delta > 0: alpha/4 on each of two)",
    assurance: Assurance::Confidence,
    needs: Needs::Guesses,
    supports: |_| Ok(()),
    begin: |design| Box::new(Abstaining::new(design)),
};

/// One in this many trials chooses the threshold …
const TUNING_SHARE: u64 = 5;
/// … but at most this many: their margins are kept in memory.
const MOST_TUNING: u64 = 100_000;

/// Trials that first choose a threshold and are then counted.
struct Abstaining {
    design: Design,
    /// Trials that choose the threshold.
    first: u64,
    tuning: Vec<(f64, bool)>,
    threshold: Option<f64>,
    guesses: Guesses,
}

impl Abstaining {
    fn new(design: Design) -> Self {
        Self {
            design,
            first: match design.tuning {
                0 => (design.trials / TUNING_SHARE).min(MOST_TUNING),
                given => given,
            },
            tuning: Vec::new(),
            threshold: None,
            guesses: Guesses::default(),
        }
    }

    /// Number of trials that are counted.
    fn counted(&self) -> u64 {
        match self.design.tuning {
            0 => self.design.trials - self.first,
            _ => self.design.trials,
        }
    }

    fn of(&self, guesses: &Guesses) -> f64 {
        bound(guesses, self.design.k, self.design.level, self.design.delta)
    }
}

impl Evidence for Abstaining {
    fn tune(&mut self, trial: &Observed<'_>) -> Result<()> {
        self.tuning.push((trial.margin, trial.hit()));
        Ok(())
    }

    fn record(&mut self, trial: &Observed<'_>) -> Result<()> {
        if (self.tuning.len() as u64) < self.first {
            return self.tune(trial);
        }
        let threshold = if let Some(chosen) = self.threshold {
            chosen
        } else {
            let Design {
                k, level, delta, ..
            } = self.design;
            let counted = self.counted();
            let choose = match self.design.tuning {
                0 => threshold,
                _ => threshold_for_others,
            };
            let chosen = choose(&self.tuning, counted, k, level, delta)?;
            *self.threshold.insert(chosen)
        };
        self.guesses.record(threshold, trial.margin, trial.hit());
        Ok(())
    }

    fn guesses(&self) -> Option<Guesses> {
        Some(self.guesses)
    }

    fn bound(&self) -> Bound {
        let trials = self.guesses.trials;
        Bound {
            epsilon: self.of(&self.guesses),
            ceiling: self.of(&Guesses {
                guessed: trials,
                right: trials,
                trials,
            }),
        }
    }
}

/// ε ≥ this with confidence 1 − α/2 at δ = `delta`, for `k` candidates. 0 without guesses.
///
/// # Panics
/// If k < 2, δ is outside [0, 1), or the counts are not right ≤ guessed ≤ trials.
#[must_use]
pub fn bound(guesses: &Guesses, k: usize, level: Level, delta: f64) -> f64 {
    check_guess(k, delta);
    let Guesses {
        guessed,
        right,
        trials,
    } = *guesses;
    assert!(
        right <= guessed && guessed <= trials,
        "{right} right of {guessed} guesses in {trials} trials"
    );
    if delta == 0.0 {
        return teda::forced_choice(k, right, guessed, level.tail(), 0.0);
    }
    if guessed == 0 {
        return 0.0;
    }
    let tail = level.tail() / 2.0;
    let correct = binomial::lower_limit(right, trials, tail);
    let wrong = binomial::upper_limit(guessed - right, trials, tail);
    positive_ln_ratio((k as f64 - 1.0) * (correct.p - delta), wrong.p)
}

/// The threshold for certifying `trials` further trials, from tuning trials given as (margin, right). It is one of the
/// tuning margins, and includes every equal margin; −∞ (always guess) if there are none.
///
/// # Errors
/// Failed, if a margin is NaN.
///
/// # Panics
/// If k < 2 or δ is outside [0, 1).
pub fn threshold(
    tuning: &[(f64, bool)],
    trials: u64,
    k: usize,
    level: Level,
    delta: f64,
) -> Result<f64> {
    let forecasts = forecasts(tuning, trials, k, level, delta)?;
    let best = greatest(&forecasts);
    let chosen = forecasts.iter().find(|(_, expected)| *expected == best);
    Ok(chosen.map_or(f64::NEG_INFINITY, |(margin, _)| *margin))
}

/// Like [`threshold`], for tuning margins that come from other models than those of the further trials. Such margins
/// are similar but never equal, and the best of many thresholds is partly luck. So among all thresholds whose expected
/// bound is nearly the largest (95 % of it), this one is in the middle of the widest gap: between the last margin that
/// it includes and the first that it leaves out, or 0 after the last. −∞ if no bound is expected.
///
/// # Errors
/// Failed, if a margin is NaN.
///
/// # Panics
/// If k < 2 or δ is outside [0, 1).
fn threshold_for_others(
    tuning: &[(f64, bool)],
    trials: u64,
    k: usize,
    level: Level,
    delta: f64,
) -> Result<f64> {
    let forecasts = forecasts(tuning, trials, k, level, delta)?;
    let most = greatest(&forecasts);
    let mut widest = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    if most > 0.0 {
        for (place, (margin, expected)) in forecasts.iter().enumerate() {
            let next = forecasts.get(place + 1).map_or(0.0, |next| next.0);
            // Among equal gaps, the one that includes more guesses.
            if *expected >= NEARLY * most && margin - next >= widest.0 {
                widest = (margin - next, f64::midpoint(*margin, next));
            }
        }
    }
    Ok(widest.1)
}

/// The share of the best that counts as nearly as good.
const NEARLY: f64 = 0.95;

/// The distinct margins of the tuning, largest first, each with the bound expected if all guesses down to it are made.
fn forecasts(
    tuning: &[(f64, bool)],
    trials: u64,
    k: usize,
    level: Level,
    delta: f64,
) -> Result<Vec<(f64, f64)>> {
    check_guess(k, delta);
    if tuning.iter().any(|(margin, _)| margin.is_nan()) {
        return Err(Error::failed("a margin of the attack is not a number"));
    }
    let mut surest_first = tuning.to_vec();
    surest_first.sort_by(|a, b| b.0.total_cmp(&a.0));
    let forecast = Forecast::new(tuning.len(), trials, k, level, delta);
    let (mut guessed, mut right) = (0, 0);
    // −0 and 0 are the same margin, although they sort apart.
    let expected = |tied: &[(f64, bool)]| {
        guessed += tied.len();
        right += tied.iter().filter(|(_, right)| *right).count();
        (tied[0].0, forecast.bound(guessed, right))
    };
    let margins = surest_first.chunk_by(|a, b| a.0 == b.0);
    Ok(margins.map(expected).collect())
}

fn greatest(forecasts: &[(f64, f64)]) -> f64 {
    let expected = forecasts.iter().map(|(_, expected)| *expected);
    expected.fold(f64::NEG_INFINITY, f64::max)
}

/// What a threshold would show on the certification trials, in closed form: there are as many thresholds as tuning
/// trials, and the exact limit is needed for only one.
struct Forecast {
    scale: f64,
    trials: f64,
    others: f64,
    delta: f64,
    /// Normal quantile of one minus the tail of each limit.
    z: f64,
}

impl Forecast {
    fn new(tuning: usize, trials: u64, k: usize, level: Level, delta: f64) -> Self {
        let tail = if delta == 0.0 {
            level.tail()
        } else {
            level.tail() / 2.0
        };
        Self {
            scale: trials as f64 / tuning as f64,
            trials: trials as f64,
            others: k as f64 - 1.0,
            delta,
            z: -normal::FOR_BOUNDS.quantile(binomial::Probability {
                p: tail,
                q: 1.0 - tail,
            }),
        }
    }

    /// The bound if the tuning's counts repeat themselves, with half an extra error (as in Jeffreys' prior): a few
    /// lucky guesses give no expected bound.
    fn bound(&self, guessed: usize, right: usize) -> f64 {
        let right_there = right as f64 * self.scale;
        let wrong_there = ((guessed - right) as f64 + 0.5) * self.scale;
        if self.delta == 0.0 {
            let odds = self.upper_odds(wrong_there, wrong_there + right_there);
            return (self.others / odds).ln();
        }
        let share = |odds: f64| 1.0 / (1.0 + 1.0 / odds);
        let correct = 1.0 - share(self.upper_odds(self.trials - right_there, self.trials));
        let wrong = share(self.upper_odds(wrong_there.min(self.trials), self.trials));
        if correct > self.delta {
            (self.others * (correct - self.delta) / wrong).ln()
        } else {
            f64::NEG_INFINITY
        }
    }

    /// The Clopper-Pearson upper limit of x in n as odds, by Paulson's approximation to its F quantile; ∞ where the
    /// approximation is undefined.
    fn upper_odds(&self, x: f64, n: f64) -> f64 {
        let rest = n - x;
        let (a, b) = (1.0 / (9.0 * (x + 1.0)), 1.0 / (9.0 * rest));
        let z = self.z;
        let denominator = (1.0 - b).powi(2) - b * z * z;
        if rest < 0.5 || denominator <= 0.0 {
            return f64::INFINITY;
        }
        let spread = (1.0 - a).powi(2) * b + (1.0 - b).powi(2) * a - a * b * z * z;
        let root = ((1.0 - a) * (1.0 - b) + z * spread.max(0.0).sqrt()) / denominator;
        (x + 1.0) / rest * root.powi(3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn level() -> Level {
        Level::new(0.01).unwrap()
    }

    #[test]
    fn without_abstaining_it_is_the_forced_guess() {
        let all = Guesses {
            guessed: 10_000,
            right: 10_000,
            trials: 10_000,
        };
        assert!((bound(&all, 2, level(), 0.0) - 7.5427).abs() < 5e-5);
        assert!((bound(&all, 16, level(), 0.0) - 10.251).abs() < 5e-4);
        assert_eq!(bound(&Guesses::default(), 2, level(), 0.0), 0.0);
        assert_eq!(bound(&Guesses::default(), 2, level(), 0.1), 0.0);
    }

    /// 5000 of 10 000 guessed, 100 of them wrong: ln((C − δ)/W) by its two limits.
    #[test]
    fn at_a_delta_both_limits_are_over_all_trials() {
        let guesses = Guesses {
            guessed: 5_000,
            right: 4_900,
            trials: 10_000,
        };
        let correct = binomial::lower_limit(4_900, 10_000, 0.0025).p;
        let wrong = binomial::upper_limit(100, 10_000, 0.0025).p;
        for (k, delta) in [(2, 0.1), (5, 1e-5)] {
            let expected = ((k as f64 - 1.0) * (correct - delta) / wrong).ln();
            let found = bound(&guesses, k, level(), delta);
            assert!((found - expected).abs() < 1e-12, "{found}");
        }
        assert_eq!(bound(&guesses, 2, level(), 0.6), 0.0);
    }

    /// Sure guesses are right, the others are coin flips: the threshold is in between, and includes all of the equal
    /// margins.
    #[test]
    fn the_threshold_separates_sure_guesses_from_coin_flips() {
        let tuning: Vec<(f64, bool)> = (0..2_000)
            .map(|i| {
                if i % 4 == 0 {
                    (3.0, i % 100 != 0)
                } else {
                    (1.0, i % 2 == 0)
                }
            })
            .collect();
        for delta in [0.0, 0.01] {
            let chosen = threshold(&tuning, 2_000, 2, level(), delta).unwrap();
            assert_eq!(chosen, 3.0);
        }
        let mut guesses = Guesses::default();
        for (margin, right) in &tuning {
            guesses.record(3.0, *margin, *right);
        }
        assert_eq!(
            (guesses.guessed, guesses.right, guesses.trials),
            (500, 480, 2_000)
        );
    }

    #[test]
    fn few_lucky_guesses_do_not_win() {
        let tuning: Vec<(f64, bool)> = (0..1_000).map(|i| (f64::from(-i), i % 10 != 3)).collect();
        let chosen = threshold(&tuning, 1_000_000, 2, level(), 0.0).unwrap();
        assert!(chosen < -100.0, "{chosen}");
    }

    #[test]
    fn margins_may_be_infinite_or_equal_but_numbers() {
        let at = |tuning: &[(f64, bool)]| threshold(tuning, 100, 2, level(), 0.0);
        assert_eq!(at(&[]).unwrap(), f64::NEG_INFINITY);
        assert_eq!(at(&[(0.0, true), (-0.0, true)]).unwrap(), 0.0);
        assert!(
            !at(&[(f64::INFINITY, true), (f64::NEG_INFINITY, false)])
                .unwrap()
                .is_nan()
        );
        assert!(matches!(at(&[(f64::NAN, true)]), Err(Error::Failed(_))));
    }

    /// Models that were fitted on other trials have similar margins: what the threshold leaves out is clearly below
    /// it.
    #[test]
    fn a_threshold_for_other_models_takes_what_is_alike() {
        let alike = |i: u32| 1.0 + f64::from(i % 7) * 1e-3;
        let tuning: Vec<(f64, bool)> = (0..3_000).map(|i| (alike(i), i % 4 != 0)).collect();
        let chosen = threshold_for_others(&tuning, 3_000, 2, level(), 0.0).unwrap();
        assert_eq!(chosen, 0.5);
        // Half of the guesses are sure, and the others coin flips.
        let tuning: Vec<(f64, bool)> = (0..3_000)
            .map(|i| match i % 2 {
                0 => (4.0 + alike(i), i % 100 != 0),
                _ => (alike(i), i % 4 == 1),
            })
            .collect();
        let chosen = threshold_for_others(&tuning, 3_000, 2, level(), 0.0).unwrap();
        assert!(chosen > 1.1 && chosen < 4.9, "{chosen}");
        assert_eq!(
            threshold_for_others(&[], 9, 2, level(), 0.0).unwrap(),
            f64::NEG_INFINITY
        );
    }

    proptest! {
        /// The closed form that chooses is close to the limit that certifies.
        #[test]
        fn the_forecast_is_near_the_exact_bound(n in 20_u64..20_000, share in 0.5_f64..1.0, k in 2_usize..10) {
            let wrong = (n as f64 * (1.0 - share)) as u64;
            let forecast = Forecast::new(n as usize, n, k, level(), 0.0);
            let odds = forecast.upper_odds(wrong as f64, n as f64);
            let exact = binomial::upper_limit(wrong, n, 0.005);
            prop_assert!((odds / (exact.p / exact.q)).ln().abs() < 0.02);
        }

        #[test]
        fn the_bound_grows_with_right_guesses_and_falls_in_delta(trials in 1_u64..5_000, a in 0.0_f64..=1.0, b in 0.0_f64..1.0, delta in 0.0_f64..0.5, k in 2_usize..10) {
            let guessed = (trials as f64 * a) as u64;
            let right = (guessed as f64 * b) as u64;
            let at = |right, delta| bound(&Guesses { guessed, right, trials }, k, level(), delta);
            prop_assert!(at(right, delta).is_finite());
            prop_assert!(at(guessed, delta) >= at(right, delta));
            prop_assert!(at(right, delta + 0.01) <= at(right, delta));
        }

        /// Whatever the margins, the choice is one of them, and its own counts are what a sort would give.
        #[test]
        fn a_threshold_is_a_margin(tuning in proptest::collection::vec((-3_i32..3, any::<bool>()), 1..60), delta in prop_oneof![Just(0.0), 0.0_f64..0.5]) {
            let tuning: Vec<(f64, bool)> = tuning.into_iter().map(|(m, r)| (f64::from(m), r)).collect();
            let chosen = threshold(&tuning, 500, 3, level(), delta).unwrap();
            prop_assert!(chosen == f64::NEG_INFINITY || tuning.iter().any(|(margin, _)| *margin == chosen));
        }
    }
}
