//! `teda audit`: the main job.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rayon::ThreadPool;
use teda::audit::choices::{AUTO, Attacks, EstimatorChoice};
use teda::audit::config::{Config, Keep, TRIALS};
use teda::audit::epsilons::Epsilons;
use teda::audit::pairs::Pairs;
use teda::audit::plan::recorded;
use teda::audit::progress::Progress;
use teda::audit::resume::{Standing, resume, standing};
use teda::audit::run::{Ended, Prepared};
use teda::audit::source::{Claim, Source};
use teda::audit::stopping::Until;
use teda::models::Access;
use teda::report::grid::{Grid, Role};
use teda::report::{complete, finished_run, utilities};
use teda_attacks::Choice;
use teda_core::{Error, Neighbours, Result};
use teda_datasets::Limits;
use teda_results::{Cell, UtilityCell};

use super::Outcome;
use super::flags::{DataArguments, ModelArguments, PaceArguments, mechanisms};
use super::output::{self, Format, print, prose, say, warn, width};
use super::progress::Terminal;

/// Measures an empirical epsilon: who can tell which of k texts was rewritten?
///
/// Runs every combination of the lists given. Results go to standard output and, with every trial,
/// to a run directory; progress goes to standard error.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Mechanisms to audit (see `teda list mechanisms`); `all` for every rewriter; `exec:COMMAND` for a
    /// program of your own, `NAME=exec:COMMAND` to call it NAME in results (repeatable; see examples/)
    #[arg(long, value_name = "NAME,…", required_unless_present_any = ["resume", "releases", "config"])]
    mech: Vec<String>,
    /// Audits what a mechanism released earlier: FILE.{jsonl,csv,tsv,parquet} (or .gz of it) with columns
    /// source, release and, where there is one, epsilon; each release is used once at most
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["mech", "dataset", "split", "limit", "min_words", "max_words", "lambda",
            "neighbours", "set", "preset", "then", "processes", "timeout"]
    )]
    releases: Option<String>,
    /// Flags from a file (TOML; see below); those given here win
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// What an external mechanism claims: epsilon=E (the nominal one when left out), delta=D,
    /// neighbours=any-texts|one-token, unit=text
    #[arg(long, value_name = "KEY=VALUE,…")]
    claim: Option<String>,
    /// Nominal epsilons to run: numbers, and teda for TeDA's ten; each mechanism's own grid when left out
    #[arg(
        long,
        value_name = "E,…",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    epsilon: Option<Vec<Epsilons>>,
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
    /// Delta of the (epsilon, delta) that is bounded [default: that of the claim of a mechanism that rewrites,
    /// else 0]
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delta: Option<f64>,
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
    /// Measures what the releases are still good for, once all trials are made: cosine, bertscore, rouge1, rougeL, bleu,
    /// perplexity (--scorer), length, copied, or all (see `teda list utilities`)
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    utility: Vec<String>,
    /// Language model that the attack `llm` judges with and `reconstruct` writes with: auto (that of --llm), builtin, a model of
    /// `teda models list`, a repository of the hub, a path, or a server; and how: :by=likelihood (of the release, given each candidate; what a model in the process does) or
    /// :by=prompt (asked which candidate, in TeDA's words; what a server does)
    #[arg(long, value_name = "MODEL", default_value = "auto")]
    judge: String,
    /// Computes only the I-th of N parts of every cell's trials; `teda merge` joins them
    #[arg(long, value_name = "I/N", value_parser = parse_shard)]
    shard: Option<(u32, u32)>,
    /// What a run keeps of its trials; changes no result
    #[arg(long, value_enum, default_value = "rows")]
    keep: Kept,
    /// Run directory; results/runs/TIME-MECHANISMS-DATASET when left out
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Begins the run in --out, goes on with it if it was stopped, and shows it if it is complete: the same command
    /// until it is done, as schedulers repeat it
    #[arg(long, requires = "out", conflicts_with_all = ["resume", "dry_run"])]
    go_on: bool,
    /// Goes on with a run that was stopped; everything but --threads, --batch, --memory, --offline, --max-requests,
    /// --max-tokens, --max-text-bytes, --max-input-bytes, --max-answer-bytes, --processes, --timeout, --format and
    /// --quiet is as it began
    #[arg(
        long,
        value_name = "RUN",
        conflicts_with_all = ["config", "mech", "releases", "claim", "epsilon", "dataset", "split", "limit", "min_words", "max_words",
            "attack", "k", "lambda", "neighbours", "pairs", "trials", "alpha", "delta", "estimator", "until", "set",
            "preset", "seed", "encoder", "llm", "scorer", "then", "judge", "utility", "shard", "keep", "out", "dry_run"]
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

const EXAMPLES: &str = "The file of --config has the flags that determine what is computed as fields, each a value or a list of values:
  mech = [\"em\", \"privrewrite\"]
  epsilon = [1, 10]
  trials = 2000

Examples:
  teda audit --config audit.toml --trials 500
  teda audit --mech privrewrite --k 2 --trials 10000
  teda audit --mech krr,krr-half-noise --limit 2 --lambda 0 --trials 1000000
  teda audit --mech em --epsilon 1,10,100 --dataset reviews.csv:body --attack embedding,random
  teda audit --mech em --attack embedding,llm --judge smollm2-135m:by=prompt --trials 200
  teda audit --mech dp-prompt --epsilon 100 --then ./flan-t5-trained --trials 500
  teda audit --mech krr,em --epsilon 1,4 --until decided --trials 1000000
  teda audit --mech grr,oue,olh --dataset categories:2 --attack likelihood-ratio --estimator abstain
  teda audit --mech grr --dataset categories:2 --attack likelihood-ratio --keep counts --trials 100000000
  teda audit --mech \"mine=exec:python3 my_mechanism.py\" --epsilon 2 --claim neighbours=any-texts
  teda audit --releases rewritten.csv --claim neighbours=any-texts
  teda audit --mech privrewrite --preset paper --set tau=0.9 --epsilon 2 --format json
  teda audit --mech identity --shard 1/4 --out part1";

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

/// What can be kept of the trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kept {
    /// A row of each, in trials.parquet: it can be resumed, merged and judged again
    Rows,
    /// Their counts alone: for millions of trials a second of a protocol over few categories
    Counts,
}

impl From<Kept> for Keep {
    fn from(kept: Kept) -> Self {
        match kept {
            Kept::Rows => Self::Rows,
            Kept::Counts => Self::Counts,
        }
    }
}

fn parse_shard(text: &str) -> std::result::Result<(u32, u32), String> {
    let wrong = || format!("'{text}' is not a shard: write I/N, such as 1/4");
    let (part, parts) = text.split_once('/').ok_or_else(wrong)?;
    match (part.parse(), parts.parse()) {
        (Ok(part), Ok(parts)) if part >= 1 && part <= parts => Ok((part, parts)),
        (Ok(_), Ok(parts)) => Err(format!("'{text}': the part goes from 1 to {parts}")),
        _ => Err(wrong()),
    }
}

impl Arguments {
    pub fn run(self) -> Result<Outcome> {
        let pool = self.pool()?;
        pool.install(|| self.run_here())
    }

    fn run_here(&self) -> Result<Outcome> {
        let terminal = Terminal::new(self.quiet);
        let control = self.pace.control(&terminal);
        let access = self.access();
        let ended = if let Some(directory) = &self.resume {
            resume(directory, &access, &control)?
        } else {
            let config = self.config(self.limits()).map_err(|e| self.in_file(e))?;
            if let (true, Some(out)) = (self.go_on, &self.out) {
                match standing(out, &config)? {
                    Standing::New => {}
                    Standing::Begun => {
                        return self.end(resume(out, &access, &control)?, &access);
                    }
                    Standing::Complete => {
                        let cells = finished_run::open(out)?.judge_as_it_was()?;
                        let measured = utilities::stored_or_measured(out, &cells, &access)?;
                        return self.show(out, cells, measured);
                    }
                }
            }
            let trials = config.trials;
            let prepared = Prepared::new(config, &access).map_err(|e| self.in_file(e))?;
            if self.dry_run {
                print(&dry_run(&prepared, trials)?)?;
                return Ok(Outcome::Done);
            }
            for note in prepared.notes() {
                terminal.note(&note);
            }
            prepared.begin(self.out.as_deref(), &control)?
        };
        self.end(ended, &access)
    }

    fn end(&self, ended: Ended, access: &Access) -> Result<Outcome> {
        match ended {
            Ended::Made(made) => {
                let done = complete::write(*made, access)?;
                self.show(&done.directory, done.cells, done.utilities)
            }
            Ended::Interrupted(directory, keep) => {
                let how = match keep {
                    Keep::Rows => "go on",
                    Keep::Counts => "without rows, begin again",
                };
                say(format_args!(
                    "interrupted; {how} with: teda audit --resume {}",
                    directory.display()
                ));
                Ok(Outcome::Interrupted)
            }
        }
    }

    fn show(
        &self,
        directory: &Path,
        cells: Vec<Cell>,
        measured: Vec<UtilityCell>,
    ) -> Result<Outcome> {
        if !self.quiet {
            warn(&cells);
        }
        print(&output::cells(self.format, directory, cells, measured)?)?;
        self.say_where(directory);
        Ok(Outcome::Done)
    }

    /// The configuration that these flags ask for; recorded releases are read within `limits`.
    ///
    /// # Errors
    /// Usage, if recorded releases cannot be read to know how many trials they are good for.
    pub fn config(&self, limits: Limits) -> Result<Config> {
        let recorded = self.releases.as_ref();
        let (mechanisms, datasets, lambdas) = match recorded {
            Some(file) => (vec![Source::Releases(file.into())], Vec::new(), vec![0.0]),
            None => (
                mechanisms(&self.mech)?,
                self.data.requests(),
                self.lambda.clone(),
            ),
        };
        let epsilons = self.epsilon.as_deref().map(Epsilons::joined);
        let trials = match (self.trials, recorded) {
            (Some(trials), _) => trials,
            (None, Some(file)) => {
                recorded::most_trials(Path::new(file), limits, epsilons.as_deref(), &self.k)?
            }
            (None, None) => TRIALS,
        };
        let attacks: Vec<String> = self
            .attack
            .iter()
            .flat_map(|list| Choice::split(list))
            .collect();
        Ok(Config {
            attacks: Attacks::parse(&attacks)?,
            ks: self.k.clone(),
            lambdas,
            neighbours: self.neighbours.into(),
            pairs: self.pairs,
            trials,
            alpha: self.alpha,
            delta: self.delta,
            estimator: EstimatorChoice::parse(&self.estimator)?,
            until: self.until,
            claim: self.claim.as_deref().map(Claim::parse).transpose()?,
            judge: self.judge.clone(),
            shard: self.shard,
            keep: self.keep.into(),
            utilities: self.utility.clone(),
            ..self.model.config(mechanisms, epsilons, datasets)
        })
    }

    /// An error of the configuration, with the file that gave some of it.
    fn in_file(&self, error: Error) -> Error {
        match (&self.config, error) {
            (Some(file), error @ Error::Usage(_)) => error.context(file.display()),
            (_, error) => error,
        }
    }

    /// The threads that it runs on.
    ///
    /// # Errors
    /// Failed, if they cannot be started.
    pub fn pool(&self) -> Result<ThreadPool> {
        self.pace.speed.pool()
    }

    /// How models are reached.
    pub fn access(&self) -> Access {
        self.model.access(self.quiet)
    }

    /// Maximum sizes of inputs.
    pub fn limits(&self) -> Limits {
        self.model.limits()
    }

    /// `--out`.
    pub fn directory(&self) -> Option<&Path> {
        self.out.as_deref()
    }

    /// Whether the user wants to be told what is done.
    pub fn is_told(&self) -> bool {
        !self.quiet
    }

    fn say_where(&self, directory: &Path) {
        if !self.quiet {
            let part = self.shard.map_or(String::new(), |(part, parts)| {
                format!(" (part {part} of {parts}; join them with teda merge)")
            });
            let place = directory.display();
            say(format_args!("run directory: {place}{part}"));
        }
    }
}

/// The cells that would be computed, and how long that would take on this machine.
fn dry_run(prepared: &Prepared, trials: u64) -> Result<String> {
    let plan = &prepared.plan;
    let seconds = prepared.expected_seconds()?;
    let mut cells = Grid::new()
        .words("data set", Role::Group)
        .numbers("texts", Role::Group)
        .words("mechanism", Role::Group)
        .numbers("nominal ε", Role::Key)
        .numbers("k", Role::Group)
        .numbers("λ", Role::Group)
        .words("attack", Role::Key)
        .numbers("trials", Role::Group)
        .numbers("expected", Role::Value);
    for (index, series) in plan.series.iter().enumerate() {
        let corpus = &plan.corpora[series.corpus];
        for attack in &series.attacks {
            cells.add([
                corpus.dataset.name.clone(),
                corpus.texts.len().to_string(),
                series.name.clone(),
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
    let releases = plan.series.len() as u64 * trials;
    let said = format!("\n{} cells, {releases} releases{whole}\n", plan.cells());
    Ok(cells.render(width()) + &prose(&said))
}

/// A duration in words, to the precision of an estimate.
fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => "1 s".to_owned(),
        s if s < 100.0 => format!("{s:.0} s"),
        s if s < 6000.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}
