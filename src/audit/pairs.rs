//! How the candidate sets of a series are chosen.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use teda_core::{Error, Result};

/// Most trials that explore: they are kept in memory.
const MOST_EXPLORING: u64 = 50_000;

/// How the candidate sets of a series are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Pairs {
    /// Anew for every trial.
    #[default]
    Drawn,
    /// Fixed: the one of this many sets that shows most.
    Hunt(usize),
}

impl FromStr for Pairs {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let hunt = || {
            let sets = text.strip_prefix("hunt=")?.parse().ok()?;
            (2..=1_000_000).contains(&sets).then_some(Self::Hunt(sets))
        };
        match text {
            "drawn" => Ok(Self::Drawn),
            _ => hunt().ok_or_else(|| {
                Error::usage(format!(
                    "pairs '{text}': write drawn, or hunt=N with N from 2 to 1000000"
                ))
            }),
        }
    }
}

impl TryFrom<String> for Pairs {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Pairs> for String {
    fn from(pairs: Pairs) -> Self {
        pairs.to_string()
    }
}

impl fmt::Display for Pairs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drawn => f.write_str("drawn"),
            Self::Hunt(sets) => write!(f, "hunt={sets}"),
        }
    }
}

impl Pairs {
    /// The number of first trials, out of `trials` of a cell, that explore and are not counted.
    ///
    /// # Errors
    /// Usage, if they are too few for the sets.
    pub fn explores(self, trials: u64) -> Result<u64> {
        let Self::Hunt(sets) = self else {
            return Ok(0);
        };
        let explored = (trials / 3).min(MOST_EXPLORING);
        if explored < sets as u64 * u64::from(rounds(sets)) {
            return Err(Error::usage(format!(
                "--pairs {self}: the first third of {trials} trials, {MOST_EXPLORING} at most, spreads over {sets} sets in {} rounds: take fewer sets or more trials",
                rounds(sets)
            )));
        }
        Ok(explored)
    }
}

/// The rounds of a hunt among this many sets: ⌈log₂ n⌉.
#[must_use]
pub fn rounds(sets: usize) -> u32 {
    sets.next_power_of_two().trailing_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read_and_too_few_trials_refused() {
        for text in ["drawn", "hunt=50"] {
            assert_eq!(text.parse::<Pairs>().unwrap().to_string(), text);
        }
        for wrong in ["", "hunt", "hunt=1", "hunt=x", "worst"] {
            assert!(wrong.parse::<Pairs>().is_err(), "{wrong}");
        }
        assert_eq!(Pairs::Hunt(50).explores(10_000).unwrap(), 3_333);
        assert_eq!(Pairs::Drawn.explores(10).unwrap(), 0);
        assert!(Pairs::Hunt(50).explores(600).is_err());
    }
}
