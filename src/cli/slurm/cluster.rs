//! What a job asks of the cluster: flags, or the same keys in a profile; flags win.

use std::path::Path;

use clap::{Args, Parser};
use teda_core::{Error, Result, plain};

use super::time::Time;
use crate::cli::audit_fields::{refused, text_of};
use crate::cli::fields::{Fields, Source};

/// Bytes of a profile at most.
const LARGEST: u64 = 1 << 20;

/// Options of `sbatch` that the scripts depend on, or that have a flag of their own.
const TAKEN: [&str; 21] = [
    "account",
    "array",
    "chdir",
    "constraint",
    "cpus-per-task",
    "dependency",
    "error",
    "gpus",
    "gres",
    "input",
    "kill-on-invalid-dep",
    "mem",
    "no-requeue",
    "open-mode",
    "output",
    "parsable",
    "partition",
    "qos",
    "requeue",
    "signal",
    "time",
];

/// What a job asks of the cluster.
#[derive(Debug, Clone, Default, Args)]
pub struct Cluster {
    /// Number of parts, each a task of the job array
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    pub shards: Option<u32>,
    /// Instead of --shards: as many that a task takes about this long, by the estimate of `teda audit --dry-run`
    #[arg(long, value_name = "TIME", conflicts_with = "shards")]
    pub time_per_task: Option<Time>,
    /// Partition
    #[arg(long, value_name = "NAME", value_parser = word)]
    pub partition: Option<String>,
    /// Account that is charged
    #[arg(long, value_name = "NAME", value_parser = word)]
    pub account: Option<String>,
    /// Quality of service
    #[arg(long, value_name = "NAME", value_parser = word)]
    pub qos: Option<String>,
    /// Time limit of a task, as sbatch takes it; a task that reaches it is requeued, and goes on
    #[arg(long, value_name = "TIME")]
    pub time: Option<Time>,
    /// Memory of a task, such as 8G
    #[arg(long, value_name = "SIZE", value_parser = word)]
    pub mem: Option<String>,
    /// Cores of a task, and its threads [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub cpus: Option<u16>,
    /// Graphics processors of a task
    #[arg(long, value_name = "N|TYPE:N", value_parser = word)]
    pub gpus: Option<String>,
    /// Generic resources of a task
    #[arg(long, value_name = "LIST", value_parser = word)]
    pub gres: Option<String>,
    /// Features that nodes must have
    #[arg(long, value_name = "LIST", value_parser = word)]
    pub constraint: Option<String>,
    /// Environment modules that are loaded first
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = line)]
    pub modules: Vec<String>,
    /// A line of bash that runs before teda, as it is (repeatable)
    #[arg(long, value_name = "LINE", value_parser = line)]
    pub prelude: Vec<String>,
    /// What teda runs in: bash that comes before its command, as it is, such as "apptainer exec teda.sif" or "srun"
    #[arg(long, value_name = "COMMAND", value_parser = line)]
    pub container: Option<String>,
    /// The program in the tasks [default: this one; with --container `teda`]
    #[arg(long, value_name = "PATH", value_parser = line)]
    pub program: Option<String>,
    /// Tasks that run at once at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub array_limit: Option<u32>,
    /// Seconds before the time limit at which a task stops and is requeued [default: 120]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u16).range(1..))]
    pub stop_before: Option<u16>,
    /// Any other option of sbatch: KEY=VALUE, or KEY alone (repeatable)
    #[arg(long, value_name = "KEY=VALUE", value_parser = option)]
    pub sbatch: Vec<(String, Option<String>)>,
}

/// The keys of a profile, read as flags.
#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Profile {
    #[command(flatten)]
    cluster: Cluster,
}

impl Cluster {
    /// What the profile at `path` says.
    ///
    /// # Errors
    /// Usage, with the line: for a file that is no TOML, an unknown key, or a value that is invalid for its key.
    pub fn read(path: &Path) -> Result<Self> {
        let name = plain(&path.display().to_string()).into_owned();
        let text = text_of(path, &name, LARGEST)?;
        let source = Source { name, text: &text };
        let table = source.table()?;
        let flags = Self::augment_args(clap::Command::new("profile"));
        let keys: Vec<&str> = flags.get_arguments().filter_map(|a| a.get_long()).collect();
        let fields = Fields::read(&source, table.get_ref(), 0, &keys, &[])?;
        let profile = Profile::try_parse_from(fields.arguments(&keys));
        Ok(profile.map_err(|e| refused(&fields, &e))?.cluster)
    }

    /// These, and what `profile` says where they say nothing.
    #[must_use]
    pub fn or(self, profile: Self) -> Self {
        fn list<T>(own: Vec<T>, other: Vec<T>) -> Vec<T> {
            match own.is_empty() {
                true => other,
                false => own,
            }
        }
        // Two ways to say one thing.
        let says_how_many = self.shards.is_some() || self.time_per_task.is_some();
        let (shards, time_per_task) = match says_how_many {
            true => (self.shards, self.time_per_task),
            false => (profile.shards, profile.time_per_task),
        };
        Self {
            shards,
            time_per_task,
            partition: self.partition.or(profile.partition),
            account: self.account.or(profile.account),
            qos: self.qos.or(profile.qos),
            time: self.time.or(profile.time),
            mem: self.mem.or(profile.mem),
            cpus: self.cpus.or(profile.cpus),
            gpus: self.gpus.or(profile.gpus),
            gres: self.gres.or(profile.gres),
            constraint: self.constraint.or(profile.constraint),
            modules: list(self.modules, profile.modules),
            prelude: list(self.prelude, profile.prelude),
            container: self.container.or(profile.container),
            program: self.program.or(profile.program),
            array_limit: self.array_limit.or(profile.array_limit),
            stop_before: self.stop_before.or(profile.stop_before),
            sbatch: list(self.sbatch, profile.sbatch),
        }
    }

    /// Seconds before the time limit at which a task stops.
    #[must_use]
    pub fn warning(&self) -> u16 {
        self.stop_before.unwrap_or(120)
    }

    /// Checks what no single option shows.
    ///
    /// # Errors
    /// Usage, for a time limit that ends before a task could do anything.
    pub fn validate(&self) -> Result<()> {
        match self.time {
            Some(time) if time.seconds() <= self.warning().into() => Err(Error::usage(format!(
                "--time {time}: a task stops {} seconds before its limit, so it would do nothing: allow more time, or less with --stop-before",
                self.warning()
            ))),
            _ => Ok(()),
        }
    }
}

/// A text of one line.
fn line(text: &str) -> std::result::Result<String, String> {
    match text.chars().any(char::is_control) {
        true => Err(format!(
            "'{}': write one line, without control characters",
            plain(text)
        )),
        false => Ok(text.to_owned()),
    }
}

/// The value of an option of sbatch, whose own quoting in a script knows no way to write all texts.
fn word(text: &str) -> std::result::Result<String, String> {
    let text = line(text)?;
    match text.contains(['\'', '"', '\\']) || text.is_empty() {
        true => Err(format!(
            "'{text}': sbatch cannot read this from a script: write it without quotes and backslashes, and not empty"
        )),
        false => Ok(text),
    }
}

fn option(text: &str) -> std::result::Result<(String, Option<String>), String> {
    let (key, value) = match text.split_once('=') {
        Some((key, value)) => (key, Some(word(value)?)),
        None => (text, None),
    };
    let key = key.strip_prefix("--").unwrap_or(key);
    let is_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if key.is_empty() || key.starts_with('-') || !key.bytes().all(is_name) {
        return Err(format!(
            "'{}': write KEY=VALUE with a long option of sbatch, such as nice=100",
            plain(text)
        ));
    }
    if TAKEN.contains(&key) {
        return Err(format!(
            "'{key}' is set by teda: it has a flag of its own (see --help), or the scripts depend on it"
        ));
    }
    Ok((key.to_owned(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_would_end_the_line_or_the_quotes_are_refused() {
        for text in ["a\nb", "a'b", "a\"b", "a\\", "", "\u{1b}[1m"] {
            assert!(word(text).is_err(), "{text:?}");
        }
        for text in [
            "array=1-9",
            "output=x",
            "nice=1\n#SBATCH",
            "",
            "-n=3",
            "Nice=1",
            "a b=c",
        ] {
            assert!(option(text).is_err(), "{text:?}");
        }
        assert_eq!(option("--exclusive"), Ok(("exclusive".into(), None)));
        let comment = ("comment".into(), Some("a # b=c".into()));
        assert_eq!(option("comment=a # b=c"), Ok(comment));
    }

    #[test]
    fn flags_win_over_the_profile() {
        let of = |words: &[&str]| Profile::try_parse_from(words).unwrap().cluster;
        let profile = of(&[
            "--shards=4",
            "--partition=slow",
            "--mem=4G",
            "--prelude=a",
            "--prelude=b",
        ]);
        let both = of(&["--time-per-task=60", "--partition=fast"]).or(profile);
        assert_eq!((both.shards, both.time_per_task.is_some()), (None, true));
        assert_eq!(both.partition.as_deref(), Some("fast"));
        assert_eq!(both.mem.as_deref(), Some("4G"));
        assert_eq!(both.prelude, ["a", "b"]);
    }
}
