//! `teda diff`: which cells moved between two runs.

mod compared;
mod render;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use teda_core::Result;

use self::compared::Difference;
use super::Outcome;
use super::compare::{self, Stored, TOLERANCE};
use super::output::print;

/// Compares two runs: which cells' success rates moved by more than chance.
///
/// By Fisher's exact test on hits and misses, as `teda check` compares with its reference run. Cells are the same if data set,
/// mechanism, epsilon, neighbours, k, lambda and attack are; numbers of trials and seeds may differ.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Run directory, or its result.json
    #[arg(value_name = "BEFORE")]
    before: PathBuf,
    /// Another one
    #[arg(value_name = "AFTER")]
    after: PathBuf,
    /// Probability that any cell is said to have moved if none did
    #[arg(long, value_name = "P", default_value_t = TOLERANCE, allow_hyphen_values = true)]
    tolerance: f64,
    /// Ends with status 3 if a cell moved, or none could be compared
    #[arg(long)]
    exit_code: bool,
    /// How the difference is printed
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// How differences are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Table,
    /// One document (schema `teda.diff/1`)
    Json,
}

const EXAMPLES: &str = "Examples:
  teda diff results/runs/before results/runs/after
  teda diff recorded/result.json results/runs/now --tolerance 0.001 --exit-code";

impl Arguments {
    pub fn run(self) -> Result<Outcome> {
        let tolerance = compare::tolerance(self.tolerance).map_err(|e| e.context("--tolerance"))?;
        let before = Stored::read(&self.before)?;
        let after = Stored::read(&self.after)?;
        let difference = Difference::of(&before, &after, tolerance)?;
        print(&match self.format {
            Format::Table => render::table(&difference),
            Format::Json => render::document(&difference)?,
        })?;
        let shown = difference.moved() > 0 || difference.compared() == 0;
        Ok(match self.exit_code && shown {
            true => Outcome::CheckFailed,
            false => Outcome::Done,
        })
    }
}
