//! The whole configuration of an audit, as the user gave it and as the manifest stores it.
//!
//! Everything that a result depends on is here. How fast it is computed (threads, batch) is not, because no result may
//! depend on that. Names are resolved when a configuration is made or read; in JSON they are what the user wrote.

use std::path::Path;

use serde::{Deserialize, Serialize};
use teda_attacks::Choice;
use teda_core::estimator::{self, Design, Level, Needs};
use teda_core::{Error, Neighbours, Result, Settings};
use teda_datasets::{Dataset, Limits, Request};
use teda_mechanisms::Rewriter;
use teda_models::Precision;
use teda_results::Manifest;

use crate::audit::choices::{AUTO, Attacks, EstimatorChoice, TEDA, no_repeats};
pub use crate::audit::keep::Keep;
use crate::audit::pairs::Pairs;
use crate::audit::source::{Claim, Source};
use crate::audit::stopping::{ANYTIME, Until};
use crate::models::Wanted;
use crate::models::spec::Spec;

/// An audit's configuration. Lists span the grid of cells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Config {
    /// Where the mechanisms come from.
    pub mechanisms: Vec<Source>,
    /// Nominal ε to run; `None` for each mechanism's own grid.
    pub epsilons: Option<Vec<f64>>,
    /// `--set` in the order given.
    pub set: Vec<(String, String)>,
    /// `--preset`.
    pub preset: Option<String>,
    /// What the user claims of external mechanisms.
    #[serde(default)]
    pub claim: Option<Claim>,
    /// Data sets, with the same filters for all.
    pub datasets: Vec<Request>,
    /// The attacks, all on the same releases.
    pub attacks: Attacks,
    /// Candidate set sizes.
    pub ks: Vec<usize>,
    /// Sampling temperatures of the candidate sets.
    pub lambdas: Vec<f64>,
    /// The pairs of texts to tell apart.
    pub neighbours: Neighbours,
    /// How candidate sets are chosen among these.
    #[serde(default)]
    pub pairs: Pairs,
    /// Trials per cell, over all shards.
    pub trials: u64,
    /// Two-sided confidence level.
    pub alpha: f64,
    /// The δ of the (ε, δ) to bound; `None` for each mechanism's own ([`Source::delta`]).
    pub delta: Option<f64>,
    /// How bounds are computed.
    pub estimator: EstimatorChoice,
    /// When a cell stops.
    #[serde(default)]
    pub until: Until,
    /// Root of all randomness.
    pub seed: u64,
    /// The rewriter that black-box mechanisms use.
    pub llm: String,
    /// The sentence encoder.
    pub encoder: String,
    /// The language model whose perplexity ranks texts.
    #[serde(default = "automatic")]
    pub scorer: String,
    /// The model that rewrites every release again, and how; `None` if releases stay as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<String>,
    /// The language model that attacks judge with, and how.
    #[serde(default = "automatic")]
    pub judge: String,
    /// What the models' linear layers multiply.
    #[serde(default, skip_serializing_if = "is_default")]
    pub precision: Precision,
    /// (I, N): only the I-th of N equal parts of every cell's trials.
    pub shard: Option<(u32, u32)>,
    /// What is stored of the trials.
    #[serde(default)]
    pub keep: Keep,
    /// What is measured of the releases once all trials are made, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub utilities: Vec<String>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The judge, or the scorer, of runs made before it was recorded.
fn automatic() -> String {
    AUTO.to_owned()
}

/// Trials per cell by default.
pub const TRIALS: u64 = 10_000;

/// Counts up to here are exact in double precision.
const MOST_TRIALS: u64 = 1 << 53;

impl Config {
    /// An audit of these mechanisms, with the defaults of `teda audit` for everything else.
    #[must_use]
    pub fn new(mechanisms: Vec<Source>) -> Self {
        Self {
            mechanisms,
            epsilons: None,
            set: Vec::new(),
            preset: None,
            claim: None,
            datasets: vec![Request {
                source: "snips".to_owned(),
                ..Request::default()
            }],
            attacks: Attacks::Auto,
            ks: vec![2],
            lambdas: vec![-10_000.0],
            neighbours: Neighbours::AnyTexts,
            pairs: Pairs::Drawn,
            trials: TRIALS,
            alpha: 0.01,
            delta: None,
            estimator: EstimatorChoice::Auto,
            until: Until::Trials,
            seed: 0,
            llm: "builtin".to_owned(),
            encoder: "builtin".to_owned(),
            scorer: automatic(),
            then: None,
            judge: automatic(),
            precision: Precision::F32,
            shard: None,
            keep: Keep::Rows,
            utilities: Vec::new(),
        }
    }

    /// Checks everything that can be checked without data or models.
    ///
    /// # Errors
    /// Usage, naming the value and what is legal.
    pub fn validate(&self) -> Result<()> {
        let level = Level::new(self.alpha)?;
        if let Some(delta) = self.delta
            && !(0.0..1.0).contains(&delta)
        {
            return Err(Error::usage(format!(
                "delta = {delta}: it must be at least 0 and below 1"
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
        self.keep.can_be_measured(&self.utilities)?;
        let estimator = match self.estimator {
            EstimatorChoice::Auto => estimator::named(TEDA)?,
            EstimatorChoice::Named(estimator) => estimator,
        };
        for k in &self.ks {
            if *k < 2 {
                return Err(Error::usage(format!(
                    "k = {k}: a guess needs at least 2 candidates"
                )));
            }
            // Where none is given, each mechanism's own is checked when its cells are begun.
            let unknown = self.delta.is_none() && estimator.needs == Needs::Gaussian;
            (estimator.supports)(&Design {
                k: *k,
                trials: self.trials,
                tuning: 0,
                level,
                delta: self.delta.unwrap_or(if unknown { 0.5 } else { 0.0 }),
            })?;
        }
        if let EstimatorChoice::Named(estimator) = self.estimator
            && !self.until.allows(estimator.name)
        {
            return Err(Error::usage(format!(
                "--until {}: the result is looked at while the audit runs, which estimator '{}' does not allow; take --estimator {ANYTIME}",
                self.until, estimator.name
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
        for attack in self.attacks.named() {
            self.learnable(attack)?;
        }
        for source in &self.mechanisms {
            self.settings(source)?;
        }
        self.every_setting_is_somebodys()?;
        if self.recorded().is_some() {
            self.refuse_unrecorded()?;
        }
        if let Some(then) = &self.then {
            Spec::parse_then(then)?;
        }
        if self.claim.is_some() && !self.mechanisms.iter().any(Source::is_external) {
            return Err(Error::usage(
                "--claim states what an external mechanism (exec:…, --releases) promises; what the others promise stands in their files (`teda list mechanisms`)",
            ));
        }
        no_repeats("mechanism", &self.names())?;
        no_repeats("attack", self.attacks.named())?;
        let sources: Vec<&str> = self.datasets.iter().map(|d| d.source.as_str()).collect();
        no_repeats("data set", &sources)?;
        no_repeats("epsilon", self.epsilons.as_deref().unwrap_or_default())?;
        no_repeats("k", &self.ks)?;
        no_repeats("lambda", &self.lambdas)
    }

    /// Loads its data sets, whose inputs must be within `limits`.
    ///
    /// # Errors
    /// Usage, if the texts come from a program; the errors of [`teda_datasets::load`].
    pub fn load(&self, limits: Limits) -> Result<Vec<Dataset>> {
        if self.datasets.is_empty() {
            return Err(Error::usage(
                "the texts of this run are part of the program that made it: only that program can continue it",
            ));
        }
        let load = |request| teda_datasets::load(request, limits, &mut std::io::stdin());
        self.datasets.iter().map(load).collect()
    }

    /// The models that this audit needs.
    #[must_use]
    pub fn wanted(&self) -> Wanted {
        let needs = |source: &Source| (source.name(), source.rewriter());
        let rewriters = self.mechanisms.iter().map(needs);
        Wanted {
            encoder: self.encoder.clone(),
            llm: self.llm.clone(),
            scorer: self.scorer.clone(),
            judge: self.judge.clone(),
            rewriters: rewriters
                .filter(|(_, need)| *need != Rewriter::Nothing)
                .collect(),
            then: self.then.clone(),
            judges: self.attacks.named().iter().any(Choice::needs_judge),
            scores: false,
            precision: self.precision,
        }
    }

    /// The names of the mechanisms.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let name = |source| self.name_of(source);
        self.mechanisms.iter().map(name).collect()
    }

    /// The name of a mechanism in results: its own, and what comes after it.
    #[must_use]
    pub fn name_of(&self, source: &Source) -> String {
        match &self.then {
            None => source.name(),
            Some(then) => format!("{} then {then}", source.name()),
        }
    }

    /// The file of recorded releases, if one is audited.
    #[must_use]
    pub fn recorded(&self) -> Option<&Path> {
        self.mechanisms.iter().find_map(Source::recorded)
    }

    /// Refuses options that cannot be chosen for recorded releases.
    fn refuse_unrecorded(&self) -> Result<()> {
        if let Some(then) = &self.then {
            return Err(Error::usage(format!(
                "--then {then} with --releases: what was recorded is audited as it is; rewrite it beforehand and record that"
            )));
        }
        let alone = self.mechanisms.len() == 1 && self.datasets.is_empty();
        if alone && self.lambdas == [0.0] && self.neighbours == Neighbours::AnyTexts {
            return Ok(());
        }
        Err(Error::usage(
            "recorded releases come with their texts, and candidates are drawn among those uniformly: give --releases FILE, and no other mechanism, data set, lambda or neighbours",
        ))
    }

    /// The parameter values of one mechanism: those of `--preset` and `--set` that it declares.
    ///
    /// # Errors
    /// Usage, for a value out of range.
    pub fn settings(&self, source: &Source) -> Result<Settings> {
        let preset = self
            .preset
            .as_deref()
            .filter(|preset| source.presets().iter().any(|(name, _)| name == preset));
        let own: Vec<(String, String)> = self
            .set
            .iter()
            .filter(|(name, _)| source.parameters().iter().any(|p| p.is_called(name)))
            .cloned()
            .collect();
        source.settings(preset, &own)
    }

    /// A hunt depends on what it has seen, and works for one attack at a time.
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
        if self.attacks.named().len() > 1 {
            return refused(
                "several attacks",
                "each would find a pair of its own; name one attack",
            );
        }
        self.pairs.explores(self.trials).map(|_| ())
    }

    /// The number of trials that an attack learns from; 0 if it does not learn.
    ///
    /// # Errors
    /// Usage, if it learns and cannot do so in this audit, with the reason.
    pub fn learnable(&self, attack: &Choice) -> Result<u64> {
        if !attack.learns() {
            return Ok(0);
        }
        let refused = |why: &str| {
            Err(Error::usage(format!(
                "the attack '{attack}' learns from the first of a fixed number of trials: {why}"
            )))
        };
        if self.until != Until::Trials {
            return refused("with --until nobody knows how many there will be");
        }
        if self.keep == Keep::Counts {
            return refused("with --keep counts there are no rows to learn from");
        }
        if self.estimator.needs() == Needs::Likelihoods {
            return refused(&format!(
                "the estimator '{}' reads the mechanism's likelihoods, which it does not use; take one that counts guesses",
                self.estimator.name()
            ));
        }
        match self.pairs {
            Pairs::Drawn => attack.learns_from(self.trials),
            // The trials that look for the pair are also the ones it learns from.
            Pairs::Hunt(_) => self.pairs.explores(self.trials),
        }
    }

    /// A name that no listed mechanism declares is an error; it is never silently ignored.
    fn every_setting_is_somebodys(&self) -> Result<()> {
        let owners = self.names().join(", ");
        for (name, _) in &self.set {
            let known: Vec<&str> = self
                .mechanisms
                .iter()
                .flat_map(|source| source.parameters().iter().map(|p| p.name))
                .collect();
            let mut parameters = self.mechanisms.iter().flat_map(|s| s.parameters());
            if !parameters.any(|parameter| parameter.is_called(name)) {
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
            let known: Vec<&str> = self
                .mechanisms
                .iter()
                .flat_map(|source| source.presets().iter().map(|(name, _)| *name))
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

    /// The configuration as a manifest stores it.
    ///
    /// # Errors
    /// Failed, if it cannot be written as JSON.
    pub fn to_json(&self) -> Result<serde_json::Value> {
        serde_json::to_value(self)
            .map_err(|e| Error::failed(format!("cannot write the configuration: {e}")))
    }

    /// Reads the configuration from the manifest of the run in `directory`.
    ///
    /// # Errors
    /// Failed, if the manifest holds no valid configuration.
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

    /// The same audit without shards.
    #[must_use]
    pub fn unsharded(&self) -> Self {
        Self {
            shard: None,
            ..self.clone()
        }
    }
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
        assert_eq!((&config.judge[..], config.then), ("auto", None));
    }

    #[test]
    fn what_comes_after_is_part_of_the_configuration_and_of_the_name() {
        let mut config = Config::new(vec![Source::parse("krr").unwrap()]);
        let plain = config.to_json().unwrap();
        // Manifests of runs without it are what they were.
        assert!(plain.get("then").is_none());
        config.then = Some("builtin:temperature=0.5".to_owned());
        config.validate().unwrap();
        assert_eq!(config.names(), ["krr then builtin:temperature=0.5"]);
        let json = config.to_json().unwrap();
        assert_eq!(serde_json::from_value::<Config>(json).unwrap(), config);
        config.then = Some("builtin:temperature=-1".to_owned());
        assert!(matches!(config.validate(), Err(Error::Usage(_))));
    }
}
