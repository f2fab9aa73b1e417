//! The public interface: [`Audit`] says what to audit and how, [`Report`] holds the results.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rayon::ThreadPool;
use teda_attacks::{Built, Choice};
use teda_core::{Attack, Encoder, Error, Learner, Mechanism, Neighbours, Result};
use teda_datasets::{Dataset, Limits, Request};
use teda_results::{Cell, Document};

use crate::audit::choices::{Attacks, EstimatorChoice};
use crate::audit::config::Config;
use crate::audit::pairs::Pairs;
use crate::audit::progress::{Progress, Silent};
use crate::audit::run::{Control, Ended, Prepared};
use crate::audit::source::{Claim, Source};
use crate::audit::stopping::Until;
use crate::models::{Access, Models};
use crate::report::curves::View;
use crate::report::{finish, finished_run, table};

/// Trials per batch.
const BATCH: u64 = 64;

/// An audit to run: who can tell which of k texts was rewritten?
///
/// Defaults are those of `teda audit`: two candidates drawn far apart, 10,000 trials, the attacks and estimators that
/// fit, seed 0. Invalid names are reported by [`Audit::run`].
pub struct Audit {
    /// Or the first error in it.
    config: Result<Config>,
    texts: Option<Dataset>,
    encoder: Option<Arc<dyn Encoder>>,
    access: Access,
    out: Option<PathBuf>,
    stop: Arc<AtomicBool>,
    progress: Arc<dyn Progress>,
    pool: Option<Arc<ThreadPool>>,
}

impl Audit {
    /// Audits a mechanism of this program. Results call it `own`; [`Audit::named`] gives it a name.
    #[must_use]
    pub fn new(mechanism: impl Mechanism + 'static) -> Self {
        Self::from_source(Ok(Source::own("own", Arc::new(mechanism))))
    }

    /// Like [`Self::new`], for a boxed mechanism.
    #[must_use]
    pub fn boxed(mechanism: Box<dyn Mechanism>) -> Self {
        Self::from_source(Ok(Source::own("own", mechanism.into())))
    }

    /// Audits a mechanism by name: one of the registry, or `exec:COMMAND`.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let source = Source::parse(name).and_then(|source| match source.recorded() {
            None => Ok(source),
            Some(_) => Err(Error::usage(
                "recorded releases are audited by the command: teda audit --releases FILE",
            )),
        });
        Self::from_source(source)
    }

    fn from_source(source: Result<Source>) -> Self {
        let config = source.map(|source| Config::new(vec![source]));
        Self {
            config,
            texts: None,
            encoder: None,
            access: Access::default(),
            out: None,
            stop: Arc::default(),
            progress: Arc::new(Silent),
            pool: None,
        }
    }

    fn with(mut self, set: impl FnOnce(&mut Config) -> Result<()>) -> Self {
        self.config = self.config.and_then(|mut config| {
            set(&mut config)?;
            Ok(config)
        });
        self
    }

    fn set(self, set: impl FnOnce(&mut Config)) -> Self {
        self.with(|config| {
            set(config);
            Ok(())
        })
    }

    /// The name of this program's mechanism in results and seeds.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        self.set(|config| {
            for source in &mut config.mechanisms {
                source.rename(name);
            }
        })
    }

    /// The nominal ε at which a mechanism of the registry, or a program, is run, such as
    /// [`TEDA`](crate::audit::epsilons::TEDA).
    #[must_use]
    pub fn epsilons(self, epsilons: impl IntoIterator<Item = f64>) -> Self {
        let epsilons = epsilons.into_iter().collect();
        self.set(|config| config.epsilons = Some(epsilons))
    }

    /// Sets a parameter of a mechanism of the registry.
    #[must_use]
    pub fn parameter(self, name: &str, value: &str) -> Self {
        self.set(|config| config.set.push((name.to_owned(), value.to_owned())))
    }

    /// The model that rewrites every release once more, named as for `--then`: post-processing, which leaves the
    /// mechanism's claim as it is.
    #[must_use]
    pub fn then(self, model: &str) -> Self {
        self.set(|config| config.then = Some(model.to_owned()))
    }

    /// What a program claims: `epsilon=2,delta=0,neighbours=any-texts`.
    #[must_use]
    pub fn claim(self, claim: &str) -> Self {
        self.with(|config| {
            config.claim = Some(Claim::parse(claim)?);
            Ok(())
        })
    }

    /// The texts that candidates are drawn from.
    #[must_use]
    pub fn texts<T: Into<String>>(mut self, texts: impl IntoIterator<Item = T>) -> Self {
        let texts = texts.into_iter().map(Into::into);
        match Dataset::of_texts("texts", texts) {
            Ok(texts) => self.texts = Some(texts),
            Err(error) => self.config = self.config.and(Err(error)),
        }
        self
    }

    /// A data set that ships with teda, or a file, named as for `--dataset`.
    #[must_use]
    pub fn dataset(self, name: &str) -> Self {
        self.set(|config| {
            config.datasets = vec![Request {
                source: name.to_owned(),
                ..Request::default()
            }];
        })
    }

    /// Attacks by name.
    #[must_use]
    pub fn attacks<N: AsRef<str>>(self, names: impl IntoIterator<Item = N>) -> Self {
        let names = names.into_iter().map(|name| name.as_ref().to_owned());
        let names: Vec<String> = names.collect();
        self.with(|config| {
            config.attacks = Attacks::parse(&names)?;
            Ok(())
        })
    }

    /// Adds an attack of this program to those that [`Self::attacks`] names; it runs alone if none are named.
    #[must_use]
    pub fn attack(self, name: &str, attack: impl Attack + 'static) -> Self {
        self.own_attack(name, Built::Scores(Arc::new(attack)))
    }

    /// Like [`Self::attack`], for an attack that learns from the first trials.
    #[must_use]
    pub fn learner(self, name: &str, attack: impl Learner + 'static) -> Self {
        self.own_attack(name, Built::Learns(Arc::new(attack)))
    }

    fn own_attack(self, name: &str, attack: Built) -> Self {
        self.with(|config| {
            let mut named = config.attacks.named().to_vec();
            named.push(Choice::own(name, attack)?);
            config.attacks = Attacks::Named(named);
            Ok(())
        })
    }

    /// The sentence encoder for candidate sampling and attacks.
    #[must_use]
    pub fn encoder(mut self, encoder: impl Encoder + 'static) -> Self {
        self.encoder = Some(Arc::new(encoder));
        self
    }

    /// Candidates per trial.
    #[must_use]
    pub fn k(self, k: usize) -> Self {
        self.set(|config| config.ks = vec![k])
    }

    /// How candidate sets are drawn: below 0 diverse texts, at 0 uniformly, above 0 similar texts.
    #[must_use]
    pub fn lambda(self, lambda: f64) -> Self {
        self.set(|config| config.lambdas = vec![lambda])
    }

    /// The pairs of texts to tell apart.
    #[must_use]
    pub fn neighbours(self, neighbours: Neighbours) -> Self {
        self.set(|config| config.neighbours = neighbours)
    }

    /// How candidate sets are chosen: anew for every trial, or by a hunt.
    #[must_use]
    pub fn pairs(self, pairs: Pairs) -> Self {
        self.set(|config| config.pairs = pairs)
    }

    /// Trials per cell.
    #[must_use]
    pub fn trials(self, trials: u64) -> Self {
        self.set(|config| config.trials = trials)
    }

    /// Two-sided level: a bound exceeds the truth with probability at most α/2.
    #[must_use]
    pub fn alpha(self, alpha: f64) -> Self {
        self.set(|config| config.alpha = alpha)
    }

    /// The δ of the (ε, δ) to bound; by default that of the mechanism's claim.
    #[must_use]
    pub fn delta(self, delta: f64) -> Self {
        self.set(|config| config.delta = Some(delta))
    }

    /// The estimator by name; `auto` for the one that fits each attack.
    #[must_use]
    pub fn estimator(self, name: &str) -> Self {
        self.with(|config| {
            config.estimator = EstimatorChoice::parse(name)?;
            Ok(())
        })
    }

    /// When a cell stops before its last trial.
    #[must_use]
    pub fn until(self, until: Until) -> Self {
        self.set(|config| config.until = until)
    }

    /// The root of all randomness.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        self.set(|config| config.seed = seed)
    }

    /// How models and programs are reached.
    #[must_use]
    pub fn access(mut self, access: Access) -> Self {
        self.access = access;
        self
    }

    /// Keeps the run in this new directory, where `teda report` finds it. Without it, the run is kept in memory and
    /// discarded with the report.
    #[must_use]
    pub fn out(mut self, directory: impl Into<PathBuf>) -> Self {
        self.out = Some(directory.into());
        self
    }

    /// Maximum sizes of a data set and of each of its texts, where the default limits are too narrow or too wide.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.access.limits = limits;
        self
    }

    /// A flag that stops the audit once it is set.
    #[must_use]
    pub fn stop_flag(mut self, stop: Arc<AtomicBool>) -> Self {
        self.stop = stop;
        self
    }

    /// Receives progress.
    #[must_use]
    pub fn progress(mut self, progress: impl Progress + 'static) -> Self {
        self.progress = Arc::new(progress);
        self
    }

    /// Number of threads; rayon's default if not set. It does not change any result.
    #[must_use]
    pub fn pool(mut self, pool: Arc<ThreadPool>) -> Self {
        self.pool = Some(pool);
        self
    }

    /// Runs the audit.
    ///
    /// # Errors
    /// Usage, for an invalid name or combination; failed, if a mechanism, an attack or a model fails, a file cannot be
    /// written, or the flag is set before the last trial.
    pub fn run(self) -> Result<Report> {
        match self.pool.clone() {
            Some(pool) => pool.install(|| self.run_here()),
            None => self.run_here(),
        }
    }

    /// Loads and builds everything without making any trial: the starting point for simulating many audits.
    ///
    /// # Errors
    /// Usage, for an invalid name or combination; failed, if a model cannot be loaded.
    pub fn prepare(self) -> Result<Prepared> {
        let mut config = self.config?;
        config.validate()?;
        let mut models = Models::load(&config.wanted(), &self.access)?;
        if let Some(encoder) = self.encoder {
            models.use_encoder(encoder);
        }
        let datasets = match self.texts {
            Some(texts) => {
                config.datasets = Vec::new();
                vec![texts]
            }
            None => config.load(self.access.limits)?,
        };
        Prepared::of(config, models, datasets)
    }

    fn run_here(mut self) -> Result<Report> {
        let (out, stop, progress) = (self.out.take(), self.stop.clone(), self.progress.clone());
        let prepared = self.prepare()?;
        let notes = prepared.notes();
        for note in &notes {
            progress.note(note);
        }
        let control = Control {
            batch: BATCH,
            stop: &stop,
            progress: &*progress,
        };
        let Some(out) = &out else {
            let Some(made) = prepared.in_memory(&control)? else {
                return Err(Error::failed(
                    "the audit was stopped before its last trial: nothing was kept",
                ));
            };
            return Ok(Report {
                directory: None,
                notes,
                cells: finish::in_memory(made)?,
            });
        };
        match prepared.begin(Some(out), &control)? {
            Ended::Made(made) => {
                let (directory, cells) = finish::write(*made)?;
                Ok(Report {
                    directory: Some(directory),
                    notes,
                    cells,
                })
            }
            Ended::Interrupted(directory, _) => Err(Error::failed(format!(
                "{}: the audit was stopped before its last trial",
                directory.display()
            ))),
        }
    }
}

/// The results of an audit: a cell for each ε and attack, with its bound.
#[derive(Debug, Clone)]
pub struct Report {
    directory: Option<PathBuf>,
    notes: Vec<String>,
    cells: Vec<Cell>,
}

impl Report {
    /// A report on the finished run in `directory`, from its stored rows.
    ///
    /// # Errors
    /// Usage, if there is no run or it is not complete; failed, if its files are not those that the run wrote.
    pub fn open(directory: &Path) -> Result<Self> {
        let run = finished_run::open(directory)?;
        Ok(Self {
            cells: run.judge_as_it_was()?,
            directory: Some(directory.to_owned()),
            notes: Vec::new(),
        })
    }

    /// One entry per cell: its counts, its bound and what the bound says.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Notes from before the first trial, which `teda audit` prints on standard error: what became of the data, which
    /// attacks were left out and why. Empty for a report made by [`Self::open`]: runs do not store their notes.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Where the run is kept, if it was kept.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// The table that `teda audit` prints after the notes.
    #[must_use]
    pub fn table(&self) -> String {
        let notes = self.notes.iter().map(|note| format!("{note}\n"));
        notes.collect::<String>() + &table::render(&self.cells)
    }

    /// The document `teda.audit/1` as one line.
    ///
    /// # Errors
    /// Failed, if a number cannot be written.
    pub fn to_json(&self) -> Result<String> {
        let directory = self.directory.as_ref().map(|d| d.display().to_string());
        Document::new(directory, self.cells.clone()).to_line()
    }

    /// Writes the cells as JSON, CSV and curves into a directory.
    ///
    /// # Errors
    /// Failed, if a file cannot be written.
    pub fn write(&self, directory: &Path) -> Result<()> {
        std::fs::create_dir_all(directory)
            .map_err(|e| Error::failed(format!("{}: cannot create: {e}", directory.display())))?;
        finish::write_results(directory, &self.cells, &[], View::default())
    }
}
