//! `teda slurm`: an audit as a job array of a Slurm cluster.
//!
//! flags → plan → scripts in a job directory → jobs. The scripts are text made from the plan alone; what a shard is, how
//! it goes on and how shards are joined is the business of `teda audit` and `teda merge`, which the tasks run.

mod client;
mod cluster;
mod given;
mod job;
mod prepare;
mod quoting;
mod script;
mod send;
mod status;
mod time;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use teda_core::Result;

use super::Outcome;

/// Runs an audit on a Slurm cluster: a job array over its shards, and a job that joins them.
#[derive(Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Audit(Box<prepare::Arguments>),
    /// Shows how far every shard of a job is, by its files and, where Slurm answers, its tasks
    Status(Directory),
    /// Submits what is missing: shards that are neither complete nor queued, and what joins them
    Resubmit(Directory),
}

/// Which job.
#[derive(Args)]
struct Directory {
    /// Job directory, as `teda slurm audit --out` named it
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

impl Arguments {
    pub fn run(self) -> Result<Outcome> {
        match self.command {
            Command::Audit(arguments) => arguments.run(),
            Command::Status(job) => status::show(&job.directory),
            Command::Resubmit(job) => send::again(&job.directory),
        }
    }
}
