//! The page of a run, or of several: one HTML file that needs nothing else and fetches nothing.
//!
//! Texts come from data sets, mechanisms and servers, and are taken for hostile: a content security policy allows the page's own
//! style and script by their digests and nothing else, and texts stand in it as text alone, each with its own direction.

mod html;
mod pairs;
mod provenance;
mod repeat;
mod run;
mod sample;
mod sections;
mod trials;

use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use teda_core::{Result, Seed};
use teda_datasets::Limits;
use teda_results::{Cell, UtilityCell, atomic_write};

use self::run::{Run, TEXT};
use self::sample::{Sample, Trial};
use self::sections::Body;
use crate::audit::config::Keep;
use crate::report::finished_run::FinishedRun;
use crate::report::order::worst;
use crate::report::rejudge::lists;

/// The file of the page in a run directory.
pub const PAGE: &str = "report.html";

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The size that a page is kept to, in bytes, as far as the sample of trials allows.
const SIZE: usize = 1_000_000;

/// Writes the page of these runs, each with the cells and utilities that are shown of it, with the picture `curve` (SVG).
///
/// # Errors
/// Failed, if rows or texts cannot be read or the page cannot be written.
pub fn write(
    path: &Path,
    runs: &[(&FinishedRun, &[Cell], &[UtilityCell])],
    curve: &str,
    limits: Limits,
) -> Result<()> {
    let read: Vec<Run<'_>> = runs
        .iter()
        .map(|(stored, cells, utilities)| read(stored, cells, utilities, limits))
        .collect::<Result<_>>()?;
    atomic_write(path, page(&read, curve)?.as_bytes())
}

/// Everything on the page that comes from one run.
fn read<'a>(
    stored: &'a FinishedRun,
    cells: &'a [Cell],
    utilities: &'a [UtilityCell],
    limits: Limits,
) -> Result<Run<'a>> {
    let mut run = Run {
        stored,
        cells,
        utilities,
        command: repeat::command(&stored.config)?,
        sample: Sample::default(),
        texts: Vec::new(),
        looked_at: worst(cells),
    };
    if stored.config.keep == Keep::Rows
        && let Some(cell) = run.looked_at.and_then(|worst| place(stored, &cells[worst]))
    {
        // The sample is of the page alone: no result depends on it.
        let seed = Seed::root(stored.config.seed).named("page");
        run.sample = Sample::read(stored, cell, seed)?;
        run.texts = lists(stored, limits)?;
    }
    Ok(run)
}

/// The cell's place in the manifest; `None` for an attack that judged the rows later.
fn place(stored: &FinishedRun, cell: &Cell) -> Option<u32> {
    let same = |plan: &teda_results::CellPlan| {
        plan.attack == cell.attack
            && plan.mechanism == cell.mechanism
            && plan.dataset == cell.dataset
            && plan.epsilon == cell.epsilon
            && (plan.k, plan.lambda) == (cell.k, cell.lambda)
    };
    stored
        .manifest
        .cells
        .iter()
        .position(same)
        .map(|place| place as u32)
}

fn page(runs: &[Run<'_>], curve: &str) -> Result<String> {
    let body = Body::new(runs, curve)?;
    let digest = |text: &str| format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
    let policy = format!(
        "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
        digest(STYLE),
        digest(SCRIPT)
    );
    let title = html::text(&body.title);
    let head = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\"><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{title}</title><style>{STYLE}</style></head><body>\n"
    );
    let tail = format!("<script>{SCRIPT}</script></body></html>\n");
    let room = SIZE.saturating_sub(head.len() + body.html.len() + tail.len()) / runs.len().max(1);
    let of_run = |(number, run)| trials::trials(number, run, &fitting(run, room));
    let samples: Vec<String> = runs.iter().enumerate().map(of_run).collect::<Result<_>>()?;
    Ok(head + &body.html.replace(sections::TRIALS, &samples.concat()) + &tail)
}

/// The trials of the sample that the page has room for: as many of each series, the first that were drawn.
fn fitting<'a>(run: &'a Run<'_>, room: usize) -> Vec<&'a Trial> {
    let mut used = 0;
    let size = |trial: &Trial| {
        let texts = trial
            .k
            .iter()
            .map(|text| run.text(trial.series, *text).len().min(4 * TEXT) + 8);
        // Escapes make some characters longer.
        120 + 2 * (trial.r.len().min(4 * TEXT) + texts.sum::<usize>()) + 24 * trial.g.len()
    };
    let fits = |trial: &&Trial| {
        used += size(trial);
        used <= room
    };
    run.sample.trials.iter().take_while(fits).collect()
}
