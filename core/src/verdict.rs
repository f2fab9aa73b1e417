//! What a bound says about a claim.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::estimator::Bound;
use crate::{Error, Privacy, Result};

/// The outcome of comparing an empirical lower bound with a claim under the same neighbours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The bound is at or below the claim, and could have exceeded it.
    Consistent,
    /// The bound exceeds the claim: at the stated confidence the claim is false.
    Violation,
    /// Even a perfect attack in this many trials could not have exceeded the claim.
    Saturated,
    /// The mechanism claims nothing between such texts.
    NoClaim,
    /// Most of the attack's answers are missing, and those present show nothing.
    Inconclusive,
}

impl Verdict {
    /// The verdict on `claim` from a bound at `delta`. A claim with a larger δ than the audit's implies nothing at the
    /// audit's δ, so it counts as no claim.
    #[must_use]
    pub fn on(claim: Option<Privacy>, bound: Bound, delta: f64) -> Self {
        match claim.filter(|c| c.delta <= delta) {
            None => Self::NoClaim,
            Some(c) if bound.epsilon > c.epsilon => Self::Violation,
            Some(c) if bound.ceiling < c.epsilon => Self::Saturated,
            Some(_) => Self::Consistent,
        }
    }

    /// The same verdict when `missing` of an attack's `trials` answers are missing: inconclusive, if that is more than
    /// half of them and the bound neither exceeds a claim nor, without a claim, is above 0. A bound holds whatever is
    /// missing; finding nothing means nothing in that case.
    #[must_use]
    pub fn without_answers(self, bound: Bound, missing: u64, trials: u64) -> Self {
        let shows = match self {
            Self::Violation => true,
            Self::NoClaim => bound.epsilon > 0.0,
            Self::Consistent | Self::Saturated | Self::Inconclusive => false,
        };
        match Self::is_unanswered(missing, trials) && !shows {
            true => Self::Inconclusive,
            false => self,
        }
    }

    /// Whether so many of `trials` answers are missing that coins were counted for the most part: more than half.
    #[must_use]
    pub fn is_unanswered(missing: u64, trials: u64) -> bool {
        missing > trials / 2
    }

    /// The verdict with this name.
    ///
    /// # Errors
    /// Usage, listing the names.
    pub fn parse(name: &str) -> Result<Self> {
        let all = [
            Self::Consistent,
            Self::Violation,
            Self::Saturated,
            Self::NoClaim,
            Self::Inconclusive,
        ];
        all.into_iter()
            .find(|verdict| verdict.name() == name)
            .ok_or_else(|| Error::unknown("verdict", name, &all.map(Self::name)))
    }

    /// The verdict's name in tables and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Consistent => "consistent",
            Self::Violation => "violation",
            Self::Saturated => "saturated",
            Self::NoClaim => "no-claim",
            Self::Inconclusive => "inconclusive",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_case() {
        let on = |claim: Option<f64>, epsilon, ceiling| {
            let claim = claim.map(|epsilon| Privacy {
                epsilon,
                delta: 0.0,
            });
            Verdict::on(claim, Bound { epsilon, ceiling }, 0.0)
        };
        assert_eq!(on(Some(2.0), 1.9, 7.5), Verdict::Consistent);
        assert_eq!(on(Some(2.0), 2.0, 7.5), Verdict::Consistent);
        assert_eq!(on(Some(2.0), 2.1, 7.5), Verdict::Violation);
        assert_eq!(on(Some(8.0), 7.5, 7.5), Verdict::Saturated);
        assert_eq!(on(None, 7.5, 7.5), Verdict::NoClaim);
    }

    #[test]
    fn half_of_the_answers_are_needed_where_nothing_is_shown() {
        let bound = |epsilon| Bound {
            epsilon,
            ceiling: 7.5,
        };
        let with = |verdict: Verdict, epsilon, missing| {
            verdict.without_answers(bound(epsilon), missing, 100)
        };
        for verdict in [Verdict::Consistent, Verdict::Saturated, Verdict::NoClaim] {
            assert_eq!(with(verdict, 0.0, 50), verdict);
            assert_eq!(with(verdict, 0.0, 51), Verdict::Inconclusive);
        }
        assert_eq!(with(Verdict::Consistent, 0.4, 51), Verdict::Inconclusive);
        assert_eq!(with(Verdict::NoClaim, 0.4, 100), Verdict::NoClaim);
        assert_eq!(with(Verdict::Violation, 0.4, 100), Verdict::Violation);
        assert_eq!(Verdict::parse("inconclusive"), Ok(Verdict::Inconclusive));
    }

    #[test]
    fn a_claim_at_a_larger_delta_is_no_claim() {
        let claim = Some(Privacy {
            epsilon: 1.0,
            delta: 1e-5,
        });
        let bound = Bound {
            epsilon: 3.0,
            ceiling: 7.5,
        };
        assert_eq!(Verdict::on(claim, bound, 0.0), Verdict::NoClaim);
        assert_eq!(Verdict::on(claim, bound, 1e-5), Verdict::Violation);
    }
}
