//! Runs that are stored: opened, and joined of their parts.

use std::path::PathBuf;

use pyo3::prelude::*;
use teda::models::Access;
use teda::report::{merge as joining, utilities};
use teda::{Report, Result};

use crate::raised::exception;

/// The result document of the complete run in `directory`, its cells counted again from its rows, and its table.
#[pyfunction]
pub fn load(py: Python<'_>, directory: PathBuf) -> PyResult<(String, String)> {
    let opened = py.detach(|| Report::open(&directory).and_then(|report| told(&report)));
    opened.map_err(|error| exception(py, &error))
}

/// Joins all parts of a run into the run that one process would have made, in the new directory `out`.
#[pyfunction]
pub fn merge(py: Python<'_>, runs: Vec<PathBuf>, out: PathBuf) -> PyResult<()> {
    let joined = py.detach(|| {
        let access = Access::default();
        let (directory, cells) = joining::merge(&runs, Some(&out), &access)?;
        utilities::complete(&directory, &cells, &access).map(|_| ())
    });
    joined.map_err(|error| exception(py, &error))
}

/// A report as its document and its table.
pub fn told(report: &Report) -> Result<(String, String)> {
    Ok((report.to_json()?, report.table()))
}
