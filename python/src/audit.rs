//! Runs an audit of what Python hands over.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use pyo3::prelude::*;
use serde_json::Value;
use teda::audit::config::Config;
use teda::audit::source::Source;
use teda::models::{Access, Programs};
use teda::{Audit, Error, Limits, Mechanism, Result};
use teda_server::Budget;

use crate::progress::{Shared, Teller};
use crate::raised::Raised;
use crate::runs::{Told, told};
use crate::{attack, encoder, mechanism, threads, waiting};

/// What the audit is of, and how it is run; the fields are those of `teda_audit._audit._Request`.
#[derive(FromPyObject)]
pub struct Request {
    /// Fields of the configuration that differ from the defaults, as JSON; `None` to go on with the run in `out`.
    config: Option<String>,
    texts: Option<Vec<String>>,
    /// The name of a mechanism of this program.
    name: Option<String>,
    /// Makes its parts at a nominal ε, or at `None`.
    make: Option<Py<PyAny>>,
    /// Whether it is made anew at each of the configuration's ε.
    grid: bool,
    attacks: Vec<(String, Py<PyAny>)>,
    encoder: Option<Py<PyAny>>,
    out: PathBuf,
    go_on: bool,
    batch: u64,
    twice: u64,
    threads: usize,
    offline: bool,
    memory: usize,
    max_requests: Option<u64>,
    max_tokens: Option<u64>,
    processes: Option<usize>,
    timeout: u64,
    max_text_bytes: Option<u64>,
    max_input_bytes: Option<u64>,
    /// Called with trials made, trials to make, and what is being computed.
    progress: Option<Py<PyAny>>,
}

/// Runs it. Returns the report and the notes.
///
/// Raises what a callable raised, `KeyboardInterrupt`, or an error of `teda_audit`.
#[pyfunction]
pub fn audit(py: Python<'_>, request: Request) -> PyResult<(Told, Vec<String>)> {
    let raised = Raised::default();
    let stop = Arc::new(AtomicBool::new(false));
    let shared = Shared::new(request.progress.is_some());
    let tell = request.progress.as_ref().map(|tell| tell.clone_ref(py));
    let audit = made(py, request, &raised)
        .map_err(|error| raised.or(py, error))?
        .stop_flag(stop.clone())
        .progress(Teller(shared.clone()));
    let work = move || {
        let report = audit.run()?;
        Ok((told(&report)?, report.notes().to_vec()))
    };
    let ended = waiting::wait(py, &stop, &shared, tell.as_ref(), work)?;
    ended.map_err(|error| raised.or(py, error))
}

/// The audit that a request asks for.
fn made(py: Python<'_>, request: Request, raised: &Raised) -> Result<Audit> {
    let own = request
        .make
        .as_ref()
        .map(|make| source(py, &request, make, raised))
        .transpose()?;
    let mut audit = match &request.config {
        None => Audit::resume(&request.out),
        Some(overrides) => {
            let mut audit = Audit::configured(configured(overrides, own.as_ref())?);
            if request.go_on {
                audit = audit.go_on();
            }
            audit
        }
    };
    if let Some(own) = own {
        audit = audit.source(own);
    }
    if let Some(texts) = request.texts {
        audit = audit.texts(texts);
    }
    for (name, score) in request.attacks {
        let (score, raised) = (Arc::new(score), raised.clone());
        audit = audit.attack_made_by(&name, move |context| {
            let (score, texts) = (score.clone(), context.texts.clone());
            Ok(Box::new(attack::Callable::new(
                score,
                texts,
                raised.clone(),
            )))
        });
    }
    if let Some(encode) = request.encoder {
        audit = audit.encoder(encoder::Callable::new(py, encode, raised.clone())?);
    }
    let access = Access {
        offline: request.offline,
        memory: request.memory << 20,
        budget: Budget {
            max_requests: request.max_requests,
            max_tokens: request.max_tokens,
        },
        programs: Programs {
            processes: request.processes,
            timeout: Duration::from_secs(request.timeout),
            ..Programs::default()
        },
        limits: Limits {
            text: request.max_text_bytes.unwrap_or(Limits::default().text),
            input: request.max_input_bytes.unwrap_or(Limits::default().input),
        },
        ..Access::default()
    };
    Ok(audit
        .access(access)
        .pool(threads::pool(request.threads)?)
        .batch(request.batch)
        .make_twice(request.twice)
        .out(request.out))
}

/// A mechanism of this program.
fn source(py: Python<'_>, request: &Request, make: &Py<PyAny>, raised: &Raised) -> Result<Source> {
    let name = request.name.as_deref().unwrap_or("own");
    let (make, raised) = (make.clone_ref(py), raised.clone());
    let at = move |epsilon: Option<f64>| -> Result<Arc<dyn Mechanism>> {
        let parts = |py: Python<'_>| -> PyResult<mechanism::Parts> {
            make.call1(py, (epsilon,))?.extract(py)
        };
        let parts = Python::attach(parts).map_err(|exception| raised.keep(exception))?;
        Ok(Arc::new(mechanism::Callable::new(parts, raised.clone())?))
    };
    Ok(match request.grid {
        true => Source::grid_of(name, Arc::new(move |epsilon| at(Some(epsilon)))),
        false => Source::own(name, at(None)?),
    })
}

/// The default configuration with these fields of it changed. Names are resolved while it is read.
fn configured(overrides: &str, own: Option<&Source>) -> Result<Config> {
    let unreadable = |e: serde_json::Error| Error::usage(e.to_string());
    let defaults = Config::new(own.into_iter().cloned().collect()).to_json()?;
    let changes: Value = serde_json::from_str(overrides).map_err(unreadable)?;
    let (Value::Object(mut fields), Value::Object(changes)) = (defaults, changes) else {
        return Err(Error::usage("a configuration is an object"));
    };
    fields.extend(changes);
    serde_json::from_value(Value::Object(fields)).map_err(unreadable)
}
