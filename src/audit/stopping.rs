//! When a cell stops: after its trials, or as soon as it is decided.
//!
//! # Definition
//! With [L, U] the any-time valid interval of the attack's ε after t trials (Robbins' mixture, α/2 per side):
//! - `decided`: L exceeds the claim, which is then refuted, or U does not, so that this attack will not
//!   refute it; a cell without a claim runs all its trials;
//! - `width=W`: U − L ≤ W.
//!
//! # Guarantee
//! The interval holds at all times simultaneously, so that stopping by it, or looking at it earlier, costs nothing.
//! When it is looked at depends on t alone: after every trial up to 64, then 64 times while t doubles. The trials of a
//! stopped cell are therefore the same for any batch size and number of threads.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use teda_core::estimator::Level;
use teda_core::estimator::anytime::{self, Anytime};
use teda_core::{ConfusionMatrix, Error, Result};
use teda_results::CellPlan;

/// A stopping rule.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Until {
    /// After all trials.
    #[default]
    Trials,
    /// Once the claim is refuted, or will not be refuted.
    Decided,
    /// Once the interval is no wider than this.
    Width(f64),
}

impl FromStr for Until {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let width = || {
            let width: f64 = text.strip_prefix("width=")?.parse().ok()?;
            (width > 0.0 && width.is_finite()).then_some(Self::Width(width))
        };
        match text {
            "trials" => Ok(Self::Trials),
            "decided" => Ok(Self::Decided),
            _ => width().ok_or_else(|| {
                Error::usage(format!(
                    "until '{text}': write trials, decided, or width=W with W above 0"
                ))
            }),
        }
    }
}

impl TryFrom<String> for Until {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Until> for String {
    fn from(until: Until) -> Self {
        until.to_string()
    }
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trials => f.write_str("trials"),
            Self::Decided => f.write_str("decided"),
            Self::Width(width) => write!(f, "width={width}"),
        }
    }
}

/// The any-time valid interval of an attack's ε, which may be shown while a run goes on.
///
/// # Errors
/// Usage, for a level that a valid plan cannot hold.
pub fn interval(cell: &CellPlan, matrix: &ConfusionMatrix) -> Result<(f64, f64)> {
    let rate = watched(cell, matrix)?;
    Ok((
        rate.epsilon_lower_limit(matrix.k(), cell.delta),
        rate.epsilon_upper_limit(matrix.k(), cell.delta),
    ))
}

/// The estimator that may be looked at while an audit runs.
pub const ANYTIME: &str = "anytime";

impl Until {
    /// Whether the estimator's bound holds for a cell that stops by this rule: a rule that looks at what was seen
    /// needs an any-time valid estimator.
    #[must_use]
    pub fn allows(self, estimator: &str) -> bool {
        self == Self::Trials || estimator == ANYTIME
    }

    /// Whether a cell with these counts stops here.
    ///
    /// # Errors
    /// Usage, for a level that a valid plan cannot hold.
    pub fn stops(self, cell: &CellPlan, matrix: &ConfusionMatrix) -> Result<bool> {
        if self == Self::Trials || !is_looked_at(matrix.trials()) {
            return Ok(false);
        }
        match (self, cell.claimed_epsilon) {
            (Self::Decided, Some(claim)) => {
                let rate = watched(cell, matrix)?;
                let (k, delta) = (matrix.k(), cell.delta);
                let allowed = anytime::success_limit(k, claim, delta);
                Ok(rate.refutes(k, claim, delta) || rate.upper_limit().p <= allowed.p)
            }
            (Self::Width(width), _) => {
                let (low, high) = interval(cell, matrix)?;
                Ok(high - low <= width)
            }
            _ => Ok(false),
        }
    }
}

fn watched(cell: &CellPlan, matrix: &ConfusionMatrix) -> Result<Anytime> {
    let level = Level::new(cell.alpha)?;
    Ok(Anytime::from_counts(level, matrix.hits(), matrix.trials()))
}

/// Every trial up to 64, then every t whose binary form is zeros after its first 7 digits.
fn is_looked_at(trials: u64) -> bool {
    let digits = u64::BITS - trials.leading_zeros();
    trials > 0 && trials.trailing_zeros() + 7 >= digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_written() {
        for text in ["trials", "decided", "width=0.1"] {
            assert_eq!(text.parse::<Until>().unwrap().to_string(), text);
        }
        for wrong in ["", "width=0", "width=-1", "width=NaN", "width=inf", "soon"] {
            assert!(
                matches!(wrong.parse::<Until>(), Err(Error::Usage(_))),
                "{wrong}"
            );
        }
    }

    #[test]
    fn looks_become_rarer_as_trials_grow() {
        assert!((1..=128).all(is_looked_at));
        let looks = |from: u64| (from..2 * from).filter(|t| is_looked_at(*t)).count();
        assert_eq!((looks(1 << 10), looks(1 << 20)), (64, 64));
    }
}
