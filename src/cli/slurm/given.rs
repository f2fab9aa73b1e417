//! The flags of `teda audit` as they were given: parsed, and as the words that a task is given in turn.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use crate::cli::{audit, merge};

/// Flags that a job sets itself.
const OWN: [&str; 1] = ["out"];
/// Flags that make no sense for a job, and why.
const REFUSED: [(&str, &str); 6] = [
    (
        "shard",
        "the tasks of the job are the shards: say how many with --shards",
    ),
    ("resume", "`teda slurm resubmit DIR` goes on with a job"),
    (
        "go_on",
        "every task goes on with what it finds; `teda slurm resubmit DIR` sends what is missing",
    ),
    ("config", "give the flags that its fields stand for"),
    (
        "dry_run",
        "--print shows what would be submitted, and `teda audit --dry-run` how long it would take",
    ),
    (
        "format",
        "the merged run is printed by `teda report DIR/run --format …`",
    ),
];

/// The flags of an audit.
pub struct Given {
    /// Parsed.
    pub audit: audit::Arguments,
    /// Those that were given, one word each.
    pub words: Vec<String>,
    /// Those of them that `teda merge` has as well.
    pub merge: Vec<String>,
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let all = audit::Arguments::augment_args(Command::new("audit"));
        let given = |arg: &&Arg| {
            matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
        };
        for (id, why) in REFUSED {
            if all
                .get_arguments()
                .filter(given)
                .any(|arg| arg.get_id() == id)
            {
                let flag = id.replace('_', "-");
                return Err(clap::Error::raw(
                    clap::error::ErrorKind::ArgumentConflict,
                    format!("--{flag} is not for a job: {why}"),
                ));
            }
        }
        let merge = merge::Arguments::augment_args(Command::new("merge"));
        let is_merges = |arg: &&Arg| {
            merge
                .get_arguments()
                .any(|other| other.get_id() == arg.get_id())
        };
        let passed = || {
            let given = all.get_arguments().filter(given);
            given.filter(|arg| !OWN.contains(&arg.get_id().as_str()))
        };
        Ok(Self {
            words: passed().flat_map(|arg| words(arg, matches)).collect(),
            merge: passed()
                .filter(is_merges)
                .flat_map(|arg| words(arg, matches))
                .collect(),
            audit: audit::Arguments::from_arg_matches(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        let command = audit::Arguments::augment_args(command);
        let hidden = REFUSED.iter().fold(command, |command, (id, _)| {
            command.mut_arg(id, |arg| arg.hide(true))
        });
        hidden.mut_arg("out", |arg| {
            let help = "Job directory, on a file system that all nodes share: scripts, logs, shards, and the merged run in DIR/run";
            arg.help(help).required(true)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// A flag with its values, as it would be given again.
fn words(arg: &Arg, matches: &ArgMatches) -> Vec<String> {
    let Some(flag) = arg.get_long() else {
        return Vec::new();
    };
    if !arg.get_action().takes_values() {
        return vec![format!("--{flag}")];
    }
    // Only paths may be anything but text, and none of them is passed on.
    let values = matches.get_raw(arg.get_id().as_str()).into_iter().flatten();
    values
        .map(|value| format!("--{flag}={}", value.to_string_lossy()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    #[command(no_binary_name = true)]
    struct Flags {
        #[command(flatten)]
        given: Given,
    }

    fn given(words: &[&str]) -> Result<Given, clap::Error> {
        Flags::try_parse_from(words).map(|flags| flags.given)
    }

    #[test]
    fn words_given_again_are_the_same_flags() {
        let hostile = "exec:sh -c 'a \"b\" $c `d`' \\ \n*";
        let first = given(&[
            "--out",
            "job",
            "--mech",
            hostile,
            "--mech=em,krr",
            "--epsilon",
            "1,teda",
            "--set",
            "a= x,b=",
            "--lambda=-5",
            "--quiet",
            "--offline",
            "--threads",
            "3",
            "--timeout=9",
        ])
        .unwrap();
        assert!(first.words.contains(&format!("--mech={hostile}")));
        assert!(!first.words.iter().any(|word| word.starts_with("--out")));
        assert_eq!(first.merge, ["--offline", "--timeout=9", "--threads=3"]);
        let mut again: Vec<&str> = first.words.iter().map(String::as_str).collect();
        again.push("--out=job");
        let second = given(&again).unwrap();
        assert_eq!(first.words, second.words);
        let config = |given: &Given| {
            given
                .audit
                .config(teda_datasets::Limits::default())
                .unwrap()
        };
        assert_eq!(config(&first), config(&second));
    }

    #[test]
    fn what_a_job_sets_itself_is_refused_with_the_reason() {
        for (flags, why) in [
            (&["--shard=1/4"][..], "--shards"),
            (&["--dry-run"], "--print"),
            (&["--go-on"], "resubmit"),
            (&["--config=audit.toml"], "its fields"),
            (&["--format=json"], "teda report"),
        ] {
            let error = given(&[&["--out=job", "--mech=em"], flags].concat())
                .err()
                .unwrap();
            assert!(error.to_string().contains(why), "{error}");
        }
        let resumed = given(&["--resume=run"]).err().unwrap();
        assert!(resumed.to_string().contains("--out") || resumed.to_string().contains("resubmit"));
    }
}
