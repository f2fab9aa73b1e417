//! Rao-Blackwell: counts the probability of a hit instead of the hit.
//!
//! # Definition
//! (i) If P(y|v) is known, the trial counts X = P(y|guess)/Σ_j P(y|v_j), the posterior probability of the guess under
//! the uniform secret, instead of 0 or 1; tied guesses share it equally. (ii) If a release is drawn with known
//! probabilities π_j from finished texts y_j, it counts X = Σ_j π_j·1[A(y_j) = secret]. ε̂ = ln((k−1)(p − δ)/(1 − p))
//! as for the forced guess, p the betting lower limit of the mean of X.
//!
//! # Guarantee
//! In both cases X lies in [0, 1] and has the mean of the hit it replaces, given the candidates: (i)
//! averages over the secret given the release, (ii) over the last draw. One limit for a bounded mean,
//! which spends α/2; Clopper-Pearson would not do, since X is not 0 or 1. Each trial counts once:
//! the finished texts of (ii) are one trial, and re-used releases are not new ones.
//!
//! # Source
//! Rao (1945), Blackwell (1947); the limit: [`betting`](crate::stats::betting).
//!
//! # Deviations
//! X is rounded down by a relative 2·10⁻¹⁵, more than the error of its sums.
//!
//! # Errors
//! Failed, if likelihoods are fewer than two, NaN, +∞ or all 0, if probabilities are negative or do not sum to 1, and
//! if a guess is missing or is not a candidate.

use super::evidence::{self, Design, Evidence, Observed};
use super::{Assurance, Bound, Estimator, Level, Needs, check_delta, likelihoods, teda};
use crate::stats::betting::{Betting, Horizon};
use crate::stats::binomial::Probability;
use crate::{Error, Result};

/// The estimator by posterior probabilities.
pub const ESTIMATOR: Estimator = Estimator {
    name: "rao-blackwell",
    summary: "the probability, given the release, that the guess is right, in place of whether it was",
    spends: "alpha/2 on one betting limit",
    assurance: Assurance::Confidence,
    needs: Needs::Likelihoods,
    supports: |_| Ok(()),
    begin: |design| Box::new(Posteriors::new(design)),
};

/// Trials, each represented by the probability of its guess.
struct Posteriors {
    design: Design,
    bound: RaoBlackwell,
    /// The same trials as if every guess had been certain.
    ceiling: RaoBlackwell,
}

impl Posteriors {
    fn new(design: Design) -> Self {
        let horizon = Horizon::Trials(design.trials);
        let bound = RaoBlackwell::new(design.k, design.level, horizon);
        Self {
            design,
            ceiling: bound.clone(),
            bound,
        }
    }
}

impl Evidence for Posteriors {
    /// Without a release or scores the guess is random: right with probability 1/k.
    fn record(&mut self, trial: &Observed<'_>) -> Result<()> {
        let hit = if trial.failure.is_some() {
            1.0 / self.design.k as f64
        } else {
            let likelihoods = evidence::likelihoods(ESTIMATOR.name, trial)?;
            hit_probability(likelihoods, &[trial.guess])?
        };
        self.bound.observe(hit);
        self.ceiling.observe(1.0);
        Ok(())
    }

    fn bound(&self) -> Bound {
        Bound {
            epsilon: self.bound.bound(self.design.delta),
            ceiling: self.ceiling.bound(self.design.delta),
        }
    }
}

/// The possible error of the sums of X.
const ROUNDING: f64 = 2e-15;

/// The posterior probability of the guess: `log_likelihoods` holds ln P(y|v_j) of every candidate, −∞ where y is
/// impossible, and `guesses` holds the candidates with the highest score, more than one if they are tied.
///
/// # Errors
/// Failed, for fewer than two likelihoods, if any is NaN or +∞, if all are 0, and for guesses that are missing or not
/// candidates.
pub fn hit_probability(log_likelihoods: &[f64], guesses: &[usize]) -> Result<f64> {
    let highest = likelihoods::highest(log_likelihoods)?;
    if guesses.is_empty() || guesses.iter().any(|guess| *guess >= log_likelihoods.len()) {
        return Err(Error::failed(format!(
            "guesses {guesses:?} among {} candidates",
            log_likelihoods.len()
        )));
    }
    let weight = |ln: f64| (ln - highest).exp();
    let total: f64 = log_likelihoods.iter().map(|ln| weight(*ln)).sum();
    let guessed: f64 = guesses.iter().map(|i| weight(log_likelihoods[*i])).sum();
    Ok(rounded_down(guessed / guesses.len() as f64 / total))
}

/// The probability of a hit over the last draw of a mechanism: `probabilities` holds π_j of each finished text, and
/// `hits` the share of the guess on it that is right (0 or 1, or in between if scores tie).
///
/// # Errors
/// Failed, if the lengths differ, a probability or share is outside [0, 1], or the probabilities do not sum to 1
/// within 10⁻⁹.
pub fn final_draw_probability(probabilities: &[f64], hits: &[f64]) -> Result<f64> {
    let is_share = |x: &f64| (0.0..=1.0).contains(x);
    if probabilities.len() != hits.len() || !probabilities.iter().chain(hits).all(is_share) {
        return Err(Error::failed(format!(
            "probabilities {probabilities:?} with hits {hits:?}"
        )));
    }
    let total: f64 = probabilities.iter().sum();
    if (total - 1.0).abs() > 1e-9 {
        return Err(Error::failed(format!(
            "probabilities of finished texts sum to {total}, not 1"
        )));
    }
    let hit: f64 = probabilities.iter().zip(hits).map(|(p, h)| p * h).sum();
    Ok(rounded_down(hit / total))
}

fn rounded_down(x: f64) -> f64 {
    (x * (1.0 - ROUNDING)).clamp(0.0, 1.0)
}

/// The streaming bound.
#[derive(Debug, Clone)]
pub struct RaoBlackwell {
    k: usize,
    betting: Betting,
}

impl RaoBlackwell {
    /// The state before any trial, for `k` candidates.
    ///
    /// # Panics
    /// If k < 2.
    #[must_use]
    pub fn new(k: usize, level: Level, horizon: Horizon) -> Self {
        assert!(k >= 2, "a guess needs 2 candidates, not {k}");
        Self {
            k,
            betting: Betting::new(level.tail(), horizon),
        }
    }

    /// Adds the next trial's X, in the order of the trials.
    ///
    /// # Panics
    /// If X is NaN or outside [0, 1].
    pub fn observe(&mut self, hit_probability: f64) {
        self.betting.observe(hit_probability);
    }

    /// The lower limit of the success rate.
    #[must_use]
    pub fn success_limit(&self) -> Probability {
        self.betting.lower_limit()
    }

    /// ε ≥ this with confidence 1 − α/2 at δ = `delta`, even if it is looked at after every trial.
    ///
    /// # Panics
    /// If δ is outside [0, 1).
    #[must_use]
    pub fn bound(&self, delta: f64) -> f64 {
        check_delta(delta);
        teda::shown(self.success_limit(), self.k, delta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use proptest::prelude::*;

    #[test]
    fn the_posterior_survives_extreme_likelihoods() {
        let none = f64::NEG_INFINITY;
        for (ln, guesses, expected) in [
            (vec![0.0, 0.0], vec![0], 0.5),
            (vec![-1e6, -1e6 - 3_f64.ln()], vec![0], 0.75),
            (vec![700.0, none, none], vec![0], 1.0),
            (vec![700.0, none, none], vec![1], 0.0),
            (vec![-5.0, -5.0, none], vec![0, 1], 0.5),
            (vec![-1.0, -1.0 - 2_f64.ln(), none], vec![0, 2], 1.0 / 3.0),
        ] {
            let found = hit_probability(&ln, &guesses).unwrap();
            assert!((found - expected).abs() < 1e-9, "{ln:?}: {found}");
        }
        for (ln, guesses) in [
            (vec![0.0, 0.0], vec![]),
            (vec![0.0, 0.0], vec![2]),
            (vec![none, none], vec![0]),
            (vec![f64::NAN, 0.0], vec![1]),
        ] {
            assert!(matches!(
                hit_probability(&ln, &guesses),
                Err(Error::Failed(_))
            ));
        }
    }

    #[test]
    fn the_last_draw_is_averaged() {
        let found = final_draw_probability(&[0.5, 0.3, 0.2], &[1.0, 0.0, 0.5]).unwrap();
        assert!((found - 0.6).abs() < 1e-12 && found <= 0.6);
        for (p, hits) in [
            (vec![0.5, 0.4], vec![1.0, 0.0]),
            (vec![1.0], vec![1.0, 0.0]),
            (vec![1.5, -0.5], vec![1.0, 0.0]),
            (vec![1.0], vec![f64::NAN]),
        ] {
            assert!(matches!(
                final_draw_probability(&p, &hits),
                Err(Error::Failed(_))
            ));
        }
    }

    /// A release that tells a little in every trial: the forced guess sees a coin of 0.55, while the posterior barely
    /// varies, and its limit is nearly at the mean.
    #[test]
    fn a_steady_posterior_shows_more_than_hits_do() {
        let level = Level::new(0.01).unwrap();
        let mut stream = Seed::root(5).stream();
        let mut bound = RaoBlackwell::new(2, level, Horizon::Trials(2_000));
        let mut hits = 0;
        for _ in 0..2_000 {
            let x = hit_probability(&[0.2 + 0.02 * stream.uniform(), 0.0], &[0]).unwrap();
            hits += u64::from(stream.uniform() < x);
            bound.observe(x);
        }
        let forced = teda::forced_choice(2, hits, 2_000, level.tail(), 0.0);
        let found = bound.bound(0.0);
        assert!(
            forced < 0.15 && found > 0.19 && found < 0.21,
            "{forced} {found}"
        );
        assert!(bound.bound(0.05) < found && bound.bound(0.9) == 0.0);
    }

    proptest! {
        #[test]
        fn posteriors_sum_to_one_from_below(ln in proptest::collection::vec(-800.0_f64..800.0, 2..9)) {
            let each: Vec<f64> = (0..ln.len()).map(|i| hit_probability(&ln, &[i]).unwrap()).collect();
            let total: f64 = each.iter().sum();
            prop_assert!((total - 1.0).abs() < 1e-13);
            let all: Vec<usize> = (0..ln.len()).collect();
            let shared = hit_probability(&ln, &all).unwrap();
            prop_assert!((shared * ln.len() as f64 - 1.0).abs() < 1e-13);
        }
    }
}
