//! Flags shared by several commands.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use rayon::{ThreadPool, ThreadPoolBuilder};
use teda::audit::config::Config;
use teda::audit::program::Program;
use teda::audit::progress::Progress;
use teda::audit::run::Control;
use teda::audit::source::Source;
use teda::models::{Access, Programs, Say};
use teda_core::{Error, Result};
use teda_datasets::{Limits, Request};
use teda_mechanisms::{Kind, registry};
use teda_models::Precision;
use teda_server::{Budget, LARGEST_ANSWER};

use super::interrupt::interrupt;
use super::output::say;
use super::waiting::watch;

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
    /// One request per data set.
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

/// The mechanisms that were named, each alone or in a list, with `all` expanded.
///
/// # Errors
/// Usage, for a name that is unknown.
pub fn mechanisms(named: &[String]) -> Result<Vec<Source>> {
    // A command may contain commas.
    let (commands, names): (Vec<&String>, _) =
        named.iter().partition(|name| Program::is_meant(name));
    let names = names.into_iter().flat_map(|names| names.split(','));
    let mut all = Vec::new();
    for name in names.chain(commands.into_iter().map(String::as_str)) {
        if name == "all" {
            // Protocols encode categories: they do not rewrite texts.
            let rewriters = registry::ALL.iter().filter(|e| e.kind != Kind::Protocol);
            all.extend(rewriters.map(|entry| Source::Registry(entry)));
        } else {
            all.push(Source::parse(name)?);
        }
    }
    Ok(all)
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
    /// Language model whose perplexity ranks texts, for dp-gtr: auto (that of --llm, or on a server the one in the
    /// binary), builtin, or a model such as gpt2
    #[arg(long, value_name = "MODEL", default_value = "auto")]
    pub scorer: String,
    /// Text-to-text model that rewrites every release once more before it is seen (post-processing: the claim stays the
    /// mechanism's): builtin (the rewriter in the binary), a name, a repository, a path or a server as for --llm;
    /// :temperature=T samples (greedy when left out), :max_new_tokens=N
    #[arg(long, value_name = "MODEL")]
    pub then: Option<String>,
    /// What the linear layers of models in this process multiply: f32, or bf16 (half the memory, up to twice the speed)
    /// where the processor does. Other bits, the same again by the same instructions: bf16 takes the fastest of
    /// amx-bf16 and avx512-bf16, which can be named instead, and the run says which
    #[arg(long, value_name = "NUMBERS", default_value = "f32")]
    pub precision: Precision,
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
    /// Processes of a program (exec:…) at once; one a thread when left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    processes: Option<u16>,
    /// Seconds that such a process may be silent, its start included
    #[arg(long, value_name = "S", default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..))]
    timeout: u32,
    #[command(flatten)]
    size: SizeArguments,
}

/// How much is read; changes no result.
#[derive(Args)]
struct SizeArguments {
    /// Bytes of one text, or one line of a file, at most
    #[arg(long, value_name = "N", default_value_t = Limits::default().text, value_parser = clap::value_parser!(u64).range(1..))]
    max_text_bytes: u64,
    /// Bytes of one input (a file, standard input) at most, decompressed
    #[arg(long, value_name = "N", default_value_t = Limits::default().input, value_parser = clap::value_parser!(u64).range(1..))]
    max_input_bytes: u64,
    /// Bytes of one answer of a server at most
    #[arg(long, value_name = "N", default_value_t = LARGEST_ANSWER, value_parser = clap::value_parser!(u64).range(1..))]
    max_answer_bytes: u64,
}

impl AccessArguments {
    /// The settings for the loader of models.
    pub fn access(&self, quiet: bool) -> Access {
        let told: Say = match quiet {
            true => Arc::new(|_| ()),
            false => Arc::new(|line| say(line)),
        };
        Access {
            offline: self.offline,
            quiet,
            memory: (self.memory as usize) << 20,
            budget: Budget {
                max_requests: self.max_requests,
                max_tokens: self.max_tokens,
            },
            programs: Programs {
                processes: self.processes.map(usize::from),
                timeout: Duration::from_secs(self.timeout.into()),
                children: interrupt().children(),
            },
            limits: self.limits(),
            largest_answer: self.size.max_answer_bytes,
            say: told,
            watch: watch(quiet),
        }
    }

    /// Maximum sizes of inputs.
    pub fn limits(&self) -> Limits {
        Limits {
            text: self.size.max_text_bytes,
            input: self.size.max_input_bytes,
        }
    }
}

impl ModelArguments {
    /// How models are reached.
    pub fn access(&self, quiet: bool) -> Access {
        self.access.access(quiet)
    }

    /// Maximum sizes of inputs.
    pub fn limits(&self) -> Limits {
        self.access.limits()
    }

    /// The configuration of an audit of these mechanisms, with defaults for everything else.
    pub fn config(
        &self,
        mechanisms: Vec<Source>,
        epsilons: Option<Vec<f64>>,
        datasets: Vec<Request>,
    ) -> Config {
        Config {
            epsilons,
            set: self.set.clone(),
            preset: self.preset.clone(),
            datasets,
            seed: self.seed,
            llm: self.llm.clone(),
            encoder: self.encoder.clone(),
            scorer: self.scorer.clone(),
            then: self.then.clone(),
            precision: self.precision,
            ..Config::new(mechanisms)
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

impl PaceArguments {
    /// How a run is made.
    pub fn control<'a>(&self, progress: &'a dyn Progress) -> Control<'a> {
        Control {
            batch: self.batch,
            stop: interrupt().flag(),
            progress,
        }
    }
}

/// Bytes of a thread's stack: as large as that of a process's first thread, on which commands used to run.
const STACK: usize = 8 << 20;

/// How many cores are used.
#[derive(Args)]
pub struct SpeedArguments {
    /// Threads; changes the speed and no result. All cores when left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

impl SpeedArguments {
    /// The threads that a command runs on.
    ///
    /// # Errors
    /// Failed, if they cannot be started.
    pub fn pool(&self) -> Result<ThreadPool> {
        ThreadPoolBuilder::new()
            .num_threads(self.threads.map_or(0, usize::from))
            .stack_size(STACK)
            .build()
            .map_err(|e| Error::failed(format!("cannot start threads: {e}")))
    }
}

pub fn parse_setting(text: &str) -> std::result::Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("'{text}': write NAME=VALUE, such as tau=0.9"))?;
    Ok((name.to_owned(), value.to_owned()))
}
