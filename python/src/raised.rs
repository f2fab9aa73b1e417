//! From Rust's errors to Python's exceptions, and what a callable raised.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use teda::Error;

/// What a callable of this audit raised first, if one did.
#[derive(Clone, Default)]
pub struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// Keeps an exception and returns the error that ends the audit. Once one is kept, others are what follows from it.
    pub fn keep(&self, exception: PyErr) -> Error {
        let error = Error::failed(format!("a callable raised {exception}"));
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get_or_insert(exception);
        error
    }

    /// The exception, if there is one.
    pub fn take(&self) -> Option<PyErr> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.take()
    }

    /// The exception that says what went wrong: a callable's own, or one of `teda_audit`.
    pub fn or(&self, py: Python<'_>, error: Error) -> PyErr {
        self.take().unwrap_or_else(|| exception(py, &error))
    }
}

/// The exception of `teda_audit` for an error.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let name = match error {
        Error::Usage(_) => "UsageError",
        Error::Failed(_) => "FailedError",
    };
    let made = py
        .import("teda_audit._errors")
        .and_then(|errors| errors.getattr(name)?.call1((error.to_string(),)));
    made.map_or_else(|failed| failed, PyErr::from_value)
}
