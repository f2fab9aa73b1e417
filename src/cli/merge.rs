//! `teda merge`: joins the shards of one run.

use std::path::PathBuf;

use clap::Args;
use teda_core::{Error, Result};

use super::Outcome;
use super::flags::{AccessArguments, SpeedArguments};
use super::output::{self, Format, print, say, warn};
use teda::report::{complete, merge};

/// Joins all shards of one run into the run that one process would have made.
#[derive(Args)]
pub struct Arguments {
    /// Run directories of all shards, in any order
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Run directory of the whole; results/runs/TIME-MECHANISMS-DATASET when left out
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    access: AccessArguments,
    #[command(flatten)]
    speed: SpeedArguments,
    /// How the result is printed
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

impl Arguments {
    pub fn run(self) -> Result<Outcome> {
        if self.runs.len() < 2 {
            return Err(Error::usage(
                "one run directory is nothing to merge: name all shards",
            ));
        }
        let access = self.access.access(false);
        let whole = || {
            let (directory, cells) = merge::merge(&self.runs, self.out.as_deref(), &access)?;
            complete::of(directory, cells, &access)
        };
        let done = self.speed.pool()?.install(whole)?;
        let place = done.directory;
        warn(&done.cells);
        print(&output::cells(
            self.format,
            &place,
            done.cells,
            done.utilities,
        )?)?;
        say(format_args!("run directory: {}", place.display()));
        Ok(Outcome::Done)
    }
}
