//! What is written once all trials are there: rows, guesses of attacks that learn, cells, result and curves.

use std::path::Path;

use teda_attacks::Context;
use teda_core::{Error, Result};
use teda_results::{
    Cell, CellPlan, Document, Journal, Manifest, Status, cells_csv, guesses, trials,
};

use crate::count::{self, Count, Counted};
use crate::curves;
use crate::outcome::judge;
use crate::put::{self, Put};

/// The result document of a run directory.
pub const RESULT: &str = "result.json";
/// The cells as a table for spreadsheets.
const CELLS: &str = "cells.csv";

/// Turns the journal, if rows were kept, into `trials.parquet`, has attacks learn, judges the cells and writes them
/// with their curves. `contexts` are what attacks on each list of the run's texts are built from. In a part of a
/// run, attacks that learn wait for the whole.
///
/// # Errors
/// Failed, where a file cannot be written; the journal is kept until its rows are stored.
pub fn write(
    directory: &Path,
    journal: Option<Journal>,
    manifest: &mut Manifest,
    counts: Vec<Count>,
    seconds: Vec<Option<f64>>,
    contexts: impl FnOnce() -> Result<Vec<Context>>,
) -> Result<Vec<Cell>> {
    let kept = journal.map(trials::finish).transpose()?;
    let mut counted: Vec<Option<(Count, Option<f64>)>> =
        counts.into_iter().zip(seconds).map(Some).collect();
    if manifest.shard.is_none() && manifest.cells.iter().any(CellPlan::is_deferred) {
        learn(directory, manifest, &mut counted, &contexts()?)?;
    }
    let counted: Vec<Counted> = manifest
        .cells
        .iter()
        .zip(counted)
        .filter(|(plan, _)| manifest.shard.is_none() || !plan.is_deferred())
        .filter_map(|(plan, known)| {
            let (count, seconds) = known?;
            let plan = plan.clone();
            Some(Counted {
                plan,
                count,
                seconds,
            })
        })
        .collect();
    let cells = judge(manifest, directory, &counted)?;
    write_cells(directory, &cells)?;
    manifest.trials_sha256 = kept.map(|()| trials::sha256(directory)).transpose()?;
    manifest.status = Status::Complete;
    manifest.save(directory)?;
    Ok(cells)
}

/// Has the attacks that learn judge the rows, and keeps their guesses.
fn learn(
    directory: &Path,
    manifest: &mut Manifest,
    counted: &mut [Option<(Count, Option<f64>)>],
    contexts: &[Context],
) -> Result<()> {
    let deferred: Vec<usize> = (0..manifest.cells.len())
        .filter(|cell| manifest.cells[*cell].is_deferred())
        .collect();
    let choices = count::choices(&manifest.cells);
    let puts: Vec<Put<'_>> = deferred
        .iter()
        .map(|cell| {
            let plan = &manifest.cells[*cell];
            let context = plan.texts.and_then(|list| contexts.get(list as usize));
            Ok(Put {
                cell: *cell as u32,
                plan,
                rows: rows_of(&manifest.cells, *cell) as u32,
                context: context.ok_or_else(|| {
                    Error::failed(format!(
                        "{}: the manifest does not say which texts cell {cell} is about",
                        directory.display()
                    ))
                })?,
                likelihoods: None,
            })
        })
        .collect::<Result<_>>()?;
    let choices: Vec<u64> = deferred.iter().map(|cell| choices[*cell]).collect();
    let amount = manifest.cells[deferred[0]].trials;
    let mut sink = guesses::create(directory)?;
    let judged = put::put(directory, &puts, &choices, amount, Some(&mut sink))?;
    sink.finish()?;
    manifest.guesses_sha256 = Some(guesses::sha256(directory)?);
    for (cell, judged) in deferred.into_iter().zip(judged) {
        manifest.cells[cell].signs = judged.signs;
        let made = counted[cell].take().and_then(|(_, seconds)| seconds);
        counted[cell] = Some((judged.count, made.map(|made| made + judged.seconds)));
    }
    Ok(())
}

/// The cell that has the rows of a cell's series: the first whose attack guesses with the trials, else the first of
/// all.
#[must_use]
pub fn rows_of(cells: &[CellPlan], cell: usize) -> usize {
    let series = cells[cell].series;
    let mut of_series = (0..cells.len()).filter(|other| cells[*other].series == series);
    let first = of_series.clone().next();
    let guesses = of_series.find(|other| !cells[*other].is_deferred());
    guesses.or(first).unwrap_or(cell)
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
