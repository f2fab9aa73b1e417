//! Writes the results once all trials are made: rows, guesses of attacks that learn, cells, result and curves.

use std::path::{Path, PathBuf};

use teda_attacks::Context;
use teda_core::{Error, Result};
use teda_results::{
    Cell, CellPlan, Document, Row, Status, UtilityCell, Writer, cells_csv, guesses, trials, utility,
};

use crate::audit::attacks_on_rows::{self, Put};
use crate::audit::counting::{self, Count, Counted};
use crate::audit::run::{InMemory, Made, Trials};
use crate::models::Watch;
use crate::report::curves::{self, View};
use crate::report::frontier;
use crate::report::judge::judge;
use crate::report::witness::Texts;

/// The result document of a run directory.
pub const RESULT: &str = "result.json";
/// The cells as a table for spreadsheets.
const CELLS: &str = "cells.csv";
/// The utilities, likewise.
const UTILITIES: &str = "utilities.csv";

/// Turns the journal, if rows were kept, into `trials.parquet`, runs the attacks that learn, judges the cells and
/// writes them with their curves. In a part of a run, attacks that learn wait for the whole.
///
/// # Errors
/// Failed, if a file cannot be written; the journal is kept until its rows are stored.
pub fn write(made: Made, watch: &Watch) -> Result<(PathBuf, Vec<Cell>)> {
    let Made {
        directory,
        mut manifest,
        journal,
        trials: made,
    } = made;
    let directory = directory.path();
    if let Some(journal) = journal {
        trials::finish(journal, |sha256| {
            manifest.trials_sha256 = Some(sha256);
            manifest.save(directory)
        })?;
    }
    let is_part = manifest.shard.is_some();
    let counted = if !is_part && manifest.cells.iter().any(CellPlan::is_deferred) {
        let mut sink = guesses::create(directory, false)?;
        let rows = trials::rows(directory)?;
        let counted = learn(&mut manifest.cells, made, rows, Some(&mut sink), watch)?;
        sink.finish()?;
        manifest.guesses_sha256 = Some(guesses::sha256(directory)?);
        counted
    } else {
        known(made.counts, made.seconds)
    };
    let counted = with_plans(&manifest.cells, counted, is_part);
    let cells = judge(&counted, Texts::Stored(directory, &manifest))?;
    write_results(directory, &cells, &[], View::default())?;
    if manifest.trials_sha256.is_none() {
        manifest.cells_sha256 = Some(Document::cells_sha256(&directory.join(RESULT))?);
    }
    manifest.status = Status::Complete;
    manifest.save(directory)?;
    Ok((directory.to_owned(), cells))
}

/// Runs the attacks that learn on the rows of a run that is kept in memory, and judges its cells.
///
/// # Errors
/// If an attack fails.
pub fn in_memory(made: InMemory, watch: &Watch) -> Result<Vec<Cell>> {
    let InMemory {
        mut cells,
        rows,
        trials: made,
    } = made;
    let lists = made.contexts.iter().map(|context| context.texts.clone());
    let texts = Texts::Here(lists.collect());
    let counted = if cells.iter().any(CellPlan::is_deferred) {
        learn(&mut cells, made, rows.into_iter().map(Ok), None, watch)?
    } else {
        known(made.counts, made.seconds)
    };
    judge(&with_plans(&cells, counted, false), texts)
}

/// A cell's counts with the seconds that it took.
type Known = Option<(Count, Option<f64>)>;

fn known(counts: Vec<Count>, seconds: Vec<Option<f64>>) -> Vec<Known> {
    counts.into_iter().zip(seconds).map(Some).collect()
}

/// The cells that have counts: in a part of a run, all but those of attacks that learn.
fn with_plans(cells: &[CellPlan], counted: Vec<Known>, is_part: bool) -> Vec<Counted> {
    let both = cells.iter().zip(counted);
    both.filter(|(plan, _)| !(is_part && plan.is_deferred()))
        .filter_map(|(plan, known)| {
            let (count, seconds) = known?;
            let plan = plan.clone();
            Some(Counted {
                plan,
                count,
                seconds,
            })
        })
        .collect()
}

/// Runs the attacks that learn on the rows; their guesses go to `sink`.
fn learn(
    cells: &mut [CellPlan],
    made: Trials,
    rows: impl IntoIterator<Item = Result<Row>>,
    sink: Option<&mut Writer>,
    watch: &Watch,
) -> Result<Vec<Known>> {
    let Trials {
        counts,
        seconds,
        attacks,
        contexts,
    } = made;
    let deferred: Vec<usize> = (0..cells.len())
        .filter(|cell| cells[*cell].is_deferred())
        .collect();
    let choices = counting::choices(cells);
    let puts: Vec<Put<'_>> = deferred
        .iter()
        .map(|cell| {
            Ok(Put {
                cell: *cell as u32,
                plan: &cells[*cell],
                attack: attacks[*cell].clone(),
                rows: rows_of(cells, *cell) as u32,
                context: context_of(&contexts, &cells[*cell])
                    .map_err(|e| e.context(format!("cell {cell}")))?,
                likelihoods: None,
            })
        })
        .collect::<Result<_>>()?;
    let choices: Vec<u64> = deferred.iter().map(|cell| choices[*cell]).collect();
    let amount = cells[deferred[0]].trials;
    let judged = attacks_on_rows::put(rows, &puts, &choices, amount, sink, watch)?;
    let mut counted = known(counts, seconds);
    for (cell, judged) in deferred.into_iter().zip(judged) {
        cells[cell].signs = judged.signs;
        let made = counted[cell].take().and_then(|(_, seconds)| seconds);
        counted[cell] = Some((judged.count, made.map(|made| made + judged.seconds)));
    }
    Ok(counted)
}

/// What attacks on the texts of a cell are built from.
fn context_of<'a>(contexts: &'a [Context], plan: &CellPlan) -> Result<&'a Context> {
    let context = plan.texts.and_then(|list| contexts.get(list as usize));
    context.ok_or_else(|| Error::failed("the manifest does not say which texts it is about"))
}

/// The cell that has the rows of a cell's series: the first whose attack guesses while trials are made, or the first
/// of all if there is none.
#[must_use]
pub fn rows_of(cells: &[CellPlan], cell: usize) -> usize {
    let series = cells[cell].series;
    let mut of_series = (0..cells.len()).filter(|other| cells[*other].series == series);
    let first = of_series.clone().next();
    let guesses = of_series.find(|other| !cells[*other].is_deferred());
    guesses.or(first).unwrap_or(cell)
}

/// Writes cells, and utilities if there are any, as JSON, CSV and pictures.
///
/// # Errors
/// Failed, if a file cannot be written.
pub fn write_results(
    directory: &Path,
    cells: &[Cell],
    utilities: &[UtilityCell],
    view: View,
) -> Result<()> {
    cells_csv::write(&directory.join(CELLS), cells)?;
    curves::write(directory, cells, view)?;
    write_document(directory, cells, utilities)?;
    match utilities {
        [] => Ok(()),
        utilities => write_utilities(directory, cells, utilities),
    }
}

/// Writes utilities beside cells whose other files are written.
///
/// # Errors
/// Failed, if a file cannot be written.
pub fn add_utilities(directory: &Path, cells: &[Cell], utilities: &[UtilityCell]) -> Result<()> {
    write_document(directory, cells, utilities)?;
    write_utilities(directory, cells, utilities)
}

fn write_document(directory: &Path, cells: &[Cell], utilities: &[UtilityCell]) -> Result<()> {
    let shown = Some(directory.display().to_string());
    let document = Document::new(shown, cells.to_vec()).with_utilities(utilities.to_vec());
    document.write(&directory.join(RESULT))
}

fn write_utilities(directory: &Path, cells: &[Cell], utilities: &[UtilityCell]) -> Result<()> {
    utility::write(&directory.join(UTILITIES), utilities)?;
    frontier::draw(directory, cells, utilities)
}
