//! Which attacks judge the trials of a series, if the user leaves that open.
//!
//! # Definition
//! `auto` is `learned` and `embedding`, plus `likelihood-ratio` if the mechanism knows exactly how likely its releases
//! are. `learned` is left out, with a note, where it cannot run: with too few trials, in a series that stops by what
//! it sees or keeps no rows, and with estimators that read likelihoods.

use teda_attacks::Choice;
use teda_core::{Error, Likelihood, Mechanism, Result};

use crate::audit::choices::Attacks;
use crate::audit::config::{Config, Keep};
use crate::audit::pairs::Pairs;
use crate::audit::source::Source;
use crate::audit::stopping::Until;

const LEARNED: &str = "learned";
const EMBEDDING: &str = "embedding";
const LIKELIHOOD_RATIO: &str = "likelihood-ratio";

/// The attacks of a series.
pub struct Lineup {
    /// In the order of their cells.
    pub attacks: Vec<Choice>,
    /// Why a default attack was left out, if one was.
    pub note: Option<String>,
}

impl Lineup {
    /// The attacks on `mechanism`, which comes from `source`.
    ///
    /// # Errors
    /// Usage, for an attack that was asked for and cannot judge these trials.
    pub fn new(config: &Config, source: &Source, mechanism: &dyn Mechanism) -> Result<Self> {
        if let Attacks::Named(attacks) = &config.attacks {
            for attack in attacks {
                config.learnable(attack)?;
                if attack.sees_latent() && mechanism.latent().is_none() {
                    return Err(Error::usage(format!(
                        "'{}' makes no latent of a text, which the attack '{attack}' goes by: take another attack for it",
                        config.name_of(source)
                    )));
                }
            }
            return Ok(Self {
                attacks: attacks.clone(),
                note: None,
            });
        }
        let mut attacks = Vec::new();
        let learned = Choice::parse(LEARNED)?;
        let note = match config.learnable(&learned) {
            Ok(_) => {
                attacks.push(learned);
                None
            }
            Err(reason) => Some(format!("without '{LEARNED}': {reason}")),
        };
        if config.pairs != Pairs::Drawn && !attacks.is_empty() {
            // A hunt works for one attack.
            return Ok(Self { attacks, note });
        }
        attacks.push(Choice::parse(EMBEDDING)?);
        // A program does not tell whether it knows likelihoods; it can only be asked for one.
        let exact = mechanism.likelihood().is_some_and(Likelihood::is_exact);
        let hunts = config.pairs != Pairs::Drawn;
        if exact && !source.is_external() && !is_plain(config) && !hunts {
            attacks.push(Choice::parse(LIKELIHOOD_RATIO)?);
        }
        Ok(Self { attacks, note })
    }

    /// The attacks that see releases, and those that see the latent.
    #[must_use]
    pub fn parted(&self) -> [Vec<Choice>; 2] {
        let part = |latent| {
            let attacks = self.attacks.iter();
            let part = attacks.filter(|attack| attack.sees_latent() == latent);
            part.cloned().collect()
        };
        [part(false), part(true)]
    }
}

/// Whether the audit has the single plain attack by default: it stops by what it sees, or keeps no rows.
fn is_plain(config: &Config) -> bool {
    config.until != Until::Trials || config.keep == Keep::Counts
}
