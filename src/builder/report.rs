//! What an audit found: its cells, with their table, document and pictures.

use std::path::{Path, PathBuf};

use teda_core::{Error, Result};
use teda_results::{Cell, Document, UtilityCell};

use crate::report::columns::WIDTH;
use crate::report::curves::View;
use crate::report::{finish, finished_run, table, utilities};

/// The results of an audit: a cell for each ε and attack, with its bound.
#[derive(Debug, Clone)]
pub struct Report {
    pub(super) directory: Option<PathBuf>,
    pub(super) notes: Vec<String>,
    pub(super) cells: Vec<Cell>,
    pub(super) utilities: Vec<UtilityCell>,
}

impl Report {
    /// A report on the finished run in `directory`, from its stored rows.
    ///
    /// # Errors
    /// Usage, if there is no run or it is not complete; failed, if its files are not those that the run wrote.
    pub fn open(directory: &Path) -> Result<Self> {
        let run = finished_run::open(directory)?;
        Ok(Self {
            cells: run.judge_as_it_was()?,
            directory: Some(directory.to_owned()),
            notes: Vec::new(),
            utilities: utilities::stored(directory)?,
        })
    }

    /// One entry per cell: its counts, its bound and what the bound says.
    #[must_use]
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// What the releases are still good for, if [`Audit::utilities`](super::Audit::utilities) asked for it.
    #[must_use]
    pub fn utilities(&self) -> &[UtilityCell] {
        &self.utilities
    }

    /// Notes from before the first trial, which `teda audit` prints on standard error: what became of the data, which
    /// attacks were left out and why. Empty for a report made by [`Self::open`]: runs do not store their notes.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Where the run is kept, if it was kept.
    #[must_use]
    pub fn directory(&self) -> Option<&Path> {
        self.directory.as_deref()
    }

    /// The table that `teda audit` prints after the notes, for a terminal of 80 columns.
    #[must_use]
    pub fn table(&self) -> String {
        let notes = self.notes.iter().map(|note| format!("{note}\n"));
        notes.collect::<String>() + &table::render(&self.cells, WIDTH)
    }

    /// The document `teda.audit/1` as one line.
    ///
    /// # Errors
    /// Failed, if a number cannot be written.
    pub fn to_json(&self) -> Result<String> {
        let directory = self.directory.as_ref().map(|d| d.display().to_string());
        Document::new(directory, self.cells.clone())
            .with_utilities(self.utilities.clone())
            .to_line()
    }

    /// Writes the cells as JSON, CSV and curves into a directory.
    ///
    /// # Errors
    /// Failed, if a file cannot be written.
    pub fn write(&self, directory: &Path) -> Result<()> {
        std::fs::create_dir_all(directory)
            .map_err(|e| Error::failed(format!("{}: cannot create: {e}", directory.display())))?;
        finish::write_results(directory, &self.cells, &self.utilities, View::default())
    }
}
