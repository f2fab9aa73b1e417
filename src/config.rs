//! The whole configuration of an audit, as the command line gave it and the manifest keeps it.
//!
//! Everything that a result depends on stands here; how fast it is computed (threads, batch) does
//! not, because no result may depend on it.

use std::path::Path;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use teda_attacks::Choice;
use teda_core::estimator::{self, Design, Level};
use teda_core::{Error, Neighbours, Result, Settings};
use teda_datasets::Request;
use teda_mechanisms::Entry;
use teda_results::Manifest;

use crate::hunt::Pairs;
use crate::lineup::{self, AUTO};
use crate::outside::{self, RELEASES};
use crate::until::{ANYTIME, Until};

/// An audit's configuration. Lists span the grid of cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Mechanisms by name.
    pub mechanisms: Vec<String>,
    /// Nominal ε to run; `None` for each mechanism's own grid.
    pub epsilons: Option<Vec<f64>>,
    /// `--set` in the order given.
    pub set: Vec<(String, String)>,
    /// `--preset`.
    pub preset: Option<String>,
    /// What the user claims of mechanisms from outside.
    #[serde(default)]
    pub claim: Option<String>,
    /// Data sets, with the same filters for all.
    pub datasets: Vec<Request>,
    /// Attacks by name, all judging the same releases; `auto` alone for those that fit.
    pub attacks: Vec<String>,
    /// Candidate set sizes.
    pub ks: Vec<usize>,
    /// Sampling temperatures of the candidate sets.
    pub lambdas: Vec<f64>,
    /// The pairs of texts that are told apart.
    pub neighbours: Neighbours,
    /// How candidate sets are chosen among these.
    #[serde(default)]
    pub pairs: Pairs,
    /// Trials of every cell, over all shards.
    pub trials: u64,
    /// Two-sided confidence level.
    pub alpha: f64,
    /// δ of the (ε, δ) that is bounded.
    pub delta: f64,
    /// Estimator by name; `auto` for the one that fits each attack.
    pub estimator: String,
    /// When a cell stops.
    #[serde(default)]
    pub until: Until,
    /// Root of all randomness.
    pub seed: u64,
    /// The rewriter that black-box mechanisms use.
    pub llm: String,
    /// The sentence encoder.
    pub encoder: String,
    /// The language model that judges in attacks, and how.
    #[serde(default = "automatic")]
    pub judge: String,
    /// (I, N): only the I-th of N equal parts of every cell's trials.
    pub shard: Option<(u32, u32)>,
    /// What is kept of the trials.
    #[serde(default)]
    pub keep: Keep,
}

/// What a run keeps of its trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// A row of each, in trials.parquet: it can be resumed, merged and judged again
    #[default]
    Rows,
    /// Their counts alone: for millions of trials a second of a protocol over few categories
    Counts,
}

/// The judge of runs that are older than judges.
fn automatic() -> String {
    "auto".to_owned()
}

/// The paper's estimator.
pub const TEDA: &str = "teda";

/// Counts up to here are exact in double precision.
const MOST_TRIALS: u64 = 1 << 53;

impl Config {
    /// Checks everything that can be checked without data or models.
    ///
    /// # Errors
    /// Usage, naming the value and what is legal.
    pub fn validate(&self) -> Result<()> {
        let level = Level::new(self.alpha)?;
        if !(0.0..1.0).contains(&self.delta) {
            return Err(Error::usage(format!(
                "delta = {}: it must be at least 0 and below 1",
                self.delta
            )));
        }
        if self.trials == 0 {
            return Err(Error::usage("trials = 0: an audit needs at least 1 trial"));
        }
        if self.trials > MOST_TRIALS {
            return Err(Error::usage(format!(
                "trials = {}: at most {MOST_TRIALS} can be counted exactly",
                self.trials
            )));
        }
        if let Some((part, parts)) = self.shard
            && (part == 0 || part > parts)
        {
            return Err(Error::usage(format!(
                "shard {part}/{parts}: the part goes from 1 to {parts}"
            )));
        }
        let estimator = match &self.estimator[..] {
            AUTO => estimator::named(TEDA)?,
            asked => estimator::named(asked)?,
        };
        for k in &self.ks {
            if *k < 2 {
                return Err(Error::usage(format!(
                    "k = {k}: a guess needs at least 2 candidates"
                )));
            }
            (estimator.supports)(&Design {
                k: *k,
                trials: self.trials,
                tuning: 0,
                level,
                delta: self.delta,
            })?;
        }
        if self.estimator != AUTO && !self.until.allows(&self.estimator) {
            return Err(Error::usage(format!(
                "--until {}: the result is looked at while the audit runs, which estimator '{}' does not allow; take --estimator {ANYTIME}",
                self.until, self.estimator
            )));
        }
        if self.until != Until::Trials && self.shard.is_some() {
            return Err(Error::usage(
                "--until with --shard: a part cannot know when the whole is decided",
            ));
        }
        if self.keep == Keep::Counts && self.shard.is_some() {
            return Err(Error::usage(
                "--keep counts with --shard: parts are joined by their rows; keep them",
            ));
        }
        self.validate_hunt()?;
        for lambda in &self.lambdas {
            if !lambda.is_finite() {
                return Err(Error::usage(format!(
                    "lambda = {lambda}: it must be a finite number"
                )));
            }
        }
        for epsilon in self.epsilons.iter().flatten() {
            if !(*epsilon > 0.0 && epsilon.is_finite()) {
                return Err(Error::usage(format!(
                    "epsilon = {epsilon}: it must be a positive, finite number"
                )));
            }
        }
        self.validate_attacks()?;
        for name in &self.mechanisms {
            self.settings(self.entry(name)?)?;
        }
        self.every_setting_is_somebodys()?;
        if self.recorded().is_some() {
            self.refuse_unrecorded()?;
        }
        let mut names = self.mechanisms.iter();
        if self.claim.is_some() && !names.any(|name| outside::is_outside(name)) {
            return Err(Error::usage(
                "--claim states what a mechanism from outside (exec:…, --releases) promises; what the others promise stands in their files (`teda list mechanisms`)",
            ));
        }
        for (kind, list) in [("mechanism", &self.mechanisms), ("attack", &self.attacks)] {
            no_repeats(kind, list)?;
        }
        let sources: Vec<&str> = self.datasets.iter().map(|d| d.source.as_str()).collect();
        no_repeats("data set", &sources)?;
        no_repeats("epsilon", self.epsilons.as_deref().unwrap_or_default())?;
        no_repeats("k", &self.ks)?;
        no_repeats("lambda", &self.lambdas)
    }

    /// The entry of the mechanism called `name`, which may be one from outside.
    ///
    /// # Errors
    /// Usage, for an unknown name or a claim that is none.
    pub fn entry(&self, name: &str) -> Result<&'static Entry> {
        outside::entry(name, self.claim.as_deref(), self.epsilons.is_some())
    }

    /// The file of recorded releases, where the audit is of one.
    #[must_use]
    pub fn recorded(&self) -> Option<&Path> {
        let name = self
            .mechanisms
            .iter()
            .find_map(|name| name.strip_prefix(RELEASES));
        name.map(Path::new)
    }

    /// What cannot be chosen any more where releases are there already.
    fn refuse_unrecorded(&self) -> Result<()> {
        let alone = self.mechanisms.len() == 1 && self.datasets.is_empty();
        if alone && self.lambdas == [0.0] && self.neighbours == Neighbours::AnyTexts {
            return Ok(());
        }
        Err(Error::usage(
            "recorded releases come with their texts, and candidates are drawn among those uniformly: give --releases FILE, and no other mechanism, data set, lambda or neighbours",
        ))
    }

    /// The parameter values of one mechanism: of `--preset` and `--set` what it declares.
    ///
    /// # Errors
    /// Usage, for a value out of range.
    pub fn settings(&self, entry: &Entry) -> Result<Settings> {
        let preset = self
            .preset
            .as_deref()
            .filter(|preset| entry.presets.iter().any(|(name, _)| name == preset));
        let own: Vec<(String, String)> = self
            .set
            .iter()
            .filter(|(name, _)| entry.parameters.iter().any(|p| p.name == name))
            .cloned()
            .collect();
        entry.settings(preset, &own)
    }

    /// A hunt goes by what it saw, one attack at a time.
    fn validate_hunt(&self) -> Result<()> {
        if self.pairs == Pairs::Drawn {
            return Ok(());
        }
        let refused = |with: &str, why: &str| {
            Err(Error::usage(format!(
                "--pairs {} with {with}: {why}",
                self.pairs
            )))
        };
        if self.shard.is_some() {
            return refused(
                "--shard",
                "a part does not see all trials that the hunt goes by",
            );
        }
        if self.until != Until::Trials {
            return refused(
                "--until",
                "a third of a fixed number of trials looks for the pair",
            );
        }
        if self.keep == Keep::Counts {
            return refused("--keep counts", "the hunt goes by the rows of its trials");
        }
        if self.recorded().is_some() {
            return refused("--releases", "what is released there was not asked for");
        }
        if self.attacks.len() > 1 {
            return refused(
                "several attacks",
                "each would find a pair of its own; name one attack",
            );
        }
        self.pairs.explores(self.trials).map(|_| ())
    }

    fn validate_attacks(&self) -> Result<()> {
        if self.attacks == [AUTO] {
            return Ok(());
        }
        for attack in &self.attacks {
            if attack == AUTO {
                return Err(Error::usage(
                    "attack auto: it names all that fit, so it stands alone",
                ));
            }
            lineup::learnable(self, &Choice::parse(attack)?)?;
        }
        Ok(())
    }

    /// A name that no mechanism of the list declares is a mistake, never silently without effect.
    fn every_setting_is_somebodys(&self) -> Result<()> {
        let entries: Vec<_> = self
            .mechanisms
            .iter()
            .map(|name| self.entry(name))
            .collect::<Result<_>>()?;
        let owners = self.mechanisms.join(", ");
        for (name, _) in &self.set {
            let known: Vec<&str> = entries
                .iter()
                .flat_map(|entry| entry.parameters.iter().map(|p| p.name))
                .collect();
            if !known.contains(&name.as_str()) {
                if known.is_empty() {
                    return Err(Error::usage(format!(
                        "--set {name}: {owners} has no parameters"
                    )));
                }
                return Err(Error::unknown(
                    &format!("parameter of {owners}"),
                    name,
                    &known,
                ));
            }
        }
        if let Some(preset) = &self.preset {
            let known: Vec<&str> = entries
                .iter()
                .flat_map(|entry| entry.presets.iter().map(|(name, _)| *name))
                .collect();
            if !known.contains(&preset.as_str()) {
                if known.is_empty() {
                    return Err(Error::usage(format!(
                        "--preset {preset}: {owners} has no presets"
                    )));
                }
                return Err(Error::unknown(
                    &format!("preset of {owners}"),
                    preset,
                    &known,
                ));
            }
        }
        Ok(())
    }

    /// The configuration as a manifest keeps it.
    ///
    /// # Errors
    /// Failed, if it cannot be written as JSON.
    pub fn to_json(&self) -> Result<serde_json::Value> {
        serde_json::to_value(self)
            .map_err(|e| Error::failed(format!("cannot write the configuration: {e}")))
    }

    /// The configuration in the manifest of the run in `directory`.
    ///
    /// # Errors
    /// Failed, if it is not one.
    pub fn of_run(manifest: &Manifest, directory: &Path) -> Result<Self> {
        serde_json::from_value(manifest.config.clone()).map_err(|e| {
            Error::failed(format!(
                "{}: the configuration in manifest.json cannot be read: {e}",
                directory.display()
            ))
        })
    }

    /// The trials of this process: all of them, or the shard's contiguous part.
    #[must_use]
    pub fn trial_range(&self) -> std::ops::Range<u64> {
        let (part, parts) = self.shard.unwrap_or((1, 1));
        let bound = |p: u32| (u128::from(self.trials) * u128::from(p) / u128::from(parts)) as u64;
        bound(part - 1)..bound(part)
    }

    /// The same audit as one piece.
    #[must_use]
    pub fn unsharded(&self) -> Self {
        Self {
            shard: None,
            ..self.clone()
        }
    }
}

/// Refuses a list that names the same thing twice: its cells would be the same numbers twice.
fn no_repeats<T: PartialEq + std::fmt::Display>(kind: &str, list: &[T]) -> Result<()> {
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

    #[test]
    fn a_run_older_than_judges_can_be_resumed() {
        let old = serde_json::json!({
            "mechanisms": ["identity"], "epsilons": null, "set": [], "preset": null, "datasets": [],
            "attacks": ["embedding"], "ks": [2], "lambdas": [0.0], "neighbours": "any-texts",
            "trials": 50, "alpha": 0.01, "delta": 0.0, "estimator": "teda", "seed": 0, "llm": "auto",
            "encoder": "builtin", "shard": null,
        });
        let config: Config = serde_json::from_value(old).unwrap();
        assert_eq!(config.judge, "auto");
    }
}
