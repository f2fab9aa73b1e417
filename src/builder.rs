//! The public interface: [`Audit`] says what to audit and how, [`Report`] holds the results.

mod report;
mod running;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rayon::ThreadPool;
use teda_attacks::{Built, Choice, Context};
use teda_core::{Attack, Encoder, Error, Learner, Mechanism, Neighbours, Result};
use teda_datasets::{Dataset, Limits, Request};
use teda_results::{Manifest, texts};

use crate::audit::choices::{Attacks, EstimatorChoice};
use crate::audit::config::Config;
use crate::audit::pairs::Pairs;
use crate::audit::progress::{Progress, Silent};
use crate::audit::source::{Claim, Source};
use crate::audit::stopping::Until;
use crate::models::Access;

pub use self::report::Report;

/// Trials per batch by default.
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
    /// Whether a run that is in `out` is gone on with.
    go_on: bool,
    batch: u64,
    /// How many trials are made twice.
    twice: u64,
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

    /// Audits a mechanism of this program at each of `epsilons`: `make` makes it at one of them. Results call it `own`;
    /// [`Audit::named`] gives it a name.
    #[must_use]
    pub fn grid<M: Mechanism + 'static>(
        epsilons: impl IntoIterator<Item = f64>,
        make: impl Fn(f64) -> Result<M> + Send + Sync + 'static,
    ) -> Self {
        let make = move |epsilon| -> Result<Arc<dyn Mechanism>> { Ok(Arc::new(make(epsilon)?)) };
        Self::from_source(Ok(Source::grid_of("own", Arc::new(make)))).epsilons(epsilons)
    }

    /// Runs what a configuration says: everything that the command line can ask for.
    #[must_use]
    pub fn configured(config: Config) -> Self {
        Self::from_config(Ok(config))
    }

    /// Goes on with the run in `directory`, which has its configuration. What the program that made it brought, it
    /// brings again: [`Audit::source`], [`Audit::attack`] under the same names, [`Audit::encoder`]. Its texts are in the
    /// directory, unless its neighbours are [`Neighbours::OneToken`]; then [`Audit::texts`] brings them, too.
    ///
    /// A run that is complete is opened as it is.
    #[must_use]
    pub fn resume(directory: &Path) -> Self {
        let stored = stored(directory);
        let (config, texts) = match stored {
            Ok((config, texts)) => (Ok(config), texts),
            Err(error) => (Err(error), None),
        };
        let mut audit = Self::from_config(config).out(directory).go_on();
        audit.texts = texts;
        audit
    }

    fn from_source(source: Result<Source>) -> Self {
        Self::from_config(source.map(|source| Config::new(vec![source])))
    }

    fn from_config(config: Result<Config>) -> Self {
        Self {
            config,
            texts: None,
            encoder: None,
            access: Access::default(),
            out: None,
            go_on: false,
            batch: BATCH,
            twice: 0,
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

    /// The mechanism itself, where a run that is gone on with has only its name.
    #[must_use]
    pub fn source(self, mut source: Source) -> Self {
        self.set(|config| {
            if let [named] = &mut config.mechanisms[..] {
                source.rename(&named.name());
                *named = source;
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
        self.own_attack(Choice::own(name, Built::Scores(Arc::new(attack))))
    }

    /// Like [`Self::attack`], for an attack that learns from the first trials.
    #[must_use]
    pub fn learner(self, name: &str, attack: impl Learner + 'static) -> Self {
        self.own_attack(Choice::own(name, Built::Learns(Arc::new(attack))))
    }

    /// Like [`Self::attack`], for an attack that is made of what those of the registry are made of: the texts that
    /// candidates are indices of, the encoder and its vectors of them, the token map.
    #[must_use]
    pub fn attack_made_by(
        self,
        name: &str,
        make: impl Fn(&Context) -> Result<Box<dyn Attack>> + Send + Sync + 'static,
    ) -> Self {
        self.own_attack(Choice::made(name, Arc::new(make)))
    }

    fn own_attack(self, own: Result<Choice>) -> Self {
        let go_on = self.go_on;
        self.with(|config| {
            let mut named = config.attacks.named().to_vec();
            let own = own?;
            // A run that is gone on with names it already, and another's is refused by its name.
            match named.iter_mut().find(|known| go_on && **known == own) {
                Some(known) => *known = own,
                None => named.push(own),
            }
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

    /// Begins the run in the directory of [`Self::out`], goes on with it if it was stopped, and opens it if it is
    /// complete: the same program until it is done.
    #[must_use]
    pub fn go_on(mut self) -> Self {
        self.go_on = true;
        self
    }

    /// Measures what the releases are still good for, by the names of `teda list utilities`; the run needs a
    /// directory ([`Self::out`]).
    #[must_use]
    pub fn utilities<N: Into<String>>(self, names: impl IntoIterator<Item = N>) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        self.set(|config| config.utilities = names)
    }

    /// Trials that are handed to the mechanism at once; 64 by default. It changes no result of a mechanism whose
    /// releases do not depend on each other.
    #[must_use]
    pub fn batch(mut self, trials: u64) -> Self {
        self.batch = trials;
        self
    }

    /// Makes the first `trials` twice, to see whether a mechanism follows its seeds. If it does not, the run is
    /// recorded as not reproducible, with a note.
    #[must_use]
    pub fn make_twice(mut self, trials: u64) -> Self {
        self.twice = trials;
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
}

/// The configuration of the run in `directory`, and its texts where they came from the program that made it.
fn stored(directory: &Path) -> Result<(Config, Option<Dataset>)> {
    let manifest = Manifest::load(directory)?;
    let config = Config::of_run(&manifest, directory)?;
    let own = config.datasets.is_empty() && config.recorded().is_none();
    let texts = match &manifest.texts_sha256 {
        // Of one-token neighbours the directory has the sets that were made of the texts.
        Some(sha256) if own && config.neighbours == Neighbours::AnyTexts => {
            let lists = texts::read(directory, sha256)?;
            let list = lists.into_iter().next().unwrap_or_default();
            Some(Dataset::of_texts("texts", list)?)
        }
        _ => None,
    };
    Ok((config, texts))
}
