//! Waits for an audit on the thread that asked for it: signals are seen there, and progress is told from there.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use teda::{Error, Result};

use crate::progress::Shared;

/// How often signals are looked for.
const LOOK: Duration = Duration::from_millis(20);
/// How often progress is told.
const TELL: Duration = Duration::from_millis(100);
/// How long work that no flag stops may go on once the user wants to stop. It is then left to itself: it changes
/// nothing but its own directory, and ends with the process at the latest.
const PATIENCE: Duration = Duration::from_millis(60);

/// Runs `work` on a thread of its own. A signal that Python turns into an exception (Ctrl-C) sets `stop`, and is raised
/// once the running batch is made; a second one is raised at once.
///
/// `tell` is called with trials made, trials to make, and what is being computed.
pub fn wait<T: Send + 'static>(
    py: Python<'_>,
    stop: &AtomicBool,
    shared: &Shared,
    tell: Option<&Py<PyAny>>,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<Result<T>> {
    let (done, mut ended) = sync_channel(1);
    thread::Builder::new().name("teda".into()).spawn(move || {
        // Whoever waited has left after a second Ctrl-C.
        let _ = done.send(work());
    })?;
    let mut told = Instant::now();
    let mut stopped: Option<(PyErr, Instant)> = None;
    loop {
        let ended = &mut ended;
        let answer = py.detach(move || ended.recv_timeout(LOOK));
        match answer {
            Ok(result) => {
                if let Some((exception, _)) = stopped {
                    return Err(exception);
                }
                say(py, shared, tell)?;
                return Ok(result);
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Ok(Err(Error::failed(
                    "teda failed at what it should not; its message stands on standard error",
                )));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        let mut seen = py.check_signals();
        if seen.is_ok() && stopped.is_none() && told.elapsed() >= TELL {
            told = Instant::now();
            seen = say(py, shared, tell);
        }
        match seen {
            Err(exception) if stopped.is_some() => return Err(exception),
            Err(exception) => {
                stop.store(true, Ordering::SeqCst);
                stopped = Some((exception, Instant::now()));
            }
            Ok(()) => {}
        }
        // Trials end in order, so that the run can be gone on with at once; what else runs is not waited for.
        let in_order = shared.at_work.load(Ordering::SeqCst);
        if let Some((exception, _)) =
            stopped.take_if(|(_, since)| !in_order && since.elapsed() >= PATIENCE)
        {
            return Err(exception);
        }
    }
}

fn say(py: Python<'_>, shared: &Shared, tell: Option<&Py<PyAny>>) -> PyResult<()> {
    let Some(tell) = tell else {
        return Ok(());
    };
    let total = shared.total.load(Ordering::SeqCst);
    if total == 0 {
        return Ok(());
    }
    let done = shared.done.load(Ordering::SeqCst).min(total);
    tell.call1(py, (done, total, shared.message())).map(|_| ())
}
