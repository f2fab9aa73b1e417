//! What can be named, and the texts of data sets.

use pyo3::prelude::*;
use teda_core::estimator;
use teda_datasets::{Limits, Request};

use crate::raised::exception;

/// The names of the mechanisms.
#[pyfunction]
pub fn mechanisms() -> Vec<&'static str> {
    let all = teda_mechanisms::registry::ALL.iter();
    all.map(|entry| entry.name).collect()
}

/// The names of the attacks.
#[pyfunction]
pub fn attacks() -> Vec<&'static str> {
    let all = teda_attacks::registry::ALL.iter();
    all.map(|entry| entry.name).collect()
}

/// The names of the estimators.
#[pyfunction]
pub fn estimators() -> Vec<&'static str> {
    estimator::ALL.iter().map(|entry| entry.name).collect()
}

/// The names of the utilities.
#[pyfunction]
pub fn utilities() -> Vec<&'static str> {
    let all = teda_utilities::registry::ALL.iter();
    all.map(|entry| entry.name).collect()
}

/// The names of the data sets that ship with teda.
#[pyfunction]
pub fn datasets() -> Vec<String> {
    let all = teda_datasets::cards().iter();
    all.map(|card| card.name.to_string()).collect()
}

/// The distinct texts of a data set or a file.
#[pyfunction]
#[pyo3(signature = (source, split=None, limit=None, min_words=None, max_words=None))]
pub fn texts(
    py: Python<'_>,
    source: String,
    split: Option<String>,
    limit: Option<usize>,
    min_words: Option<usize>,
    max_words: Option<usize>,
) -> PyResult<Vec<String>> {
    let request = Request {
        source,
        split,
        limit,
        min_words,
        max_words,
    };
    let load = || teda_datasets::load(&request, Limits::default(), &mut std::io::stdin());
    match py.detach(load) {
        Ok(dataset) => Ok(dataset.texts),
        Err(error) => Err(exception(py, &error)),
    }
}
