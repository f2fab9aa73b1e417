//! What is written once all trials are there: rows, cells, result and curves.

use std::path::Path;

use teda_core::Result;
use teda_results::{Cell, Document, Journal, Manifest, Status, cells_csv, trials};

use crate::count::Count;
use crate::curves;
use crate::outcome::judge;

/// The result document of a run directory.
pub const RESULT: &str = "result.json";
/// The cells as a table for spreadsheets.
const CELLS: &str = "cells.csv";

/// Turns the journal, if rows were kept, into `trials.parquet`, judges the cells and writes them with their curves.
///
/// # Errors
/// Failed, where a file cannot be written; the journal is kept until its rows are stored.
pub fn write(
    directory: &Path,
    journal: Option<Journal>,
    manifest: &mut Manifest,
    counts: &[Count],
    seconds: &[Option<f64>],
) -> Result<Vec<Cell>> {
    let kept = journal.map(trials::finish).transpose()?;
    let cells = judge(manifest, directory, counts, seconds)?;
    write_cells(directory, &cells)?;
    manifest.trials_sha256 = kept.map(|()| trials::sha256(directory)).transpose()?;
    manifest.status = Status::Complete;
    manifest.save(directory)?;
    Ok(cells)
}

/// Writes the cells as JSON, CSV and pictures.
///
/// # Errors
/// Failed, where a file cannot be written.
pub fn write_cells(directory: &Path, cells: &[Cell]) -> Result<()> {
    let shown = Some(directory.display().to_string());
    Document::new(shown, cells.to_vec()).write(&directory.join(RESULT))?;
    cells_csv::write(&directory.join(CELLS), cells)?;
    curves::write(directory, cells)
}
