//! One run as the page shows it.

use std::sync::Arc;

use teda_core::plain;
use teda_results::{Cell, UtilityCell};

use super::sample::Sample;
use crate::report::finished_run::FinishedRun;

/// Most characters of a text that is shown.
pub const TEXT: usize = 400;

/// One run on the page.
pub struct Run<'a> {
    /// What is stored of it.
    pub stored: &'a FinishedRun,
    /// Its cells, as they are shown.
    pub cells: &'a [Cell],
    /// Its utilities, if any were measured.
    pub utilities: &'a [UtilityCell],
    /// The command that makes it again.
    pub command: Option<String>,
    /// What was taken from its rows.
    pub sample: Sample,
    /// Its lists of texts; none if its rows were not read.
    pub texts: Vec<Arc<[String]>>,
    /// The cell whose pairs are looked at.
    pub looked_at: Option<usize>,
}

impl Run<'_> {
    /// A text of a series, by its number.
    pub fn text(&self, series: u32, number: u32) -> &str {
        let plan = self
            .stored
            .manifest
            .cells
            .iter()
            .find(|plan| plan.series == Some(series));
        let list = plan.and_then(|plan| plan.texts).unwrap_or_default();
        let texts = self.texts.get(list as usize);
        texts
            .and_then(|texts| texts.get(number as usize))
            .map_or("", String::as_str)
    }

    /// What the run is called.
    pub fn name(&self) -> String {
        plain(&self.stored.directory.display().to_string()).into_owned()
    }
}

/// A cell in words.
pub fn label(cell: &Cell) -> String {
    let epsilon = cell.epsilon.map_or(String::new(), |e| format!(", ε = {e}"));
    format!(
        "{}{epsilon}, {}, k = {}, λ = {}, {}",
        cell.mechanism, cell.attack, cell.k, cell.lambda, cell.dataset
    )
}

/// The beginning of a text.
pub fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
