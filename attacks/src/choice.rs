//! An attack as named by the user, such as `embedding` or `learned:share=0.3,most=50000`, or as supplied by a program.

use std::fmt;
use std::sync::Arc;

use teda_core::{Attack, Error, Learner, Result};

use crate::entry::{Build, Context, Entry};
use crate::registry::entry;

/// An attack with its options.
#[derive(Clone)]
pub struct Choice {
    maker: Maker,
    training: Training,
}

/// Where an attack comes from.
#[derive(Clone)]
enum Maker {
    Registered(&'static Entry),
    /// A program's own; without the attack itself if it was named by a stored run.
    Own(Arc<str>, Option<Built>),
    /// A program's own that is made of the audit's texts and models.
    Made(Arc<str>, Arc<Make>),
}

/// Makes an attack of what those of the registry are made of.
pub type Make = dyn Fn(&Context) -> Result<Box<dyn Attack>> + Send + Sync;

/// Prefix of the name of a program's own attack where a stored run names it.
const OWN: &str = "own:";

/// An attack that is built.
#[derive(Clone)]
pub enum Built {
    /// It scores using only what it knows beforehand.
    Scores(Arc<dyn Attack>),
    /// It learns from the first trials of a series.
    Learns(Arc<dyn Learner>),
}

/// How many trials a learning attack learns from.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Training {
    /// This share of a series' trials, rounded up …
    share: f64,
    /// … but at most this many.
    most: u64,
}

const TRAINING: Training = Training {
    share: 0.3,
    most: 50_000,
};

/// Fewest trials that an attack can learn from.
const FEWEST: u64 = 200;

impl Choice {
    /// Parses the name of an attack, with options.
    ///
    /// # Errors
    /// Usage, for an unknown name or option, or a value out of range.
    pub fn parse(text: &str) -> Result<Self> {
        if let Some(name) = text.strip_prefix(OWN) {
            return Ok(Self {
                maker: Maker::Own(name.into(), None),
                training: TRAINING,
            });
        }
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
        Ok(Self {
            maker: Maker::Registered(entry),
            training,
        })
    }

    /// A program's own attack, under a name that no attack of the registry has.
    ///
    /// # Errors
    /// Usage, for a name that the registry has, or one that is empty.
    pub fn own(name: &str, attack: Built) -> Result<Self> {
        Self::under(name, |name| Maker::Own(name, Some(attack)))
    }

    /// A program's own attack that is made of the audit's texts and models, under a name that no attack of the
    /// registry has.
    ///
    /// # Errors
    /// As for [`Self::own`].
    pub fn made(name: &str, make: Arc<Make>) -> Result<Self> {
        Self::under(name, |name| Maker::Made(name, make))
    }

    fn under(name: &str, maker: impl FnOnce(Arc<str>) -> Maker) -> Result<Self> {
        if name.is_empty() || entry(name).is_ok() {
            return Err(Error::usage(format!(
                "the name '{name}' cannot be an attack's own: it is empty or another attack's"
            )));
        }
        Ok(Self {
            maker: maker(name.into()),
            training: TRAINING,
        })
    }

    /// The text that [`Self::parse`] reads back: its name, and whether it is a program's own.
    #[must_use]
    pub fn written(&self) -> String {
        match &self.maker {
            Maker::Registered(_) => self.to_string(),
            Maker::Own(name, _) | Maker::Made(name, _) => format!("{OWN}{name}"),
        }
    }

    /// Whether it learns from the first trials of a series, and judges once all are made.
    #[must_use]
    pub fn learns(&self) -> bool {
        match &self.maker {
            Maker::Registered(entry) => entry.learns(),
            Maker::Own(_, attack) => matches!(attack, Some(Built::Learns(_))),
            Maker::Made(..) => false,
        }
    }

    /// Whether it needs the mechanism's own likelihoods.
    #[must_use]
    pub fn needs_likelihoods(&self) -> bool {
        matches!(&self.maker, Maker::Registered(entry) if entry.likelihoods)
    }

    /// Whether what it sees is the noisy latent between text and release, and not the release.
    #[must_use]
    pub fn sees_latent(&self) -> bool {
        matches!(&self.maker, Maker::Registered(entry) if entry.latent)
    }

    /// Whether it writes sources back, so that rows say how much of them comes back.
    #[must_use]
    pub fn reads(&self) -> bool {
        matches!(&self.maker, Maker::Registered(entry) if entry.reads)
    }

    /// Whether it needs a language model, which judges or writes.
    #[must_use]
    pub fn needs_judge(&self) -> bool {
        matches!(&self.maker, Maker::Registered(entry) if entry.judge)
    }

    /// An instance.
    ///
    /// # Errors
    /// If the context lacks what it needs.
    pub fn build(&self, context: &Context) -> Result<Built> {
        Ok(match &self.maker {
            Maker::Registered(entry) => match entry.build {
                Build::Scores(build) => Built::Scores(build(context)?.into()),
                Build::Learns(build) => Built::Learns(build(context)?.into()),
            },
            Maker::Made(_, make) => Built::Scores(make(context)?.into()),
            Maker::Own(name, attack) => attack.clone().ok_or_else(|| {
                Error::usage(format!(
                    "'{name}' is an attack of the program that made the run: only that program can guess with it"
                ))
            })?,
        })
    }

    /// Splits a list of names at commas, except for commas between the options of one attack.
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

    /// How many of the first of `trials` trials of a series it learns from: 0 if it does not learn.
    ///
    /// # Errors
    /// Usage, if they are too few to learn from, or no trials are left to judge.
    pub fn learns_from(&self, trials: u64) -> Result<u64> {
        if !self.learns() {
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
                _ => return wrong("a share must be between 0 and 1"),
            },
            Some(("most", value)) => match value.parse() {
                Ok(most) if most >= FEWEST => self.most = most,
                _ => return wrong("this is not a valid number of trials"),
            },
            _ => return wrong("unknown"),
        }
        Ok(())
    }
}

impl PartialEq for Choice {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl fmt::Debug for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Its name, without options that have their default values.
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
        f.write_str(match &self.maker {
            Maker::Registered(entry) => entry.name,
            Maker::Own(name, _) | Maker::Made(name, _) => name,
        })?;
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
