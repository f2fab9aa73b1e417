//! An attack that is a Python callable.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;
use teda::{Answer, Attack, Observation, Result};

use crate::mechanism::list_of;
use crate::raised::Raised;

/// Scores candidates by a callable of lists of candidates and of releases.
pub struct Callable {
    score: Arc<Py<PyAny>>,
    texts: Arc<[String]>,
    raised: Raised,
}

impl Callable {
    /// On these texts, which candidates are indices of; exceptions go to `raised`.
    pub fn new(score: Arc<Py<PyAny>>, texts: Arc<[String]>, raised: Raised) -> Self {
        Self {
            score,
            texts,
            raised,
        }
    }

    fn ask(&self, py: Python<'_>, batch: &[Observation<'_>]) -> PyResult<Vec<Answer<Vec<f64>>>> {
        let candidates = batch.iter().map(|seen| {
            let texts = seen.candidates.iter().map(|text| &self.texts[*text][..]);
            texts.collect::<Vec<&str>>()
        });
        let candidates = PyList::new(py, candidates.collect::<Vec<_>>())?;
        let releases = PyList::new(py, batch.iter().map(|seen| seen.release))?;
        let answer = self.score.bind(py).call1((candidates, releases))?;
        let scores = list_of(&answer, "the attack", batch.len())?.into_iter();
        let of_trial = |(scores, seen): (Bound<'_, PyAny>, &Observation<'_>)| {
            if scores.is_none() {
                return Ok(Err("the attack has no scores".into()));
            }
            let scores = list_of(&scores, "the attack", seen.candidates.len())?;
            let scores = scores.iter().map(|score| score.extract::<f64>());
            Ok(Ok(scores.collect::<PyResult<Vec<f64>>>()?))
        };
        scores.zip(batch).map(of_trial).collect()
    }
}

impl Attack for Callable {
    fn score(&self, batch: &[Observation<'_>]) -> Result<Vec<Answer<Vec<f64>>>> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        Python::attach(|py| self.ask(py, batch)).map_err(|exception| self.raised.keep(exception))
    }
}
