//! The command line: one file per subcommand.

mod audit;
mod audit_fields;
mod calibrate;
mod check;
mod data;
mod fields;
mod flags;
mod interrupt;
mod list;
mod merge;
mod models;
mod output;
mod progress;
mod report;
mod rewrite;
mod selftest;
mod snr;
mod study;
mod task;

use std::ffi::OsString;

use clap::{Parser, Subcommand};
use teda_core::{Error, Result};

use self::output::say;

/// Audits how private differentially private text rewriting really is.
///
/// Draws k candidate texts, rewrites one of them in secret, lets an adversary guess which, and turns
/// the success rate over many trials into a lower bound on epsilon that can be set against the
/// nominal one.
#[derive(Parser)]
#[command(name = "teda", version, after_help = EXIT_CODES, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
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
    Merge(merge::Arguments),
    List(list::Arguments),
    Data(data::Arguments),
    Models(models::Arguments),
    Selftest(selftest::Arguments),
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
    let cli = Cli::parse_from(arguments);
    let result = interrupt::watch().and_then(|()| cli.command.run());
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

impl Command {
    fn run(self) -> Result<Outcome> {
        match self {
            Self::Audit(arguments) => arguments.run(),
            Self::Rewrite(arguments) => arguments.run(),
            Self::Task(arguments) => arguments.run(),
            Self::Study(arguments) => arguments.run(),
            Self::Check(arguments) => arguments.run(),
            Self::Report(arguments) => arguments.run(),
            Self::Merge(arguments) => arguments.run(),
            Self::List(arguments) => arguments.run(),
            Self::Data(arguments) => arguments.run(),
            Self::Models(arguments) => arguments.run(),
            Self::Selftest(arguments) => arguments.run(),
        }
    }
}
