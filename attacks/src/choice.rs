//! An attack as it is named: `embedding`, `learned:share=0.3,most=50000`.

use std::fmt;

use teda_core::{Error, Result};

use crate::registry::{Entry, entry};

/// An attack with its options.
#[derive(Clone, Copy)]
pub struct Choice {
    /// Its line in the registry.
    pub entry: &'static Entry,
    training: Training,
}

/// How many trials an attack that learns learns from.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Training {
    /// This share of a series' trials, rounded up …
    share: f64,
    /// … and at most so many.
    most: u64,
}

const TRAINING: Training = Training {
    share: 0.3,
    most: 50_000,
};

/// Trials that an attack needs to learn from at least.
const FEWEST: u64 = 200;

impl Choice {
    /// The attack that `text` names.
    ///
    /// # Errors
    /// Usage, for an unknown name or option, or a value out of range.
    pub fn parse(text: &str) -> Result<Self> {
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        let entry = entry(name)?;
        let mut training = TRAINING;
        for option in options.split(',').filter(|option| !option.is_empty()) {
            if !entry.learns() {
                return Err(Error::usage(format!(
                    "attack '{text}': '{name}' has no options"
                )));
            }
            training
                .set(option)
                .map_err(|e| e.context(format!("attack '{text}'")))?;
        }
        Ok(Self { entry, training })
    }

    /// The names in a list with commas between them, of which some stand between the options of one attack.
    #[must_use]
    pub fn split(list: &str) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for part in list.split(',') {
            match names.last_mut() {
                Some(last) if last.contains(':') && part.contains('=') && !part.contains(':') => {
                    *last += ",";
                    *last += part;
                }
                _ => names.push(part.to_owned()),
            }
        }
        names
    }

    /// Of a series of `trials`, the first so many that it learns from: none, where it does not learn.
    ///
    /// # Errors
    /// Usage, where they are too few to learn from, or none are left to judge.
    pub fn learns_from(&self, trials: u64) -> Result<u64> {
        if !self.entry.learns() {
            return Ok(0);
        }
        let Training { share, most } = self.training;
        let first = ((share * trials as f64).ceil() as u64).min(most);
        if first < FEWEST {
            return Err(Error::usage(format!(
                "the attack '{self}' learns from {share} of {trials} trials, at most {most}; these are {first}, and it needs {FEWEST} at least"
            )));
        }
        if first >= trials {
            return Err(Error::usage(format!(
                "the attack '{self}' learns from all {trials} trials, and none are left to be judged"
            )));
        }
        Ok(first)
    }
}

impl Training {
    fn set(&mut self, option: &str) -> Result<()> {
        let wrong = |what: &str| {
            Err(Error::usage(format!(
                "option '{option}': {what}; the options are share=S (0 < S < 1) and most=N (N at least {FEWEST})"
            )))
        };
        match option.split_once('=') {
            Some(("share", value)) => match value.parse() {
                Ok(share) if 0.0 < share && share < 1.0 => self.share = share,
                _ => return wrong("a share lies between 0 and 1"),
            },
            Some(("most", value)) => match value.parse() {
                Ok(most) if most >= FEWEST => self.most = most,
                _ => return wrong("this is no such number of trials"),
            },
            _ => return wrong("unknown"),
        }
        Ok(())
    }
}

/// As it is named, without options that are the defaults.
impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Training { share, most } = self.training;
        let mut options = Vec::new();
        if share != TRAINING.share {
            options.push(format!("share={share}"));
        }
        if most != TRAINING.most {
            options.push(format!("most={most}"));
        }
        f.write_str(self.entry.name)?;
        if !options.is_empty() {
            write!(f, ":{}", options.join(","))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_keep_the_options_of_an_attack_together() {
        assert_eq!(
            Choice::split("learned:share=0.5,most=900,embedding,random"),
            ["learned:share=0.5,most=900", "embedding", "random"]
        );
        assert_eq!(Choice::split("embedding"), ["embedding"]);
    }

    #[test]
    fn an_attack_that_only_scores_has_no_options() {
        assert_eq!(Choice::parse("random").unwrap().to_string(), "random");
        assert_eq!(Choice::parse("random").unwrap().learns_from(7).unwrap(), 0);
        let refused = |text: &str| Choice::parse(text).map(|c| c.to_string()).unwrap_err();
        assert!(
            refused("random:share=0.5")
                .to_string()
                .contains("has no options")
        );
        assert!(refused("rnadom").to_string().contains("rnadom"));
    }
}
