//! A run from its configuration to its trials: new, resumed, or kept in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Instant, SystemTime};

use rayon::prelude::*;
use teda_attacks::{Built, Choice};
use teda_core::{Attack, Error, Learner, Mechanism, Result};
use teda_datasets::Dataset;
use teda_results::{
    CellPlan, DatasetRecord, Journal, Manifest, ModelRecord, Row, RunDir, Status, rfc3339_utc,
    run_name, texts,
};

use crate::audit::config::{Config, Keep};
use crate::audit::corpus::Corpus;
use crate::audit::counting::Count;
use crate::audit::driver::{Driver, RowSink, State, journalled_cells};
use crate::audit::plan::{Plan, recorded};
use crate::audit::progress::Progress;
use crate::audit::records::{cell_plans, dataset_record};
use crate::audit::series::{Series, Sets};
use crate::audit::trial;
use crate::models::{self, Access, Models, shared};

/// Trials per thread from which a cost is estimated: few, because a trial can take a second.
const TIMED_TRIALS: u64 = 8;

/// How a run is made; nothing here can change a result.
pub struct Control<'a> {
    /// Trials per batch.
    pub batch: u64,
    /// Set when the user wants to stop.
    pub stop: &'a AtomicBool,
    /// Receives progress.
    pub progress: &'a dyn Progress,
}

/// How a run ended.
pub enum Ended {
    /// All trials are made.
    Made(Box<Made>),
    /// Stopped on request; the directory can be resumed, or started over if it keeps no rows.
    Interrupted(PathBuf, Keep),
}

/// A run whose trials are all made, in a directory of its own.
pub struct Made {
    /// The directory, locked against other processes.
    pub directory: RunDir,
    /// What it was asked to do.
    pub manifest: Manifest,
    /// Its rows, if they are kept and not stored yet.
    pub journal: Option<Journal>,
    /// Its trials, counted.
    pub trials: Trials,
}

/// A run whose trials are all made, kept only in memory.
pub struct InMemory {
    /// Its cells.
    pub cells: Vec<CellPlan>,
    /// Its rows, if an attack learns from them.
    pub rows: Vec<Row>,
    /// Its trials, counted.
    pub trials: Trials,
}

/// Trials that are made and counted, except for attacks that learn.
pub struct Trials {
    /// One per cell.
    pub counts: Vec<Count>,
    /// Seconds for each cell, if known.
    pub seconds: Vec<Option<f64>>,
    /// The attack of each cell.
    pub attacks: Vec<Choice>,
    /// What attacks on each list of texts are built from.
    pub contexts: Vec<teda_attacks::Context>,
}

/// Everything in a run that follows from its configuration.
pub struct Prepared {
    config: Config,
    models: Models,
    /// The cells to compute.
    pub plan: Plan,
    /// Whether a mechanism was seen to make another release of the same query.
    varies: bool,
}

impl Prepared {
    /// Loads models and data, and plans the cells.
    ///
    /// # Errors
    /// Usage, for anything in the configuration that cannot be satisfied.
    pub fn new(config: Config, access: &Access) -> Result<Self> {
        config.validate()?;
        let models = Models::load(&config.wanted(), access)?;
        if let Some(path) = config.recorded() {
            let plan = recorded::plan(&config, path, &models)?;
            return Ok(Self {
                config,
                models,
                plan,
                varies: false,
            });
        }
        let datasets = config.load(access.limits)?;
        Self::of(config, models, datasets)
    }

    /// Plans the cells of a configuration whose models and data are already loaded.
    ///
    /// # Errors
    /// Usage, for anything in the configuration that cannot be satisfied.
    pub fn of(config: Config, models: Models, datasets: Vec<Dataset>) -> Result<Self> {
        config.validate()?;
        let embed = |dataset| Corpus::new(dataset, &models.corpus_encoder());
        let corpora = datasets.into_iter().map(embed).collect::<Result<_>>()?;
        let plan = Plan::new(&config, corpora, &models)?;
        Ok(Self {
            config,
            models,
            plan,
            varies: false,
        })
    }

    /// The configuration.
    pub(super) fn config(&self) -> &Config {
        &self.config
    }

    /// The manifest's records of the models.
    pub(super) fn model_records(&self) -> &[ModelRecord] {
        &self.models.records
    }

    /// Notes for the user before the first trial, one line each: what became of the data, which attacks are left out
    /// and why, how many texts exceed a model's window.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let data = self.plan.corpora.iter().map(Corpus::summary);
        data.chain(self.plan.notes.iter().cloned()).collect()
    }

    /// The cells to compute, as the manifest will store them.
    ///
    /// # Errors
    /// Usage, for an attack that cannot learn from this few trials.
    pub fn cells(&self) -> Result<Vec<CellPlan>> {
        cell_plans(&self.config, &self.plan)
    }

    /// Makes the first `trials` of every series twice, the second time in reverse order. A run whose mechanism makes
    /// other releases of them is recorded as not reproducible.
    ///
    /// Returns a note for the user on each mechanism that does.
    ///
    /// # Errors
    /// Any error from a mechanism.
    pub fn make_twice(&mut self, trials: u64) -> Result<Vec<String>> {
        let trials = trials.min(self.config.trials);
        let mut notes = Vec::new();
        for series in &self.plan.series {
            let varying = trial::varying(series, &self.plan.corpora[series.corpus], trials)?;
            if varying > 0 {
                notes.push(format!(
                    "note: {}: {varying} of {trials} releases differed when they were made again from the same seeds, in another order; the audit holds all the same, and its numbers cannot be made again",
                    series.describe()
                ));
            }
        }
        self.varies |= !notes.is_empty();
        Ok(notes)
    }

    /// Estimates the seconds that each series of the plan will take, by timing a few of its trials now and discarding
    /// their results. `None` if a server is involved: a plan must not cost money.
    ///
    /// # Errors
    /// Any error from running the trials.
    pub fn expected_seconds(&self) -> Result<Option<Vec<f64>>> {
        if !self.models.reproducible() {
            return Ok(None);
        }
        let trials = self.config.trial_range();
        let wanted = trials.end - trials.start;
        let batches = rayon::current_num_threads() as u64;
        let sample = TIMED_TRIALS.min(wanted.div_ceil(batches));
        let attacks = self.attacks()?;
        let time = |(series, attacks): (&Series, &Vec<Arc<dyn Attack>>)| {
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
    /// Usage, if the directory is in use; failed, if it cannot be written or a model fails.
    pub fn begin(&self, out: Option<&Path>, control: &Control<'_>) -> Result<Ended> {
        let created = rfc3339_utc(SystemTime::now());
        let name = run_name(
            &created,
            &self.config.names(),
            &self.plan.corpora[0].dataset.name,
        );
        let directory = RunDir::create(out, &name)?;
        shared::said(directory.path(), &|note| control.progress.note(note));
        let config = self.config.to_json()?;
        let mut manifest = Manifest::new(env!("CARGO_PKG_VERSION"), &created, config);
        manifest.shard = self.config.shard;
        manifest.datasets = self.dataset_records();
        manifest.models = self.models.records.clone();
        manifest.device = models::device(self.config.precision)?;
        manifest.reproducible = self.models.reproducible() && !self.varies;
        manifest.cells = self.cells()?;
        manifest.save(directory.path())?;
        if self.config.datasets.is_empty() && self.config.recorded().is_none() {
            // They stand in no file that could be read again.
            manifest.texts_sha256 = Some(texts::write(directory.path(), &self.texts())?);
            manifest.save(directory.path())?;
        }
        control.progress.kept(directory.path());
        let journal = match self.config.keep {
            Keep::Rows => Some(Journal::create(directory.path(), &manifest.identity())?),
            Keep::Counts => None,
        };
        let state = State::new(&manifest.cells, self.config.trial_range())?;
        self.go_on(directory, manifest, journal, state, control)
    }

    /// Runs everything and keeps in memory what attacks that learn need. `None` after an interrupt.
    ///
    /// # Errors
    /// Failed, if a mechanism, an attack or a model fails.
    pub fn in_memory(&self, control: &Control<'_>) -> Result<Option<InMemory>> {
        let cells = self.cells()?;
        let mut state = State::new(&cells, self.config.trial_range())?;
        let mut rows: Vec<Row> = Vec::new();
        let kept = cells.iter().any(CellPlan::is_deferred);
        let sink: RowSink<'_> = match kept {
            true => Some(&mut rows),
            false => None,
        };
        if !self.drive(&cells, &mut state, sink, control)? {
            return Ok(None);
        }
        let trials = self.trials(state, false);
        Ok(Some(InMemory {
            cells,
            rows,
            trials,
        }))
    }

    /// Makes the trials that `state` is missing; `false` after an interrupt.
    fn drive(
        &self,
        cells: &[CellPlan],
        state: &mut State,
        rows: RowSink<'_>,
        control: &Control<'_>,
    ) -> Result<bool> {
        let trials = self.config.trial_range();
        let total = (trials.end - trials.start) * self.plan.series.len() as u64;
        control.progress.begin(total, self.done(state));
        let driver = Driver {
            plan: &self.plan,
            cells,
            until: self.config.until,
            attacks: &self.attacks()?,
            learners: &self.learners()?,
            trials,
            batch: control.batch,
            progress: control.progress,
            stop: control.stop,
        };
        let complete = driver.run(state, rows);
        control.progress.end();
        self.say_usage(control.progress);
        complete
    }

    /// Trials that an earlier process made.
    fn done(&self, state: &State) -> u64 {
        let rows = |series| state.counts[journalled_cells(&self.plan, series)[0]].rows;
        (0..self.plan.series.len()).map(rows).sum()
    }

    /// The counted trials. The time that an earlier process spent is not known, and a partial time is not given
    /// instead.
    fn trials(&self, state: State, resumed: bool) -> Trials {
        let seconds = |seconds: &f64| (!resumed).then_some(*seconds);
        let attacks = self.plan.series.iter().flat_map(|s| s.attacks.clone());
        Trials {
            seconds: state.seconds.iter().map(seconds).collect(),
            counts: state.counts,
            attacks: attacks.collect(),
            contexts: self.contexts(),
        }
    }

    /// Continues the run in `directory`, which must be of this configuration.
    pub(super) fn go_on(
        &self,
        directory: RunDir,
        mut manifest: Manifest,
        mut journal: Option<Journal>,
        mut state: State,
        control: &Control<'_>,
    ) -> Result<Ended> {
        let resumed = self.done(&state) > 0;
        let rows: RowSink<'_> = match &mut journal {
            Some(journal) => Some(journal),
            None => None,
        };
        let complete = self.drive(&manifest.cells, &mut state, rows, control);
        if complete.is_err() {
            // This is the error that the user must see; if writing fails too, the run is left as after a kill.
            manifest.status = Status::Interrupted;
            let _ = manifest.save(directory.path());
        }
        manifest.servers = serde_json::to_value(self.models.usage())
            .map_err(|e| Error::failed(format!("cannot write what servers cost: {e}")))?;
        if !complete? {
            manifest.status = Status::Interrupted;
            manifest.save(directory.path())?;
            let path = directory.path().to_owned();
            return Ok(Ended::Interrupted(path, self.config.keep));
        }
        manifest.texts_sha256 = Some(texts::write(directory.path(), &self.texts())?);
        Ok(Ended::Made(Box::new(Made {
            directory,
            manifest,
            journal,
            trials: self.trials(state, resumed),
        })))
    }

    /// The lists of texts that candidates are drawn from.
    fn texts(&self) -> Vec<&[String]> {
        self.plan.corpora.iter().map(|c| &c.texts[..]).collect()
    }

    /// Reports how many requests servers got and how often they failed.
    fn say_usage(&self, progress: &dyn Progress) {
        for (server, usage) in self.models.usage() {
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
            progress.note(&format!(
                "{server}: {} requests, {} of them repeated ({failures}), {} answers from the cache, {} tokens",
                usage.requests, usage.retries, usage.cached, usage.tokens
            ));
        }
    }

    /// The attacks that guess while trials are made, `[series][attack]`; a blind one if a series has none.
    pub(super) fn attacks(&self) -> Result<Vec<Vec<Arc<dyn Attack>>>> {
        let contexts = self.contexts();
        let build = |series: &Series| {
            let mut attacks: Vec<Arc<dyn Attack>> = Vec::new();
            for (_, attack) in series.scoring() {
                if let Built::Scores(attack) = attack.build(&contexts[series.corpus])? {
                    attacks.push(attack);
                }
            }
            if attacks.is_empty() {
                attacks.push(Arc::new(trial::Blind));
            }
            Ok(attacks)
        };
        self.plan.series.iter().map(build).collect()
    }

    /// The attack that learns while a series hunts for its worst pair, `[series]`.
    fn learners(&self) -> Result<Vec<Option<Arc<dyn Learner>>>> {
        let contexts = self.contexts();
        let build = |series: &Series| {
            if !matches!(series.sets, Sets::Hunted(_)) {
                return Ok(None);
            }
            Ok(match series.attacks[0].build(&contexts[series.corpus])? {
                Built::Learns(learner) => Some(learner),
                Built::Scores(_) => None,
            })
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
            writer: self.models.writer.clone(),
        };
        self.plan.corpora.iter().map(context).collect()
    }

    /// One record per data set, however many corpora were derived from it.
    pub(super) fn dataset_records(&self) -> Vec<DatasetRecord> {
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

/// The configuration's first mechanism at its first ε on its first data set, for rewriting only.
///
/// # Errors
/// Usage, for anything in the configuration that cannot be satisfied; failed, if a model cannot be loaded.
pub fn mechanism(config: &Config, access: &Access) -> Result<Arc<dyn Mechanism>> {
    config.validate()?;
    let models = Models::load(&config.wanted(), access)?;
    let request = &config.datasets[0];
    let dataset = teda_datasets::load(request, access.limits, &mut std::io::stdin())?;
    let source = &config.mechanisms[0];
    let epsilon = source.grid(config.epsilons.as_deref())?[0];
    let mechanism = source.instance(
        &models.context(dataset.texts.into()),
        epsilon,
        &config.settings(source)?,
        config.claim.as_ref(),
        models.programs(),
    )?;
    Ok(models.followed(mechanism))
}
