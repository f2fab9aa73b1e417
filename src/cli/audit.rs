//! `teda audit`: the main job.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::{Args, ValueEnum};
use teda_attacks::Choice;
use teda_core::{Error, Neighbours, Result};
use teda_datasets::Request;
use teda_mechanisms::registry::{self, Kind};
use teda_server::Budget;

use super::Outcome;
use super::output::{self, Format, print, table};
use crate::config::{Config, Keep};
use crate::hunt::Pairs;
use crate::lineup::AUTO;
use crate::models::Access;
use crate::outside::{self, EXEC, RELEASES};
use crate::recorded;
use crate::run::{Ended, Pace, Prepared, resume};
use crate::until::Until;
use crate::warnings;

/// Measures an empirical epsilon: who can tell which of k texts was rewritten?
///
/// Runs every combination of the lists given. Results go to standard output and, with every trial,
/// to a run directory; progress goes to standard error.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Mechanisms to audit (see `teda list mechanisms`); `all` for every rewriter; `exec:COMMAND` for a
    /// program of your own (repeatable; see examples/)
    #[arg(long, value_name = "NAME,…", required_unless_present_any = ["resume", "releases"])]
    mech: Vec<String>,
    /// Audits what a mechanism released earlier: FILE.{jsonl,csv,tsv,parquet} (or .gz of it) with columns
    /// source, release and, where there is one, epsilon; each release is used once at most
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["mech", "dataset", "split", "limit", "min_words", "max_words", "lambda",
            "neighbours", "set", "preset", "processes", "timeout"]
    )]
    releases: Option<String>,
    /// What a mechanism from outside claims: epsilon=E (the nominal one when left out), delta=D,
    /// neighbours=any-texts|one-token, unit=text
    #[arg(long, value_name = "KEY=VALUE,…")]
    claim: Option<String>,
    /// Nominal epsilons to run; each mechanism's own grid when left out
    #[arg(
        long,
        value_name = "E,…",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    epsilon: Option<Vec<f64>>,
    #[command(flatten)]
    data: DataArguments,
    /// Attacks, all on the same releases (see `teda list attacks`); auto: learned (which learns from the first
    /// trials and is judged on the others), embedding, and likelihood-ratio where the mechanism knows exactly how
    /// likely its releases are. learned:share=S,most=N sets how many trials it learns from
    #[arg(long, value_name = "NAME,…", default_value = AUTO)]
    attack: Vec<String>,
    /// Candidates a trial
    #[arg(long, value_name = "K,…", value_delimiter = ',', default_value = "2")]
    k: Vec<usize>,
    /// How candidate sets are drawn: below 0 diverse texts, 0 uniformly, above 0 similar texts
    #[arg(
        long,
        value_name = "L,…",
        value_delimiter = ',',
        default_value = "-10000",
        allow_hyphen_values = true
    )]
    lambda: Vec<f64>,
    /// Which texts are told apart
    #[arg(long, value_enum, default_value = "any-texts")]
    neighbours: Relation,
    /// Which candidate sets: drawn anew for every trial, or hunt=N: the first third of the trials finds which of N
    /// sets shows most, and the others, which alone are counted, are of that one; takes one attack
    #[arg(long, value_name = "RULE", default_value = "drawn")]
    pairs: Pairs,
    /// Trials a cell [default: 10000; with --releases as many as they are good for]
    #[arg(long, value_name = "T")]
    trials: Option<u64>,
    /// Two-sided confidence level: 0.01 gives 99 %; the lower bound spends half of it
    #[arg(
        long,
        value_name = "A",
        default_value_t = 0.01,
        allow_hyphen_values = true
    )]
    alpha: f64,
    /// Delta of the (epsilon, delta) that is bounded
    #[arg(
        long,
        value_name = "D",
        default_value_t = 0.0,
        allow_hyphen_values = true
    )]
    delta: f64,
    /// How the bound is computed (see `teda list estimators`); auto: abstain for attacks that learn, teda for
    /// others, anytime with --until
    #[arg(long, value_name = "NAME", default_value = AUTO)]
    estimator: String,
    /// Stops a cell when its claim is refuted or will not be (`decided`), or when its interval is narrow
    /// enough (`width=0.1`), and at --trials at the latest; the result is valid all the same
    #[arg(long, value_name = "RULE", default_value = "trials")]
    until: Until,
    #[command(flatten)]
    model: ModelArguments,
    /// Language model that the attack `llm` judges with: auto (that of --llm), builtin, a model of
    /// `teda models list`, a repository of the hub, a path, or a server; and how: :by=likelihood (of the release, given each candidate; what a model in the process does) or
    /// :by=prompt (asked which candidate, in TeDA's words; what a server does)
    #[arg(long, value_name = "MODEL", default_value = "auto")]
    judge: String,
    /// Computes only the I-th of N parts of every cell's trials; `teda merge` joins them
    #[arg(long, value_name = "I/N", value_parser = parse_shard)]
    shard: Option<(u32, u32)>,
    /// What a run keeps of its trials; changes no result
    #[arg(long, value_enum, default_value = "rows")]
    keep: Keep,
    /// Run directory; results/runs/TIME-MECHANISMS-DATASET when left out
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Goes on with a run that was stopped; everything but --threads, --batch, --memory, --offline,
    /// --max-requests, --max-tokens, --format and --quiet is as it began
    #[arg(
        long,
        value_name = "RUN",
        conflicts_with_all = ["mech", "releases", "claim", "epsilon", "dataset", "split", "limit", "min_words", "max_words",
            "attack", "k", "lambda", "neighbours", "pairs", "trials", "alpha", "delta", "estimator", "until", "set",
            "preset", "seed", "encoder", "llm", "judge", "shard", "keep", "out", "dry_run"]
    )]
    resume: Option<PathBuf>,
    #[command(flatten)]
    pace: PaceArguments,
    /// How the result is printed
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// No progress and no notes on standard error
    #[arg(long)]
    quiet: bool,
    /// Shows the cells that would be computed and how long that would take, and stops
    #[arg(long)]
    dry_run: bool,
}

/// Trials of a cell, where none are asked for.
const TRIALS: u64 = 10_000;

const EXAMPLES: &str = "Examples:
  teda audit --mech privrewrite --k 2 --trials 10000
  teda audit --mech krr,krr-half-noise --limit 2 --lambda 0 --trials 1000000
  teda audit --mech em --epsilon 1,10,100 --dataset reviews.csv:body --attack embedding,random
  teda audit --mech em --attack embedding,llm --judge smollm2-135m:by=prompt --trials 200
  teda audit --mech krr,em --epsilon 1,4 --until decided --trials 1000000
  teda audit --mech grr,oue,olh --dataset categories:2 --attack likelihood-ratio --estimator abstain
  teda audit --mech grr --dataset categories:2 --attack likelihood-ratio --keep counts --trials 100000000
  teda audit --mech exec:\"python3 my_mechanism.py\" --epsilon 2 --claim neighbours=any-texts
  teda audit --releases rewritten.csv --claim neighbours=any-texts
  teda audit --mech privrewrite --preset paper --set tau=0.9 --epsilon 2 --format json
  teda audit --mech identity --shard 1/4 --out part1";

/// Where the texts come from.
#[derive(Args)]
pub struct DataArguments {
    /// Data sets: a shipped name (see `teda data list`), a file FILE.{jsonl,csv,tsv,parquet,txt} (or
    /// .gz of it; FILE:COLUMN names the column), or - for standard input
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        default_value = "snips"
    )]
    dataset: Vec<String>,
    /// Part of the data set; `all` for every part
    #[arg(long, value_name = "NAME")]
    split: Option<String>,
    /// Only the first N distinct texts
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Only texts of at least N words
    #[arg(long, value_name = "N")]
    min_words: Option<usize>,
    /// Only texts of at most N words
    #[arg(long, value_name = "N")]
    max_words: Option<usize>,
}

impl DataArguments {
    /// One request a data set.
    pub fn requests(&self) -> Vec<Request> {
        self.dataset
            .iter()
            .map(|source| Request {
                source: source.clone(),
                split: self.split.clone(),
                limit: self.limit,
                min_words: self.min_words,
                max_words: self.max_words,
            })
            .collect()
    }
}

/// How mechanisms and models are set up.
#[derive(Args)]
pub struct ModelArguments {
    /// Sets a mechanism's parameter (repeatable; see `teda list mechanisms`)
    #[arg(long, value_name = "NAME=VALUE", value_delimiter = ',', value_parser = parse_setting)]
    pub set: Vec<(String, String)>,
    /// A named set of parameter values, such as `paper`
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// Root of all randomness
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Sentence encoder: builtin, a model of `teda models list`, a repository of the hub, a path, or a
    /// server (http://…/v1?model=NAME)
    #[arg(long, value_name = "MODEL", default_value = "builtin")]
    pub encoder: String,
    /// Language model that mechanisms rewrite with: builtin (one that fills gaps and one that generates;
    /// builtin:mask=SHARE,rounds=N for the former), a model of `teda models list` (:chat=no leaves its
    /// chat template out), a repository of the hub, a path, or a server
    #[arg(long, value_name = "MODEL", default_value = "builtin")]
    pub llm: String,
    #[command(flatten)]
    access: AccessArguments,
}

/// How models are reached.
#[derive(Args)]
pub struct AccessArguments {
    /// Fetches no models: what is not on this machine is an error
    #[arg(long)]
    offline: bool,
    /// Memory for the keys and values of language models, in MiB; the tables of mechanisms such as em may
    /// take a quarter of as much besides. Changes the speed and no result
    #[arg(long, value_name = "MIB", default_value_t = 2048, value_parser = clap::value_parser!(u32).range(1..))]
    memory: u32,
    /// Requests to servers at most, repeated ones included; the run can be resumed with more
    #[arg(long, value_name = "N")]
    max_requests: Option<u64>,
    /// Tokens paid to servers at most, prompts included; the run can be resumed with more
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// Processes of a program (exec:…) at once; one a core when left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    processes: Option<u16>,
    /// Seconds that such a process may be silent, its start included
    #[arg(long, value_name = "S", default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..))]
    timeout: u32,
}

impl AccessArguments {
    /// As the loader of models wants it.
    pub fn access(&self, quiet: bool) -> Access {
        let cores = rayon::current_num_threads();
        outside::Pace {
            processes: self.processes.map_or(cores, usize::from),
            timeout: Duration::from_secs(self.timeout.into()),
        }
        .set();
        Access {
            offline: self.offline,
            quiet,
            memory: (self.memory as usize) << 20,
            budget: Budget {
                max_requests: self.max_requests,
                max_tokens: self.max_tokens,
            },
        }
    }
}

impl ModelArguments {
    /// How models are reached.
    pub fn access(&self, quiet: bool) -> Access {
        self.access.access(quiet)
    }

    /// The configuration of an audit of these mechanisms, with the defaults of everything else.
    pub fn config(
        &self,
        mechanisms: Vec<String>,
        epsilons: Option<Vec<f64>>,
        datasets: Vec<Request>,
    ) -> Config {
        Config {
            mechanisms,
            epsilons,
            set: self.set.clone(),
            preset: self.preset.clone(),
            claim: None,
            datasets,
            attacks: vec![AUTO.into()],
            ks: vec![2],
            lambdas: vec![0.0],
            neighbours: Neighbours::AnyTexts,
            pairs: Pairs::Drawn,
            trials: 1,
            alpha: 0.01,
            delta: 0.0,
            estimator: AUTO.into(),
            until: Until::Trials,
            seed: self.seed,
            llm: self.llm.clone(),
            encoder: self.encoder.clone(),
            judge: "auto".into(),
            shard: None,
            keep: Keep::Rows,
        }
    }
}

/// How fast trials are made.
#[derive(Args)]
pub struct PaceArguments {
    #[command(flatten)]
    pub speed: SpeedArguments,
    /// Trials computed together; changes the speed and no result
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub batch: u64,
}

/// How many cores are used.
#[derive(Args)]
pub struct SpeedArguments {
    /// Threads; changes the speed and no result. All cores when left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

impl SpeedArguments {
    /// Sets up the thread pool of this process.
    pub fn apply(&self) -> Result<()> {
        let threads = self.threads.map_or(0, usize::from);
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global()
            .map_err(|e| Error::failed(format!("cannot start threads: {e}")))
    }
}

/// The relations that candidate sets can be drawn under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Relation {
    /// Any two texts of the data set (TeDA)
    AnyTexts,
    /// A text and copies of it with another word at one place: what token-level claims speak of
    OneToken,
}

impl From<Relation> for Neighbours {
    fn from(relation: Relation) -> Self {
        match relation {
            Relation::AnyTexts => Self::AnyTexts,
            Relation::OneToken => Self::OneToken,
        }
    }
}

fn parse_shard(text: &str) -> std::result::Result<(u32, u32), String> {
    let wrong = || format!("'{text}' is no shard: write I/N, such as 1/4");
    let (part, parts) = text.split_once('/').ok_or_else(wrong)?;
    match (part.parse(), parts.parse()) {
        (Ok(part), Ok(parts)) if part >= 1 && part <= parts => Ok((part, parts)),
        (Ok(_), Ok(parts)) => Err(format!("'{text}': the part goes from 1 to {parts}")),
        _ => Err(wrong()),
    }
}

fn parse_setting(text: &str) -> std::result::Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("'{text}': write NAME=VALUE, such as tau=0.9"))?;
    Ok((name.to_owned(), value.to_owned()))
}

impl Arguments {
    pub fn run(self) -> Result<Outcome> {
        self.pace.speed.apply()?;
        let interrupted = stop_on_interrupt()?;
        let pace = Pace {
            batch: self.pace.batch,
            quiet: self.quiet,
            interrupted: &interrupted,
        };
        let access = self.model.access(self.quiet);
        let ended = if let Some(directory) = &self.resume {
            resume(directory, &access, &pace)?
        } else {
            let config = self.config()?;
            let trials = config.trials;
            let prepared = Prepared::new(config, &access)?;
            if self.dry_run {
                print(&dry_run(&prepared, trials)?)?;
                return Ok(Outcome::Done);
            }
            if !self.quiet {
                prepared
                    .plan
                    .corpora
                    .iter()
                    .for_each(|corpus| eprintln!("{}", corpus.summary()));
                prepared
                    .plan
                    .notes
                    .iter()
                    .for_each(|note| eprintln!("{note}"));
            }
            prepared.begin(self.out.as_deref(), &pace)?
        };
        match ended {
            Ended::Complete(directory, cells) => {
                if !self.quiet {
                    warnings::say(&cells);
                }
                print(&output::cells(self.format, &directory, cells)?)?;
                self.say_where(&directory);
                Ok(Outcome::Done)
            }
            Ended::Interrupted(directory, keep) => {
                let how = match keep {
                    Keep::Rows => "go on",
                    Keep::Counts => "without rows, begin again",
                };
                eprintln!(
                    "interrupted; {how} with: teda audit --resume {}",
                    directory.display()
                );
                Ok(Outcome::Interrupted)
            }
        }
    }

    /// The configuration that these flags ask for.
    ///
    /// # Errors
    /// Usage, where recorded releases cannot be read to know how many trials they are good for.
    pub fn config(&self) -> Result<Config> {
        let recorded = self.releases.as_ref();
        let (mechanisms, datasets, lambdas) = match recorded {
            Some(file) => (vec![format!("{RELEASES}{file}")], Vec::new(), vec![0.0]),
            None => (self.mechanisms(), self.data.requests(), self.lambda.clone()),
        };
        let trials = match (self.trials, recorded) {
            (Some(trials), _) => trials,
            (None, Some(file)) => {
                recorded::most_trials(Path::new(file), self.epsilon.as_deref(), &self.k)?
            }
            (None, None) => TRIALS,
        };
        Ok(Config {
            attacks: self
                .attack
                .iter()
                .flat_map(|list| Choice::split(list))
                .collect(),
            ks: self.k.clone(),
            lambdas,
            neighbours: self.neighbours.into(),
            pairs: self.pairs,
            trials,
            alpha: self.alpha,
            delta: self.delta,
            estimator: self.estimator.clone(),
            until: self.until,
            claim: self.claim.clone(),
            judge: self.judge.clone(),
            shard: self.shard,
            keep: self.keep,
            ..self
                .model
                .config(mechanisms, self.epsilon.clone(), datasets)
        })
    }

    /// The mechanisms by name, `all` spelled out.
    fn mechanisms(&self) -> Vec<String> {
        // A command may hold commas.
        let (commands, names): (Vec<&String>, _) =
            self.mech.iter().partition(|name| name.starts_with(EXEC));
        let names = names.into_iter().flat_map(|names| names.split(','));
        let mut all: Vec<String> = Vec::new();
        for name in names.chain(commands.into_iter().map(String::as_str)) {
            if name == "all" {
                // Protocols encode categories: they rewrite no texts.
                let rewriters = registry::ALL.iter().filter(|e| e.kind != Kind::Protocol);
                all.extend(rewriters.map(|entry| entry.name.to_owned()));
            } else {
                all.push(name.to_owned());
            }
        }
        all
    }

    fn say_where(&self, directory: &Path) {
        if !self.quiet {
            let part = self.shard.map_or(String::new(), |(part, parts)| {
                format!(" (part {part} of {parts}; join them with teda merge)")
            });
            eprintln!("run directory: {}{part}", directory.display());
        }
    }
}

/// A flag that the first Ctrl-C sets; the second ends the process at once.
pub(super) fn stop_on_interrupt() -> Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&flag);
    ctrlc::set_handler(move || {
        if seen.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        eprintln!("\nstopping after the batches at work (Ctrl-C again to stop at once)");
    })
    .map_err(|e| Error::failed(format!("cannot catch Ctrl-C: {e}")))?;
    Ok(flag)
}

/// The cells that would be computed, and how long that would take here.
fn dry_run(prepared: &Prepared, trials: u64) -> Result<String> {
    let plan = &prepared.plan;
    let seconds = prepared.expected_seconds()?;
    let mut cells = table([
        "data set",
        "texts",
        "mechanism",
        "nominal ε",
        "k",
        "λ",
        "attack",
        "trials",
        "expected",
    ]);
    for (index, series) in plan.series.iter().enumerate() {
        let corpus = &plan.corpora[series.corpus];
        for attack in &series.attacks {
            cells.add_row([
                corpus.dataset.name.clone(),
                corpus.texts.len().to_string(),
                series.entry.name.to_owned(),
                series.epsilon.map_or("-".into(), |e| e.to_string()),
                series.k.to_string(),
                series.lambda.to_string(),
                attack.to_string(),
                trials.to_string(),
                seconds.as_ref().map_or("-".into(), |seconds| {
                    duration(seconds[index] / series.attacks.len() as f64)
                }),
            ]);
        }
    }
    let whole = seconds.map_or_else(
        || "; nothing was sent to the server".to_owned(),
        |seconds| {
            format!(
                ", about {} on this machine (from a few trials of each); nothing was kept",
                duration(seconds.iter().sum())
            )
        },
    );
    Ok(output::lines(&cells)
        + &format!(
            "\n{} cells, {} releases{whole}\n",
            plan.cells(),
            plan.series.len() as u64 * trials,
        ))
}

/// A span of time in words, to the precision that an estimate has.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "1 s".to_owned(),
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}
