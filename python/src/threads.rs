//! The threads of an audit.

use std::sync::Arc;
use std::thread;

use pyo3::Python;
use rayon::{ThreadPool, ThreadPoolBuilder};
use teda::{Error, Result};

/// Bytes of a thread's stack: as large as that of a process's first thread.
const STACK: usize = 8 << 20;

/// A pool of `threads`, all cores for 0. Its threads keep their state of the interpreter while they live: to make one
/// anew costs more than a short call.
///
/// # Errors
/// Failed, if they cannot be started.
pub fn pool(threads: usize) -> Result<Arc<ThreadPool>> {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .stack_size(STACK)
        .spawn_handler(|worker| {
            let named = thread::Builder::new().name(format!("teda {}", worker.index()));
            let run = || Python::attach(|py| py.detach(|| worker.run()));
            named.stack_size(STACK).spawn(run).map(|_| ())
        })
        .build()
        .map(Arc::new)
        .map_err(|e| Error::failed(format!("cannot start threads: {e}")))
}
