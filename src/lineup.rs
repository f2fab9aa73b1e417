//! Which attacks judge the trials of a series, and which estimator judges an attack, where the user leaves that
//! open.
//!
//! # Definition
//! `--attack auto` is `learned` and `embedding`, and `likelihood-ratio` where the mechanism knows exactly how likely
//! its releases are. `learned` is left out, with a note, where it cannot be had: of trials that are too few, of a
//! series that stops by what it sees or keeps no rows, and for estimators that read likelihoods. `--estimator
//! auto` is `abstain` for attacks that learn, whose scores are calibrated, and `teda` for others; `anytime` where
//! a series stops by what it sees.

use teda_attacks::Choice;
use teda_core::estimator::{self, Needs};
use teda_core::{Error, Likelihood, Mechanism, Result};

use crate::config::{Config, Keep, TEDA};
use crate::hunt::Pairs;
use crate::outside;
use crate::until::{ANYTIME, Until};

/// The name of what is chosen here.
pub const AUTO: &str = "auto";

const LEARNED: &str = "learned";
const EMBEDDING: &str = "embedding";
const LIKELIHOOD_RATIO: &str = "likelihood-ratio";

/// The attacks of a series.
pub struct Lineup {
    /// In the order of their cells.
    pub attacks: Vec<Choice>,
    /// Why one that belongs there is not, where it is not.
    pub note: Option<String>,
}

impl Lineup {
    /// The attacks on `mechanism`, which is called `name`.
    ///
    /// # Errors
    /// Usage, for an attack that is asked for and cannot judge these trials.
    pub fn new(config: &Config, name: &str, mechanism: &dyn Mechanism) -> Result<Self> {
        if config.attacks != [AUTO] {
            let attacks = config.attacks.iter().map(|attack| Choice::parse(attack));
            let attacks: Vec<Choice> = attacks.collect::<Result<_>>()?;
            attacks
                .iter()
                .try_for_each(|attack| learnable(config, attack).map(|_| ()))?;
            return Ok(Self {
                attacks,
                note: None,
            });
        }
        let mut attacks = Vec::new();
        let learned = Choice::parse(LEARNED)?;
        let note = match learnable(config, &learned) {
            Ok(_) => {
                attacks.push(learned);
                None
            }
            Err(reason) => Some(format!("without '{LEARNED}': {reason}")),
        };
        if config.pairs != Pairs::Drawn && !attacks.is_empty() {
            // A hunt is one attack's.
            return Ok(Self { attacks, note });
        }
        attacks.push(Choice::parse(EMBEDDING)?);
        // A program cannot be asked whether it knows likelihoods, only for one.
        let exact = mechanism.likelihood().is_some_and(Likelihood::is_exact);
        let hunts = config.pairs != Pairs::Drawn;
        if exact && !outside::is_outside(name) && !is_plain(config) && !hunts {
            attacks.push(Choice::parse(LIKELIHOOD_RATIO)?);
        }
        Ok(Self { attacks, note })
    }

    /// Whether an attack of these needs to know how likely releases are.
    #[must_use]
    pub fn needs_likelihoods(&self) -> bool {
        self.attacks.iter().any(|attack| attack.entry.likelihoods)
    }
}

/// Whether the audit is of the kind that has the one plain attack by default: it stops by what it sees, or keeps
/// no rows.
fn is_plain(config: &Config) -> bool {
    config.until != Until::Trials || config.keep == Keep::Counts
}

/// The trials that an attack learns from, 0 for one that does not.
///
/// # Errors
/// Usage, where it learns and cannot do so in this audit, with the reason.
pub fn learnable(config: &Config, attack: &Choice) -> Result<u64> {
    if !attack.entry.learns() {
        return Ok(0);
    }
    let refused = |why: &str| {
        Err(Error::usage(format!(
            "the attack '{attack}' learns from the first of a fixed number of trials: {why}"
        )))
    };
    if config.until != Until::Trials {
        return refused("with --until nobody knows how many there will be");
    }
    if config.keep == Keep::Counts {
        return refused("with --keep counts there are no rows to learn from");
    }
    if let Ok(estimator) = estimator::named(&config.estimator)
        && estimator.needs == Needs::Likelihoods
    {
        return refused(&format!(
            "the estimator '{}' reads the mechanism's likelihoods, which it does not use; take one that counts guesses",
            config.estimator
        ));
    }
    match config.pairs {
        Pairs::Drawn => attack.learns_from(config.trials),
        // What looks for the pair is what it learns from.
        Pairs::Hunt(_) => config.pairs.explores(config.trials),
    }
}

/// The estimator of an attack's cell.
#[must_use]
pub fn estimator_of<'a>(asked: &'a str, until: Until, attack: &Choice) -> &'a str {
    match (asked, until, attack.entry.learns()) {
        (AUTO, Until::Trials, true) => "abstain",
        (AUTO, Until::Trials, false) => TEDA,
        (AUTO, Until::Decided | Until::Width(_), _) => ANYTIME,
        (asked, ..) => asked,
    }
}
