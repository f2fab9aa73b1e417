//! `teda report`: results and curves from stored rows alone.

use std::path::PathBuf;

use clap::Args;
use teda_core::{Error, Result};

use super::Outcome;
use super::output::{self, Format, print};
use crate::{finish, stored};

/// Judges and draws stored runs again, from their rows alone; several runs go into one picture.
#[derive(Args)]
pub struct Arguments {
    /// Run directories
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Two-sided confidence level, if another than the run's
    #[arg(long, value_name = "A", allow_hyphen_values = true)]
    alpha: Option<f64>,
    /// Delta, if another than the run's
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delta: Option<f64>,
    /// Estimator, if another than the run's
    #[arg(long, value_name = "NAME")]
    estimator: Option<String>,
    /// Where curve.svg, curve.png, cells.csv and result.json go; needed for several runs or other
    /// settings, the run's own directory when left out
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How the result is printed
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

impl Arguments {
    pub fn run(self) -> Result<Outcome> {
        let other = self.alpha.is_some() || self.delta.is_some() || self.estimator.is_some();
        let out = match (&self.out, &self.runs[..]) {
            (Some(out), _) => out.clone(),
            (None, [run]) if !other => run.clone(),
            (None, _) => {
                return Err(Error::usage(
                    "several runs, or other settings than a run's own, need --out DIR: a run's own results are not overwritten",
                ));
            }
        };
        let mut cells = Vec::new();
        for run in &self.runs {
            let mut stored = stored::open(run)?;
            if other {
                stored.needs_rows()?;
            }
            for plan in &mut stored.manifest.cells {
                plan.alpha = self.alpha.unwrap_or(plan.alpha);
                plan.delta = self.delta.unwrap_or(plan.delta);
            }
            if let Some(estimator) = &self.estimator {
                stored.judge_by(estimator)?;
            }
            cells.extend(stored.judge()?);
        }
        std::fs::create_dir_all(&out)
            .map_err(|e| Error::failed(format!("{}: cannot create: {e}", out.display())))?;
        finish::write_cells(&out, &cells)?;
        print(&output::cells(self.format, &out, cells)?)?;
        eprintln!("written to {}", out.display());
        Ok(Outcome::Done)
    }
}
