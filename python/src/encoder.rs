//! A sentence encoder that is a Python callable.

use ndarray::Array2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyList;
use teda::{Encoder, Error, Result};

use crate::mechanism::list_of;
use crate::raised::Raised;

/// Encodes texts by a callable of a list of texts.
pub struct Callable {
    encode: Py<PyAny>,
    dimension: usize,
    raised: Raised,
}

impl Callable {
    /// Asks `encode` for one text, to know how many numbers a vector has; exceptions go to `raised`.
    ///
    /// # Errors
    /// Failed, if the callable raises; usage, for vectors without numbers.
    pub fn new(py: Python<'_>, encode: Py<PyAny>, raised: Raised) -> Result<Self> {
        let first = vectors(py, &encode, &["a text"]).map_err(|e| raised.keep(e))?;
        let dimension = first[0].len();
        if dimension == 0 {
            return Err(Error::usage("encoder: its vectors have no numbers"));
        }
        Ok(Self {
            encode,
            dimension,
            raised,
        })
    }

    fn ask(&self, py: Python<'_>, texts: &[&str]) -> PyResult<Array2<f32>> {
        let mut all = Array2::zeros((texts.len(), self.dimension));
        for (mut row, vector) in all
            .rows_mut()
            .into_iter()
            .zip(vectors(py, &self.encode, texts)?)
        {
            if vector.len() != self.dimension || vector.iter().any(|number| !number.is_finite()) {
                return Err(PyValueError::new_err(format!(
                    "encoder: a vector of {} numbers, of which {} are not finite: each has {} finite ones",
                    vector.len(),
                    vector.iter().filter(|number| !number.is_finite()).count(),
                    self.dimension
                )));
            }
            // Of norm 1, or 0 for a text without a meaning.
            let norm = vector
                .iter()
                .map(|number| number * number)
                .sum::<f64>()
                .sqrt();
            let scale = if norm > 0.0 { 1.0 / norm } else { 0.0 };
            for (place, number) in row.iter_mut().zip(&vector) {
                *place = (number * scale) as f32;
            }
        }
        Ok(all)
    }
}

fn vectors(py: Python<'_>, encode: &Py<PyAny>, texts: &[&str]) -> PyResult<Vec<Vec<f64>>> {
    let mut answer = encode.bind(py).call1((PyList::new(py, texts)?,))?;
    // Arrays and tensors, in one step.
    if let Ok(to_list) = answer.getattr("tolist") {
        answer = to_list.call0()?;
    }
    let rows = list_of(&answer, "the encoder", texts.len())?;
    rows.iter().map(|row| row.extract()).collect()
}

impl Encoder for Callable {
    fn dimension(&self) -> usize {
        self.dimension
    }

    fn encode(&self, texts: &[&str]) -> Result<Array2<f32>> {
        Python::attach(|py| self.ask(py, texts)).map_err(|exception| self.raised.keep(exception))
    }
}
