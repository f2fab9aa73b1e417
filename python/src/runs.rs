//! Runs that are stored: opened, and joined of their parts.

use std::path::PathBuf;

use pyo3::prelude::*;
use teda::models::Access;
use teda::report::{complete, explanation, merge as joining};
use teda::{Report, Result};

use crate::raised::exception;

/// A report in words: the result document, the table, and what it means, with the verdict of each sentence.
pub type Told = (String, String, Vec<(String, String)>);

/// The complete run in `directory`, its cells counted again from its rows.
#[pyfunction]
pub fn load(py: Python<'_>, directory: PathBuf) -> PyResult<Told> {
    let opened = py.detach(|| Report::open(&directory).and_then(|report| told(&report)));
    opened.map_err(|error| exception(py, &error))
}

/// Joins all parts of a run into the run that one process would have made, in the new directory `out`.
#[pyfunction]
pub fn merge(py: Python<'_>, runs: Vec<PathBuf>, out: PathBuf) -> PyResult<()> {
    let joined = py.detach(|| {
        let access = Access::default();
        let (directory, cells) = joining::merge(&runs, Some(&out), &access)?;
        complete::of(directory, cells, &access).map(|_| ())
    });
    joined.map_err(|error| exception(py, &error))
}

/// What Python is told of a report.
pub fn told(report: &Report) -> Result<Told> {
    let telling = explanation::telling(report.cells());
    let sentences = telling
        .into_iter()
        .map(|cell| (cell.verdict.to_string(), cell.explanation));
    Ok((report.to_json()?, report.table(), sentences.collect()))
}
