//! The command line: one file per subcommand.

mod audit;
mod audit_fields;
mod calibrate;
mod check;
mod color;
mod compare;
mod config_file;
mod data;
mod diff;
mod fields;
mod flags;
mod interrupt;
mod key;
mod list;
mod manual;
mod merge;
mod models;
mod output;
mod pager;
mod progress;
mod report;
mod rewrite;
mod selftest;
mod show;
mod slurm;
mod snr;
mod study;
mod task;
mod waiting;

use std::ffi::OsString;

use clap::{ColorChoice, CommandFactory, FromArgMatches, Parser, Subcommand};
use teda_core::{Error, Result};

use self::output::{say, width};

/// Help is hard to read in longer lines than these.
const HELP: usize = 100;

/// Audits how private differentially private text rewriting really is.
///
/// Draws k candidate texts, rewrites one of them in secret, lets an adversary guess which, and turns
/// the success rate over many trials into a lower bound on epsilon that can be set against the
/// nominal one.
#[derive(Parser)]
#[command(name = "teda", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Colours of help and messages: auto, on a terminal (and as NO_COLOR and CLICOLOR_FORCE say)
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        default_value = "auto",
        hide_possible_values = true,
        display_order = 900
    )]
    color: ColorChoice,
}

const EXIT_CODES: &str = "Exit status: 0 done, 1 failed while running, 2 wrong usage or configuration, 3 a check found a violation or a regression, 130 interrupted (the run can be resumed).";

#[derive(Subcommand)]
enum Command {
    Audit(Box<audit::Arguments>),
    Rewrite(rewrite::Arguments),
    Task(Box<task::Arguments>),
    Study(study::Arguments),
    Check(check::Arguments),
    Report(report::Arguments),
    Show(show::Arguments),
    Diff(diff::Arguments),
    Merge(merge::Arguments),
    Slurm(slurm::Arguments),
    List(list::Arguments),
    Data(data::Arguments),
    Models(models::Arguments),
    Selftest(selftest::Arguments),
    Completions(manual::Completions),
    Man(manual::Pages),
}

/// How a command ended without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It did what was asked.
    Done,
    /// A check found a violation or a regression.
    CheckFailed,
    /// The user stopped it.
    Interrupted,
}

/// Runs a command line, which begins with the name of the program, and returns the exit status.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // Before anything is said about them.
    color::expect(&arguments);
    let result = read(arguments).and_then(|cli| {
        color::set(cli.color);
        interrupt::watch()?;
        cli.command.run()
    });
    match result {
        Ok(Outcome::Done) => 0,
        Ok(Outcome::CheckFailed) => 3,
        Ok(Outcome::Interrupted) => 130,
        Err(error) => {
            say(format_args!("error: {error}"));
            match error {
                Error::Failed(_) => 1,
                Error::Usage(_) => 2,
            }
        }
    }
}

/// The command line as it is read and as its help is shown, which fits the terminal.
fn command() -> clap::Command {
    Cli::command().term_width(width().min(HELP))
}

/// The command line, with the fields of a configuration file that it names.
fn read(arguments: Vec<OsString>) -> Result<Cli> {
    let matches = command().get_matches_from(&arguments);
    let matches = match matches.subcommand_matches("audit") {
        Some(audit) => match config_file::Given::read(audit)? {
            Some(file) => file.complete(&arguments, command())?,
            None => matches,
        },
        None => matches,
    };
    Ok(Cli::from_arg_matches(&matches).unwrap_or_else(|e| e.exit()))
}

impl Command {
    fn run(self) -> Result<Outcome> {
        match self {
            Self::Audit(arguments) => arguments.run(),
            Self::Rewrite(arguments) => arguments.run(),
            Self::Task(arguments) => arguments.run(),
            Self::Study(arguments) => arguments.run(),
            Self::Check(arguments) => arguments.run(),
            Self::Report(arguments) => arguments.run(),
            Self::Show(arguments) => arguments.run(),
            Self::Diff(arguments) => arguments.run(),
            Self::Merge(arguments) => arguments.run(),
            Self::Slurm(arguments) => arguments.run(),
            Self::List(arguments) => arguments.run(),
            Self::Data(arguments) => arguments.run(),
            Self::Models(arguments) => arguments.run(),
            Self::Selftest(arguments) => arguments.run(),
            Self::Completions(arguments) => arguments.run(&command()),
            Self::Man(arguments) => arguments.run(&command()),
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// The words of a line, as a shell takes them.
    fn words(line: &str) -> Vec<String> {
        let mut shell = std::process::Command::new("sh");
        let printed = shell
            .args(["-c", &format!("printf '%s\\0' {line}")])
            .output();
        let printed = String::from_utf8(printed.unwrap().stdout).unwrap();
        printed.split_terminator('\0').map(str::to_owned).collect()
    }

    /// The lines of a command's help that are commands themselves, and those of all commands below it.
    fn examples(command: &clap::Command) -> Vec<String> {
        let help = command.get_after_long_help().map(ToString::to_string);
        let help = help.unwrap_or_default();
        let own = help.lines().filter(|line| line.starts_with("  teda "));
        let own = own.map(|line| {
            line.split([';', '|', '>', '#'])
                .next()
                .unwrap_or_default()
                .to_owned()
        });
        own.chain(command.get_subcommands().flat_map(examples))
            .collect()
    }

    #[test]
    fn every_example_of_the_help_is_a_command() {
        let examples = examples(&command());
        assert!(examples.len() > 30, "{examples:?}");
        for line in examples {
            let parsed = Cli::try_parse_from(words(&line));
            assert!(parsed.is_ok(), "{line}: {}", parsed.err().unwrap());
        }
    }
}
