//! `teda task`: what privatised texts are still good for, and what an attacker infers from them.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use teda::audit::epsilons::Epsilons;
use teda::task::{Document, Learner, Options, Prepared, Task, table};
use teda_core::{Error, Result};
use teda_datasets::Request;
use teda_results::RunDir;

use super::Outcome;
use super::flags::{ModelArguments, PaceArguments, mechanisms};
use super::output::{Format, print, say, width};
use super::progress::Terminal;

/// Trains a classifier of a label on clean and on privatised texts, and tests it on both.
///
/// Trained on privatised texts and tested on clean ones, it shows what the texts are still good for (utility). The
/// label as a private attribute: a static attacker is trained on clean texts, an adaptive one on privatised texts, and
/// both infer the label of privatised texts that neither was trained on. Beside them stand the clean line and the
/// majority class.
///
/// The classifier is logistic regression on words, runs of characters and sentence vectors; a held-out part of the
/// training texts chooses its penalty. Or --classifier names an encoder that is fine-tuned, as in the papers: BERT,
/// RoBERTa or DeBERTa-v3.
#[derive(Args)]
#[command(after_long_help = "Examples:
  teda task                                          # the clean line alone: SNIPS, its intents
  teda task --mech em --epsilon 10,100 --seeds 3
  teda task --dataset novels --mech word-perturb --epsilon 30 --limit 2000 --out authors
  teda task --classifier ./deberta-v3-base --mech em --epsilon 100 --limit 2000
  teda task --dataset reviews.csv:body --label gender --mech dp-prompt --epsilon 100 --llm flan-t5-base")]
pub struct Arguments {
    /// Mechanisms (see `teda list mechanisms`), `all`, or exec:COMMAND; repeatable. The clean line alone when
    /// left out
    #[arg(long, value_name = "NAME,…")]
    mech: Vec<String>,
    /// Nominal epsilons; `teda` is a grid. Each mechanism's own when left out
    #[arg(
        long,
        value_name = "E,…",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    epsilon: Option<Vec<Epsilons>>,
    #[command(flatten)]
    data: LabelledArguments,
    /// Repetitions with other coins of the mechanism, and of a training that has coins
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    seeds: u32,
    #[command(flatten)]
    classifier: ClassifierArguments,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    pace: PaceArguments,
    /// Keeps task.json, task.csv and releases.jsonl (all texts before and after) in this new directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How results are printed
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// No progress and no notes on standard error
    #[arg(long)]
    quiet: bool,
}

/// Where texts and labels come from.
#[derive(Args)]
struct LabelledArguments {
    /// Data set: a shipped name (see `teda data list`), or a file FILE.{jsonl,csv,tsv,parquet} (or .gz of
    /// it; FILE:COLUMN names the column of the texts)
    #[arg(long, value_name = "NAME", default_value = "snips")]
    dataset: String,
    /// Column of the labels: strings or numbers
    #[arg(long, value_name = "COLUMN", default_value = "label")]
    label: String,
    /// Only this split, divided 9 to 1; `all` for every split. When left out, the splits train and test
    /// divide the data, or all of it is divided 9 to 1
    #[arg(long, value_name = "NAME")]
    split: Option<String>,
    /// Only N texts to train on and N to test on, chosen by their digests
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Only texts of at least N words
    #[arg(long, value_name = "N")]
    min_words: Option<usize>,
    /// Only texts of at most N words
    #[arg(long, value_name = "N")]
    max_words: Option<usize>,
}

/// What learns the label.
#[derive(Args)]
struct ClassifierArguments {
    /// Classifier: logistic-regression, or an encoder to fine-tune: builtin (small), minilm or roberta-base of
    /// `teda models list`, a repository of the hub, or a path
    #[arg(long, value_name = "NAME", default_value = LOGISTIC_REGRESSION)]
    classifier: String,
    /// Fine-tuning: how often each text is seen (1 when left out)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    epochs: Option<u32>,
    /// Fine-tuning: the learning rate of the first step, from where it falls to 0 in a straight line (5e-5 when left
    /// out, as in the papers)
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    learning_rate: Option<f64>,
    /// Fine-tuning: texts of a step (8 when left out); unlike --batch it changes results
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    train_batch: Option<u32>,
}

/// The classifier without a model.
const LOGISTIC_REGRESSION: &str = "logistic-regression";

impl ClassifierArguments {
    fn learner(&self) -> Result<Learner> {
        if self.classifier != LOGISTIC_REGRESSION {
            let usual = Options::default();
            return Ok(Learner::FineTune {
                model: self.classifier.clone(),
                options: Options {
                    epochs: self.epochs.unwrap_or(usual.epochs),
                    learning_rate: self.learning_rate.unwrap_or(usual.learning_rate),
                    batch: self.train_batch.map_or(usual.batch, |batch| batch as usize),
                },
            });
        }
        let orphans = [
            ("--epochs", self.epochs.is_some()),
            ("--learning-rate", self.learning_rate.is_some()),
            ("--train-batch", self.train_batch.is_some()),
        ];
        match orphans.into_iter().find(|(_, given)| *given) {
            None => Ok(Learner::LogisticRegression),
            Some((flag, _)) => Err(Error::usage(format!(
                "{flag} is for an encoder that is fine-tuned: name one with --classifier, such as --classifier builtin"
            ))),
        }
    }
}

impl Arguments {
    pub fn run(self) -> Result<Outcome> {
        let pool = self.pace.speed.pool()?;
        pool.install(|| self.run_here())
    }

    fn run_here(&self) -> Result<Outcome> {
        let terminal = Terminal::counting(self.quiet, "texts");
        let prepared = Prepared::new(self.task()?, &self.model.access(self.quiet))?;
        if !self.quiet {
            say(prepared.summary());
        }
        let out = self.out.as_deref().map(Kept::begin).transpose()?;
        let (directory, mut releases) = match out {
            Some(Kept {
                directory,
                releases,
            }) => (Some(directory), Some(releases)),
            None => (None, None),
        };
        let mut keep = |record: &teda::task::Record<'_>| match &mut releases {
            None => Ok(()),
            Some(file) => {
                let line = serde_json::to_string(record).map_err(|e| failed(RELEASES, &e))?;
                writeln!(file, "{line}").map_err(|e| failed(RELEASES, &e))
            }
        };
        let document = prepared.run(&self.pace.control(&terminal), &mut keep)?;
        if let Some(file) = &mut releases {
            file.flush().map_err(|e| failed(RELEASES, &e))?;
        }
        let Some(document) = document else {
            say("interrupted: a task is not resumed, begin it again");
            return Ok(Outcome::Interrupted);
        };
        if let Some(directory) = &directory {
            write(directory.path(), &document)?;
        }
        print(&match self.format {
            Format::Table => table::render(&document, width()),
            Format::Markdown => table::markdown(&document),
            Format::Latex => table::latex(&document),
            Format::Json => document.to_line()? + "\n",
            Format::Csv => document.to_csv(),
        })?;
        Ok(Outcome::Done)
    }

    /// The task that these flags ask for.
    ///
    /// # Errors
    /// Usage, for flags that have no meaning without a mechanism.
    pub fn task(&self) -> Result<Task> {
        let data = &self.data;
        let request = Request {
            source: data.dataset.clone(),
            split: data.split.clone(),
            limit: data.limit,
            min_words: data.min_words,
            max_words: data.max_words,
        };
        let model = &self.model;
        let orphans = [
            ("--epsilon", self.epsilon.is_some()),
            ("--set", !model.set.is_empty()),
            ("--preset", model.preset.is_some()),
            ("--then", model.then.is_some()),
        ];
        if self.mech.is_empty()
            && let Some((flag, _)) = orphans.into_iter().find(|(_, given)| *given)
        {
            return Err(Error::usage(format!(
                "{flag} without --mech: the clean line has no mechanism to set; name one"
            )));
        }
        let epsilons = self.epsilon.as_deref().map(Epsilons::joined);
        Ok(Task {
            config: self
                .model
                .config(mechanisms(&self.mech)?, epsilons, vec![request]),
            label: data.label.clone(),
            seeds: self.seeds,
            classifier: self.classifier.learner()?,
        })
    }
}

/// The file of all texts before and after.
const RELEASES: &str = "releases.jsonl";

/// A directory that keeps a task.
struct Kept {
    directory: RunDir,
    releases: BufWriter<File>,
}

impl Kept {
    fn begin(path: &Path) -> Result<Self> {
        let directory = RunDir::create(Some(path), "task")?;
        let file = File::create(path.join(RELEASES)).map_err(|e| failed(RELEASES, &e))?;
        Ok(Self {
            directory,
            releases: BufWriter::new(file),
        })
    }
}

fn write(directory: &Path, document: &Document) -> Result<()> {
    let json = document.to_line()? + "\n";
    for (name, text) in [("task.json", json), ("task.csv", document.to_csv())] {
        std::fs::write(directory.join(name), text).map_err(|e| failed(name, &e))?;
    }
    Ok(())
}

fn failed(file: &str, error: &dyn std::fmt::Display) -> Error {
    Error::failed(format!("cannot write {file}: {error}"))
}
