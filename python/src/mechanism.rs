//! A mechanism that is a Python callable.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyList;
use teda::{Answer, Error, Guarantee, Mechanism, Neighbours, Query, Release, Result};
use teda_core::{Basis, Likelihood, Unit};
use teda_mechanisms::seed_number;

use crate::raised::Raised;

/// What the callable's answer of `None` is recorded as.
const NO_RELEASE: &str = "no release";

/// The parts of a mechanism, as the Python half hands them over.
#[derive(FromPyObject)]
pub struct Parts {
    rewrite: Py<PyAny>,
    log_likelihood: Option<Py<PyAny>>,
    units: Option<Py<PyAny>>,
    /// ε, δ, unit, neighbours.
    guarantee: Option<(f64, f64, String, String)>,
}

/// A mechanism that calls into Python. Its batches are made one after the other, by one thread: what a callable uses
/// (the generators of torch and numpy, a model) is shared.
pub struct Callable {
    rewrite: Py<PyAny>,
    likelihood: Option<Scores>,
    units: Option<Py<PyAny>>,
    guarantee: Option<Guarantee>,
    raised: Raised,
}

/// ln P(release | text) by a callable.
struct Scores {
    callable: Py<PyAny>,
    raised: Raised,
}

impl Callable {
    /// Of these parts; exceptions go to `raised`.
    ///
    /// # Errors
    /// Usage, for a claim that cannot be.
    pub fn new(parts: Parts, raised: Raised) -> Result<Self> {
        let guarantee = parts
            .guarantee
            .map(|(epsilon, delta, unit, neighbours)| {
                Ok(Guarantee {
                    epsilon: legal("epsilon", epsilon, |e| e >= 0.0 && e.is_finite())?,
                    delta: legal("delta", delta, |d| (0.0..1.0).contains(&d))?,
                    unit: named(
                        "unit",
                        &unit,
                        [Unit::Text, Unit::Token, Unit::Triple],
                        Unit::name,
                    )?,
                    neighbours: named(
                        "neighbours",
                        &neighbours,
                        [Neighbours::AnyTexts, Neighbours::OneToken],
                        Neighbours::name,
                    )?,
                    basis: Basis::Claimed,
                })
            })
            .transpose()?;
        Ok(Self {
            rewrite: parts.rewrite,
            likelihood: parts.log_likelihood.map(|callable| Scores {
                callable,
                raised: raised.clone(),
            }),
            units: parts.units,
            guarantee,
            raised,
        })
    }

    fn ask(&self, py: Python<'_>, batch: &[Query<'_>]) -> PyResult<Vec<Release>> {
        let texts = PyList::new(py, batch.iter().map(|query| query.text))?;
        let seeds = PyList::new(py, batch.iter().map(|query| seed_number(&query.seed)))?;
        let answer = self.rewrite.bind(py).call1((texts, seeds))?;
        let releases = list_of(&answer, "rewrite", batch.len())?;
        let release = |(place, release): (usize, Bound<'_, PyAny>)| {
            if release.is_none() {
                return Ok(Release::failed(NO_RELEASE));
            }
            match release.extract::<&str>() {
                Ok(text) => Ok(Release::of(text)),
                Err(error) if error.is_instance_of::<PyTypeError>(py) => {
                    Err(PyTypeError::new_err(format!(
                        "rewrite: release {place} is of type {}: a release is a str, or None where there is none",
                        release.get_type().name()?
                    )))
                }
                Err(error) => Err(error),
            }
        };
        releases.into_iter().enumerate().map(release).collect()
    }
}

impl Mechanism for Callable {
    fn guarantee(&self) -> Option<Guarantee> {
        self.guarantee
    }

    fn units(&self, text: &str) -> Option<u64> {
        let units = self.units.as_ref()?;
        let counted = Python::attach(|py| units.call1(py, (text,))?.extract(py));
        counted
            .map_err(|exception| self.raised.keep(exception))
            .ok()
            .flatten()
    }

    fn is_sequential(&self) -> bool {
        true
    }

    fn likelihood(&self) -> Option<&dyn Likelihood> {
        self.likelihood
            .as_ref()
            .map(|scores| scores as &dyn Likelihood)
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        Python::attach(|py| self.ask(py, batch)).map_err(|exception| self.raised.keep(exception))
    }
}

impl Likelihood for Scores {
    fn log_likelihood(&self, pairs: &[(&str, &str)]) -> Result<Vec<Answer<f64>>> {
        let ask = |py: Python<'_>| -> PyResult<Vec<Answer<f64>>> {
            let releases = PyList::new(py, pairs.iter().map(|(release, _)| *release))?;
            let texts = PyList::new(py, pairs.iter().map(|(_, text)| *text))?;
            let answer = self.callable.bind(py).call1((releases, texts))?;
            let values = list_of(&answer, "log_likelihood", pairs.len())?;
            let value = |(place, value): (usize, Bound<'_, PyAny>)| {
                if value.is_none() {
                    return Ok(Err(
                        "the callable does not know how likely this release is".into()
                    ));
                }
                let value: f64 = value.extract()?;
                if value.is_nan() || value == f64::INFINITY {
                    return Err(PyValueError::new_err(format!(
                        "log_likelihood: value {place} is {value}: it must be a number, or -inf for a release that cannot be"
                    )));
                }
                Ok(Ok(value))
            };
            values.into_iter().enumerate().map(value).collect()
        };
        Python::attach(ask).map_err(|exception| self.raised.keep(exception))
    }
}

/// The members of what `callable` answered, of which there must be `amount`.
pub fn list_of<'py>(
    answer: &Bound<'py, PyAny>,
    callable: &str,
    amount: usize,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let given = match answer.extract::<Vec<Bound<'py, PyAny>>>() {
        Ok(given) => given,
        Err(_) => {
            return Err(PyTypeError::new_err(format!(
                "{callable} answered with an object of type {}: it must be a list with one answer for each of the {amount} it was asked",
                answer.get_type().name()?
            )));
        }
    };
    if given.len() != amount {
        return Err(PyValueError::new_err(format!(
            "{callable} gave {} answers and was asked {amount}: there must be one for each, in order",
            given.len()
        )));
    }
    Ok(given)
}

fn legal(what: &str, value: f64, is_legal: impl Fn(f64) -> bool) -> Result<f64> {
    match is_legal(value) {
        true => Ok(value),
        false => Err(Error::usage(format!(
            "claim: {what} = {value}: epsilon is a number of 0 or more, delta one from 0 to below 1"
        ))),
    }
}

fn named<T: Copy, const N: usize>(
    what: &str,
    name: &str,
    known: [T; N],
    name_of: fn(T) -> &'static str,
) -> Result<T> {
    let found = known.into_iter().find(|one| name_of(*one) == name);
    found.ok_or_else(|| Error::unknown(&format!("{what} of a claim"), name, &known.map(name_of)))
}
