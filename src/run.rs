//! A run from its configuration to its files: begun, or taken up again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Instant, SystemTime};

use rayon::prelude::*;
use teda_attacks::{Build, Choice};
use teda_core::{Attack, Error, Learner, Mechanism, Result};
use teda_datasets::Dataset;
use teda_results::{
    Cell, CellPlan, DatasetRecord, Journal, Manifest, RunDir, Status, rfc3339_utc, run_name, texts,
    trials,
};

use crate::config::{Config, Keep};
use crate::driver::{Driver, State, journalled_cells};
use crate::models::{self, Access, Models};
use crate::plan::{Corpus, Plan, Series, Sets};
use crate::progress::Progress;
use crate::{finish, lineup, recorded, trial};

/// Trials a thread that a cost is estimated from: few, because a trial can take a second.
const TIMED_TRIALS: u64 = 8;

/// How fast a run goes and what it shows meanwhile; nothing here can change a result.
pub struct Pace<'a> {
    /// Trials a batch.
    pub batch: u64,
    /// No progress.
    pub quiet: bool,
    /// Set when the user wants to stop.
    pub interrupted: &'a AtomicBool,
}

/// What a run came to.
pub enum Ended {
    /// All trials are done; the directory holds the results.
    Complete(PathBuf, Vec<Cell>),
    /// Stopped on request; the directory can be resumed, from its first trial where it keeps no rows.
    Interrupted(PathBuf, Keep),
}

/// Everything of a run that follows from its configuration.
pub struct Prepared {
    config: Config,
    models: Models,
    /// The cells to compute.
    pub plan: Plan,
}

impl Prepared {
    /// Loads models and data and plans the cells.
    ///
    /// # Errors
    /// Usage, for anything in the configuration that cannot be met.
    pub fn new(config: Config, access: &Access) -> Result<Self> {
        config.validate()?;
        let models = Models::load(&config, access)?;
        let plan = match config.recorded() {
            Some(path) => recorded::plan(&config, path, &models)?,
            None => {
                let load = |request| {
                    let dataset = teda_datasets::load(request, &mut std::io::stdin())?;
                    Corpus::new(dataset, &*models.encoder)
                };
                let corpora = config.datasets.iter().map(load).collect::<Result<_>>()?;
                Plan::new(&config, corpora, &models)?
            }
        };
        Ok(Self {
            config,
            models,
            plan,
        })
    }

    /// The cells to compute, as the manifest will have them.
    ///
    /// # Errors
    /// Usage, for an attack that cannot learn from so few trials.
    pub fn cells(&self) -> Result<Vec<CellPlan>> {
        cell_plans(&self.config, &self.plan)
    }

    /// Seconds that each series of the plan will take, from a few of its trials timed here. Their
    /// results are thrown away. `None` where a server answers: a plan must not cost money.
    ///
    /// # Errors
    /// Those of the trials.
    pub fn expected_seconds(&self) -> Result<Option<Vec<f64>>> {
        if !self.models.reproducible() {
            return Ok(None);
        }
        let trials = self.config.trial_range();
        let wanted = trials.end - trials.start;
        let batches = rayon::current_num_threads() as u64;
        let sample = TIMED_TRIALS.min(wanted.div_ceil(batches));
        let attacks = self.attacks()?;
        let time = |(series, attacks): (&Series, &Vec<Box<dyn Attack>>)| {
            let started = Instant::now();
            (0..batches).into_par_iter().try_for_each(|batch| {
                let first = (trials.start + batch * sample).min(trials.end);
                let numbers = first..(first + sample).min(trials.end);
                let corpus = &self.plan.corpora[series.corpus];
                trial::run(series, corpus, attacks, numbers).map(|_| ())
            })?;
            let share = wanted as f64 / (batches * sample) as f64;
            Ok(started.elapsed().as_secs_f64() * share)
        };
        self.plan
            .series
            .iter()
            .zip(&attacks)
            .map(time)
            .collect::<Result<_>>()
            .map(Some)
    }

    /// Runs everything into a new directory: `out`, or one named after time, mechanisms and data.
    ///
    /// # Errors
    /// Usage, if the directory is in use; failed, where it cannot be written or a model fails.
    pub fn begin(&self, out: Option<&Path>, pace: &Pace<'_>) -> Result<Ended> {
        let created = rfc3339_utc(SystemTime::now());
        let mechanisms: Vec<&str> = self.config.mechanisms.iter().map(String::as_str).collect();
        let name = run_name(&created, &mechanisms, &self.plan.corpora[0].dataset.name);
        let directory = RunDir::create(out, &name)?;
        let config = self.config.to_json()?;
        let mut manifest = Manifest::new(env!("CARGO_PKG_VERSION"), &created, config);
        manifest.shard = self.config.shard;
        manifest.datasets = self.dataset_records();
        manifest.models = self.models.records.clone();
        manifest.device = models::device().to_owned();
        manifest.reproducible = self.models.reproducible();
        manifest.cells = self.cells()?;
        manifest.save(directory.path())?;
        let journal = match self.config.keep {
            Keep::Rows => Some(Journal::create(directory.path())?),
            Keep::Counts => None,
        };
        let state = State::new(&manifest.cells, self.config.trial_range())?;
        self.go_on(directory.path(), manifest, journal, state, pace)
    }

    /// Goes on with the run in `directory`, which must be of this configuration.
    fn go_on(
        &self,
        directory: &Path,
        mut manifest: Manifest,
        mut journal: Option<Journal>,
        mut state: State,
        pace: &Pace<'_>,
    ) -> Result<Ended> {
        let attacks = self.attacks()?;
        let learners = self.learners()?;
        let trials = self.config.trial_range();
        let done: u64 = (0..self.plan.series.len())
            .map(|series| journalled_cells(&self.plan, series)[0])
            .map(|cell| state.counts[cell].rows)
            .sum();
        let resumed = done > 0;
        let total = (trials.end - trials.start) * self.plan.series.len() as u64;
        let progress = Progress::new(total, done, pace.quiet);
        let driver = Driver {
            plan: &self.plan,
            cells: &manifest.cells,
            until: self.config.until,
            attacks: &attacks,
            learners: &learners,
            trials,
            batch: pace.batch,
            progress: &progress,
            interrupted: pace.interrupted,
        };
        let complete = driver.run(&mut state, journal.as_mut());
        progress.finish();
        self.say_usage(pace);
        manifest.servers = serde_json::to_value(self.models.usage())
            .map_err(|e| Error::failed(format!("cannot write what servers cost: {e}")))?;
        let complete = complete?;
        if !complete {
            manifest.status = Status::Interrupted;
            manifest.save(directory)?;
            return Ok(Ended::Interrupted(directory.to_owned(), self.config.keep));
        }
        // What an earlier process spent is not known, and a part is no substitute for the whole.
        let seconds: Vec<Option<f64>> = state
            .seconds
            .iter()
            .map(|s| (!resumed).then_some(*s))
            .collect();
        let lists: Vec<&[String]> = self.plan.corpora.iter().map(|c| &c.texts[..]).collect();
        manifest.texts_sha256 = Some(texts::write(directory, &lists)?);
        let cells = finish::write(
            directory,
            journal,
            &mut manifest,
            state.counts,
            seconds,
            || Ok(self.contexts()),
        )?;
        Ok(Ended::Complete(directory.to_owned(), cells))
    }

    /// What servers were asked and how often they failed, on standard error.
    fn say_usage(&self, pace: &Pace<'_>) {
        for (server, usage) in self.models.usage().iter().filter(|_| !pace.quiet) {
            let failures: Vec<String> = usage
                .failures
                .iter()
                .map(|(kind, count)| format!("{count} × {kind}"))
                .collect();
            let failures = if failures.is_empty() {
                "none failed".to_owned()
            } else {
                format!("failed: {}", failures.join(", "))
            };
            eprintln!(
                "{server}: {} requests, {} of them repeated ({failures}), {} answers from the cache, {} tokens",
                usage.requests, usage.retries, usage.cached, usage.tokens
            );
        }
    }

    /// The attacks that guess with the trials, `[series][attack]`; one that sees nothing where there are none.
    fn attacks(&self) -> Result<Vec<Vec<Box<dyn Attack>>>> {
        let contexts = self.contexts();
        let build = |series: &Series| {
            let mut attacks: Vec<Box<dyn Attack>> = Vec::new();
            for attack in &series.attacks {
                if let Build::Scores(build) = attack.entry.build {
                    attacks.push(build(&contexts[series.corpus])?);
                }
            }
            if attacks.is_empty() {
                attacks.push(Box::new(trial::Blind));
            }
            Ok(attacks)
        };
        self.plan.series.iter().map(build).collect()
    }

    /// What learns while a series hunts for its worst pair, `[series]`.
    fn learners(&self) -> Result<Vec<Option<Box<dyn Learner>>>> {
        let contexts = self.contexts();
        let build = |series: &Series| match (&series.sets, series.attacks[0].entry.build) {
            (Sets::Hunted(_), Build::Learns(build)) => build(&contexts[series.corpus]).map(Some),
            _ => Ok(None),
        };
        self.plan.series.iter().map(build).collect()
    }

    /// What attacks on each corpus are built from.
    #[must_use]
    pub fn contexts(&self) -> Vec<teda_attacks::Context> {
        let context = |corpus: &Corpus| teda_attacks::Context {
            texts: Arc::clone(&corpus.texts),
            encoder: self.models.encoder.clone(),
            vectors: Arc::clone(&corpus.vectors),
            tokens: self.models.tokens.clone(),
            judge: self.models.judge.clone(),
        };
        self.plan.corpora.iter().map(context).collect()
    }

    /// One record a data set, however many corpora were derived from it.
    fn dataset_records(&self) -> Vec<DatasetRecord> {
        let mut records: Vec<DatasetRecord> = Vec::new();
        for corpus in &self.plan.corpora {
            let record = dataset_record(&corpus.dataset);
            if records.last() != Some(&record) {
                records.push(record);
            }
        }
        records
    }
}

/// The configuration's first mechanism at its first ε on its first data set, for rewriting alone.
///
/// # Errors
/// Usage, for anything in the configuration that cannot be met; failed, where a model cannot be loaded.
pub fn mechanism(config: &Config, access: &Access) -> Result<Box<dyn Mechanism>> {
    config.validate()?;
    let models = Models::load(config, access)?;
    let dataset = teda_datasets::load(&config.datasets[0], &mut std::io::stdin())?;
    let entry = config.entry(&config.mechanisms[0])?;
    let epsilon = config.epsilons.as_ref().map(|epsilons| epsilons[0]);
    entry.instance(
        &models.context(dataset.texts.into()),
        epsilon,
        &config.settings(entry)?,
    )
}

/// Takes up the run in `directory` where it stopped.
///
/// # Errors
/// Usage, if there is no run, or it is complete; failed, if data or models have changed since.
pub fn resume(directory: &Path, access: &Access, pace: &Pace<'_>) -> Result<Ended> {
    let locked = RunDir::resume(directory)?;
    let directory = locked.path();
    let manifest = Manifest::load(directory)?;
    if manifest.status == Status::Complete {
        return Err(Error::usage(format!(
            "{}: this run is complete; `teda report {}` shows it",
            directory.display(),
            directory.display()
        )));
    }
    let changed = |what: &str, detail: String| {
        Error::failed(format!(
            "{}: {what} changed since the run began ({detail}), so its trials cannot be continued: begin a new run",
            directory.display()
        ))
    };
    if manifest.version != env!("CARGO_PKG_VERSION") {
        let versions = format!(
            "{} then, {} now",
            manifest.version,
            env!("CARGO_PKG_VERSION")
        );
        return Err(changed("teda", versions));
    }
    let prepared = Prepared::new(Config::of_run(&manifest, directory)?, access)?;
    if manifest.models != prepared.models.records {
        return Err(changed("the models", "other weights".to_owned()));
    }
    for (then, now) in manifest.datasets.iter().zip(prepared.dataset_records()) {
        if then.sha256 != now.sha256 {
            return Err(changed(
                &format!("data set '{}'", then.name),
                format!("{} texts then, {} now", then.texts, now.texts),
            ));
        }
    }
    let mut state = State::new(&manifest.cells, prepared.config.trial_range())?;
    let journal = match prepared.config.keep {
        Keep::Rows => Some(trials::resume(directory, |row| {
            prepared.plan.observe(&row);
            state.replay(&row)
        })?),
        Keep::Counts => None,
    };
    prepared.go_on(directory, manifest, journal, state, pace)
}

fn dataset_record(dataset: &Dataset) -> DatasetRecord {
    DatasetRecord {
        name: dataset.name.clone(),
        sha256: dataset.sha256.clone(),
        texts: dataset.texts.len() as u64,
        rows: dataset.rows as u64,
        merged: dataset.merged as u64,
        empty: dataset.empty as u64,
        licence: dataset.licence.unwrap_or("the user's own data").to_owned(),
    }
}

/// The cells of a plan as the manifest keeps them, in their order.
fn cell_plans(config: &Config, plan: &Plan) -> Result<Vec<CellPlan>> {
    let plans = |(number, series): (u32, &Series)| {
        let cell = |attack: &Choice| {
            Ok(CellPlan {
                dataset: plan.corpora[series.corpus].dataset.name.clone(),
                mechanism: series.entry.name.to_owned(),
                epsilon: series.epsilon,
                epsilon_unit: series.entry.unit.map(|unit| unit.name().to_owned()),
                neighbours: config.neighbours.name().to_owned(),
                k: series.k as u32,
                lambda: series.lambda,
                attack: attack.to_string(),
                trials: config.trials,
                alpha: config.alpha,
                delta: config.delta,
                estimator: lineup::estimator_of(&config.estimator, config.until, attack).to_owned(),
                guarantee: series.mechanism.guarantee(),
                claimed_epsilon: series.claim.map(|claim| claim.epsilon),
                claimed_delta: series.claim.map(|claim| claim.delta),
                gaussian: series.mechanism.is_gaussian(),
                texts: Some(series.corpus as u32),
                series: Some(number),
                seed: Some(series.seed.to_text()),
                trained: lineup::learnable(config, attack)?,
                explored: config.pairs.explores(config.trials)?,
                signs: Vec::new(),
            })
        };
        series.attacks.iter().map(cell).collect::<Result<Vec<_>>>()
    };
    let cells: Vec<Vec<CellPlan>> = (0..).zip(&plan.series).map(plans).collect::<Result<_>>()?;
    Ok(cells.into_iter().flatten().collect())
}
