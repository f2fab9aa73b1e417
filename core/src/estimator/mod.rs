//! Estimators: the trials of a cell in, a lower bound on ε out.
//!
//! Every bound spends α/2 in total, the lower tail of a two-sided interval at level α as in TeDA, regardless of how
//! many limits it combines.

pub mod abstain;
pub mod anytime;
pub mod baseline;
pub mod certificate;
pub mod error_counts;
mod evidence;
pub mod gdp;
mod guesses;
pub mod joint_beta;
mod likelihoods;
pub mod rao_blackwell;
pub mod teda;
pub mod worst_pair;

pub use evidence::{Design, Evidence, Observed};

use crate::{Error, Result};

/// A confidence level as in TeDA: two-sided, with half of it spent by a lower bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level(f64);

impl Level {
    /// A two-sided level.
    ///
    /// # Errors
    /// Usage, unless 0 < alpha < 1.
    pub fn new(alpha: f64) -> Result<Self> {
        if alpha > 0.0 && alpha < 1.0 {
            Ok(Self(alpha))
        } else {
            Err(Error::usage(format!(
                "alpha = {alpha} is no confidence level: it must lie strictly between 0 and 1 (0.01 gives 99 %)"
            )))
        }
    }

    /// The two-sided level α.
    #[must_use]
    pub fn alpha(self) -> f64 {
        self.0
    }

    /// The tail that a lower bound spends: α/2.
    #[must_use]
    pub fn tail(self) -> f64 {
        self.0 / 2.0
    }
}

/// A lower bound on ε, with the most that the same trials could have shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bound {
    /// ε ≥ this with confidence 1 − α/2; 0 if nothing was shown.
    pub epsilon: f64,
    /// The bound if every guess had been right.
    pub ceiling: f64,
}

/// What an estimator needs besides guesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Nothing.
    Guesses,
    /// How likely each release is under each candidate, exactly.
    Likelihoods,
    /// A mechanism that is declared Gaussian.
    Gaussian,
}

/// How sure a bound is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Assurance {
    /// Certain at δ = 0, whatever the attack; at δ > 0 like [`Self::Confidence`].
    Certain,
    /// It exceeds the truth in at most a share of α/2 of all audits.
    Confidence,
    /// It has a posterior probability, and guarantees nothing under repetition.
    Credible,
}

/// A method that turns trials into a lower bound on ε.
pub struct Estimator {
    /// Name on the command line and in results.
    pub name: &'static str,
    /// What the bound is based on, in one line.
    pub summary: &'static str,
    /// How the tail α/2 is spent, in one line.
    pub spends: &'static str,
    /// How sure its bound is.
    pub assurance: Assurance,
    /// What it needs.
    pub needs: Needs,
    /// Checks that it is defined for these candidates and this δ; the error gives the reason if not.
    pub supports: fn(&Design) -> Result<()>,
    /// Evidence with no trial recorded yet.
    pub begin: fn(Design) -> Box<dyn Evidence>,
}

/// Every estimator, in the order of listing.
pub const ALL: &[&Estimator] = &[
    &teda::ESTIMATOR,
    &baseline::ESTIMATOR,
    &abstain::ESTIMATOR,
    &rao_blackwell::ESTIMATOR,
    &certificate::ESTIMATOR,
    &anytime::ESTIMATOR,
    &gdp::ESTIMATOR,
    &joint_beta::ESTIMATOR,
    &worst_pair::BONFERRONI,
    &worst_pair::SPLIT,
];

/// The estimator with this name.
///
/// # Errors
/// Usage, listing the known names.
pub fn named(name: &str) -> Result<&'static Estimator> {
    ALL.iter()
        .copied()
        .find(|estimator| estimator.name == name)
        .ok_or_else(|| {
            let known: Vec<&str> = ALL.iter().map(|estimator| estimator.name).collect();
            Error::unknown("estimator", name, &known)
        })
}

/// # Errors
/// Usage, unless k = 2: `name` compares two hypotheses.
fn two_candidates(name: &str, design: &Design) -> Result<()> {
    if design.k == 2 {
        return Ok(());
    }
    Err(Error::usage(format!(
        "the estimator '{name}' compares two hypotheses: it needs k = 2, not {}. Use --estimator teda for other k",
        design.k
    )))
}

/// ln(numerator / denominator), never negative; 0 if the numerator is not positive.
fn positive_ln_ratio(numerator: f64, denominator: f64) -> f64 {
    if numerator <= 0.0 {
        0.0
    } else {
        (numerator.ln() - denominator.ln()).max(0.0)
    }
}

/// The preconditions of every bound from guesses.
///
/// # Panics
/// If k < 2 or δ is outside [0, 1).
fn check_guess(k: usize, delta: f64) {
    assert!(k >= 2, "a guess needs 2 candidates, not {k}");
    check_delta(delta);
}

/// # Panics
/// If δ is outside [0, 1).
fn check_delta(delta: f64) {
    assert!((0.0..1.0).contains(&delta), "δ = {delta} outside [0, 1)");
}
