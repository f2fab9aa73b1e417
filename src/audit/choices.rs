//! What a user can name or leave open: attacks and estimators.

use std::fmt;

use serde::{Deserialize, Serialize};
use teda_attacks::Choice;
use teda_core::estimator::{self, Estimator, Needs};
use teda_core::{Error, Result};

use crate::audit::stopping::{ANYTIME, Until};

/// The name for an automatic choice.
pub const AUTO: &str = "auto";

/// The paper's estimator.
pub const TEDA: &str = "teda";

/// The attacks of an audit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub enum Attacks {
    /// Those that fit each mechanism (`auto`).
    Auto,
    /// The attacks listed.
    Named(Vec<Choice>),
}

impl Attacks {
    /// Parses a list of attack names; `auto` must stand alone.
    ///
    /// # Errors
    /// Usage, for an unknown name or option.
    pub fn parse(names: &[String]) -> Result<Self> {
        if names == [AUTO] {
            return Ok(Self::Auto);
        }
        if names.iter().any(|name| name == AUTO) {
            return Err(Error::usage(
                "attack auto: it names all that fit, so it stands alone",
            ));
        }
        let choices = names.iter().map(|name| Choice::parse(name));
        choices.collect::<Result<_>>().map(Self::Named)
    }

    /// The named attacks; empty where they are chosen later.
    #[must_use]
    pub fn named(&self) -> &[Choice] {
        match self {
            Self::Auto => &[],
            Self::Named(choices) => choices,
        }
    }

    /// The attack of a stored cell, which has its name alone: one of these, which may be the program's own, or one of
    /// the registry.
    ///
    /// # Errors
    /// Usage, for a name that no attack has in this program.
    pub fn called(&self, name: &str) -> Result<Choice> {
        let mut named = self.named().iter();
        match named.find(|choice| choice.to_string() == name) {
            Some(choice) => Ok(choice.clone()),
            None => Choice::parse(name),
        }
    }
}

impl TryFrom<Vec<String>> for Attacks {
    type Error = Error;

    fn try_from(names: Vec<String>) -> Result<Self> {
        Self::parse(&names)
    }
}

impl From<Attacks> for Vec<String> {
    fn from(attacks: Attacks) -> Self {
        match attacks {
            Attacks::Auto => vec![AUTO.to_owned()],
            Attacks::Named(choices) => choices.iter().map(Choice::written).collect(),
        }
    }
}

/// How bounds are computed.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum EstimatorChoice {
    /// By the estimator that fits each attack (`auto`).
    Auto,
    /// By this one.
    Named(&'static Estimator),
}

impl EstimatorChoice {
    /// Parses the name of an estimator, or `auto`.
    ///
    /// # Errors
    /// Usage, for an unknown name.
    pub fn parse(name: &str) -> Result<Self> {
        Ok(match name {
            AUTO => Self::Auto,
            name => Self::Named(estimator::named(name)?),
        })
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => AUTO,
            Self::Named(estimator) => estimator.name,
        }
    }

    /// The estimator for an attack's cell, unless one was named: `anytime` where a series stops by what it sees,
    /// `abstain` for attacks that learn, whose scores are calibrated, and `teda` for others.
    #[must_use]
    pub fn of(self, until: Until, learns: bool) -> &'static str {
        match (self, until, learns) {
            (Self::Named(estimator), ..) => estimator.name,
            (Self::Auto, Until::Trials, true) => "abstain",
            (Self::Auto, Until::Trials, false) => TEDA,
            (Self::Auto, Until::Decided | Until::Width(_), _) => ANYTIME,
        }
    }

    /// What it needs; guesses if none was named.
    #[must_use]
    pub fn needs(self) -> Needs {
        match self {
            Self::Auto => Needs::Guesses,
            Self::Named(estimator) => estimator.needs,
        }
    }
}

impl PartialEq for EstimatorChoice {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl fmt::Debug for EstimatorChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl TryFrom<String> for EstimatorChoice {
    type Error = Error;

    fn try_from(name: String) -> Result<Self> {
        Self::parse(&name)
    }
}

impl From<EstimatorChoice> for String {
    fn from(estimator: EstimatorChoice) -> Self {
        estimator.name().to_owned()
    }
}

/// Refuses a list with duplicates: their cells would hold the same numbers.
pub(super) fn no_repeats<T: PartialEq + std::fmt::Display>(kind: &str, list: &[T]) -> Result<()> {
    for (index, item) in list.iter().enumerate() {
        if list[..index].contains(item) {
            return Err(Error::usage(format!("{kind} {item} is named twice")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(names: &[&str]) -> Result<Attacks> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        Attacks::parse(&names)
    }

    #[test]
    fn attacks_are_written_as_they_were_named() {
        for names in [
            &["auto"][..],
            &["learned:share=0.5", "embedding", "own:mine"],
        ] {
            let attacks = parse(names).unwrap();
            assert_eq!(Vec::<String>::from(attacks), names);
        }
        let own = parse(&["own:mine"]).unwrap();
        assert_eq!(own.called("mine").unwrap().written(), "own:mine");
        assert_eq!(own.called("length").unwrap().written(), "length");
        assert!(own.called("another").is_err());
        for wrong in [&["auto", "length"][..], &["lenght"]] {
            assert!(matches!(parse(wrong), Err(Error::Usage(_))), "{wrong:?}");
        }
    }

    #[test]
    fn what_is_left_open_fits_the_attack_and_the_rule() {
        let [learned, length] = ["learned", "length"].map(|name| Choice::parse(name).unwrap());
        let auto = EstimatorChoice::parse("auto").unwrap();
        assert_eq!(auto.of(Until::Trials, learned.learns()), "abstain");
        assert_eq!(auto.of(Until::Trials, length.learns()), "teda");
        assert_eq!(auto.of(Until::Decided, length.learns()), "anytime");
        let named = EstimatorChoice::parse("baseline").unwrap();
        assert_eq!(named.of(Until::Trials, learned.learns()), "baseline");
        assert!(EstimatorChoice::parse("basline").is_err());
    }
}
