//! The audits of a check file: the limits they must keep, and their results.
//!
//! file → audits with limits → runs → cells with the limits they fail → table, document, JUnit.

use std::path::{Path, PathBuf};

use serde::Serialize;
use teda_core::Result;
use teda_results::{Cell, CellPlan};

use super::compare::{Comparison, Recorded};
use super::limits::Limits;
use crate::cli::key::Key;
use teda::audit::config::Config;
use teda::audit::run::{Control, Ended, Prepared};
use teda::models::Access;
use teda::report::complete;

/// One audit of a check file.
pub struct Audit {
    /// Its name, which is also that of its run directory.
    pub name: String,
    pub(super) config: Config,
    pub(super) limits: Limits,
    pub(super) recorded: Option<Recorded>,
    /// Whether the file names the reference run by its old key.
    pub has_old_key: bool,
}

/// A cell that would be computed, in readable form.
pub struct Planned {
    /// The cell.
    pub cell: String,
    /// Most trials.
    pub trials: u64,
    /// The limits that it must keep.
    pub limits: String,
    /// The success rate with which it will be compared.
    pub recorded: Option<f64>,
}

/// The results of an audit.
#[derive(Debug, Serialize)]
pub struct Checked {
    pub(super) name: String,
    run_dir: PathBuf,
    pub(super) cells: Vec<CheckedCell>,
}

/// A cell and the limits that it fails.
#[derive(Debug, Serialize)]
pub struct CheckedCell {
    pub(super) cell: Cell,
    pub(super) limits: Limits,
    /// The comparison with the recorded cell, if one was asked for.
    pub(super) recorded: Option<Comparison>,
    pub(super) ok: bool,
    /// Every limit that is not kept, in words.
    pub(super) failures: Vec<String>,
}

/// How likely a file's limits are to fail by chance.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Stake {
    /// The limits of the file: one set per cell.
    pub limits: u64,
    /// An upper bound on P(a sound mechanism's bound exceeds its true ε in any of them).
    pub error: f64,
}

/// Judges each of the m cells of a file at its alpha over m, so that the file as a whole fails by chance no more often
/// than a single cell would. Everything that an audit needs is checked here, before the first trial.
///
/// # Errors
/// Usage, for anything that cannot be satisfied.
pub fn share_error(audits: &mut [Audit], access: &Access) -> Result<Stake> {
    let mut limits = 0;
    for audit in audits.iter() {
        let prepared = audit.prepare(access);
        let (_, cells) = prepared.map_err(|e| e.context(format!("audit '{}'", audit.name)))?;
        limits += cells.len() as u64;
    }
    let mut error = 0.0_f64;
    for audit in audits {
        error = error.max(audit.config.alpha / 2.0);
        audit.config.alpha /= limits as f64;
    }
    Ok(Stake { limits, error })
}

impl Audit {
    /// The cells that would be computed.
    ///
    /// # Errors
    /// Usage, for anything that cannot be satisfied, such as a cell without its record.
    pub fn plan(&self, access: &Access) -> Result<Vec<Planned>> {
        let planned = |plan: &CellPlan| {
            Ok(Planned {
                cell: Key::from(plan).to_string(),
                trials: plan.trials,
                limits: self.limits.shown(plan.claimed_epsilon),
                recorded: self
                    .recorded(&Key::from(plan))?
                    .map(|cell| cell.success_rate),
            })
        };
        let (_, plans) = self.prepare(access)?;
        plans.iter().map(planned).collect()
    }

    /// Runs the audit into its directory below `out` and checks its cells; `None` after an interrupt.
    ///
    /// # Errors
    /// Usage, for anything that cannot be met; failed, if running it fails.
    pub fn run(
        &self,
        out: &Path,
        access: &Access,
        control: &Control<'_>,
    ) -> Result<Option<Checked>> {
        let (prepared, _) = self.prepare(access)?;
        match prepared.begin(Some(&out.join(&self.name)), control)? {
            Ended::Interrupted(..) => Ok(None),
            Ended::Made(made) => {
                let done = complete::write(*made, access)?;
                Ok(Some(Checked {
                    name: self.name.clone(),
                    run_dir: done.directory,
                    cells: self.check(done.cells)?,
                }))
            }
        }
    }

    /// Loads what the audit needs. Missing records are found here, before the first trial.
    fn prepare(&self, access: &Access) -> Result<(Prepared, Vec<CellPlan>)> {
        let prepared = Prepared::new(self.config.clone(), access)?;
        let plans = prepared.cells()?;
        for plan in &plans {
            self.recorded(&Key::from(plan))?;
        }
        Ok((prepared, plans))
    }

    fn recorded(&self, key: &Key<'_>) -> Result<Option<&Cell>> {
        let recorded = self.recorded.as_ref();
        recorded.map(|recorded| recorded.cell(key)).transpose()
    }

    fn check(&self, cells: Vec<Cell>) -> Result<Vec<CheckedCell>> {
        let compared = cells.len();
        let all = cells.clone();
        let check = |cell: Cell| {
            let recorded = self.recorded.as_ref();
            let recorded = recorded
                .map(|recorded| recorded.compare(&cell, compared))
                .transpose()?;
            let same = |other: &&Cell| Key::from(*other).is_beside(&Key::from(&cell));
            let mut failures = self.limits.failures(&cell, all.iter().filter(same));
            failures.extend(recorded.as_ref().and_then(Comparison::failure));
            Ok(CheckedCell {
                limits: self.limits,
                recorded,
                ok: failures.is_empty(),
                failures,
                cell,
            })
        };
        cells.into_iter().map(check).collect()
    }
}

impl Checked {
    /// Number of cells.
    #[must_use]
    pub fn count(&self) -> usize {
        self.cells.len()
    }

    /// Number of cells that fail a limit.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.cells.iter().filter(|cell| !cell.ok).count()
    }
}
