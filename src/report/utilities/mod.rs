//! What the releases of a stored run are still good for, measured on its rows.

mod measure;
mod table;

use std::path::Path;

use teda_core::{Error, Result};
use teda_results::{Cell, Document, Manifest, UtilityCell};

use crate::audit::config::Config;
use crate::models::Access;
use crate::report::{finish, finished_run};

pub use measure::{Asked, measure};
pub use table::{latex, markdown, render};

/// Measures what the configuration of the run in `directory` asks for, and writes it beside its `cells`. In a part of a run
/// utilities wait for the whole.
///
/// # Errors
/// Those of [`measure()`]; failed, if a file cannot be written.
pub fn complete(directory: &Path, cells: &[Cell], access: &Access) -> Result<Vec<UtilityCell>> {
    let manifest = Manifest::load(directory)?;
    let utilities = Config::of_run(&manifest, directory)?.utilities;
    if utilities.is_empty() || manifest.shard.is_some() {
        return Ok(Vec::new());
    }
    let asked = Asked {
        utilities,
        ..Asked::default()
    };
    let measured = measure(&finished_run::open(directory)?, &asked, access)?;
    finish::add_utilities(directory, cells, &measured)?;
    Ok(measured)
}

/// The utilities in the result of the run in `directory`; none before it has a result.
///
/// # Errors
/// Failed, if the result cannot be read.
pub fn stored(directory: &Path) -> Result<Vec<UtilityCell>> {
    let path = directory.join(finish::RESULT);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let document = Document::read(&path).map_err(|e| {
        Error::failed(format!(
            "{e}; without this file `teda report` writes it anew from the rows, and `--utility` measures again what it held"
        ))
    })?;
    Ok(document.utilities)
}

/// The utilities of the finished run in `directory`; measured now if it was ended before they were.
///
/// # Errors
/// Those of [`stored()`] and [`complete()`].
pub fn stored_or_measured(
    directory: &Path,
    cells: &[Cell],
    access: &Access,
) -> Result<Vec<UtilityCell>> {
    let stored = stored(directory)?;
    match stored.is_empty() {
        true => complete(directory, cells, access),
        false => Ok(stored),
    }
}
