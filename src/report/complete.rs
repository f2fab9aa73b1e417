//! Everything that is written once all trials are made: results, utilities that were asked for, and the page.

use std::fs;
use std::path::{Path, PathBuf};

use teda_core::{Error, Result};
use teda_datasets::Limits;
use teda_results::{Cell, UtilityCell};

use crate::audit::run::Made;
use crate::models::Access;
use crate::report::finished_run::{self, FinishedRun};
use crate::report::{curves, finish, page, utilities};

/// A run with its results.
pub struct Complete {
    /// Its directory.
    pub directory: PathBuf,
    /// Its cells.
    pub cells: Vec<Cell>,
    /// Its utilities, if any were asked for.
    pub utilities: Vec<UtilityCell>,
}

/// Writes everything into the run's directory.
///
/// # Errors
/// Those of [`finish::write`] and [`utilities::complete`]; failed, if the page cannot be written.
pub fn write(made: Made, access: &Access) -> Result<Complete> {
    let (directory, cells) = finish::write(made, &access.watch)?;
    of(directory, cells, access)
}

/// Adds utilities and the page to a directory that has its results.
///
/// # Errors
/// See [`write()`].
pub fn of(directory: PathBuf, cells: Vec<Cell>, access: &Access) -> Result<Complete> {
    let utilities = utilities::complete(&directory, &cells, access)?;
    let stored = finished_run::open(&directory)?;
    page(&directory, &[(&stored, &cells, &utilities)], access.limits)?;
    Ok(Complete {
        directory,
        cells,
        utilities,
    })
}

/// Writes the page of some runs into `directory`, beside the curve there.
///
/// # Errors
/// Failed, if the curve or the runs cannot be read, or the page cannot be written.
pub fn page(
    directory: &Path,
    runs: &[(&FinishedRun, &[Cell], &[UtilityCell])],
    limits: Limits,
) -> Result<()> {
    let path = directory.join(curves::CURVE);
    let curve = match path.exists() {
        true => fs::read_to_string(&path)
            .map_err(|e| Error::failed(format!("{}: cannot read: {e}", path.display())))?,
        false => String::new(),
    };
    page::write(&directory.join(page::PAGE), runs, &curve, limits)
}
