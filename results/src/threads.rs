//! The threads of the Parquet library: it starts them when it first needs them, and panics if it cannot.

use std::sync::Mutex;
use std::thread::{Builder, available_parallelism, scope};

use teda_core::{Error, Result};

/// Checks that as many threads as the library wants can be started.
///
/// # Errors
/// Failed, with the system's reason.
pub(crate) fn can_start() -> Result<()> {
    let said = std::env::var("POLARS_MAX_THREADS").ok();
    let wanted = said.and_then(|said| said.parse().ok());
    let wanted: usize = wanted.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
    // They wait for this lock, so that all of them exist at once, as they do in the library.
    let gate = Mutex::new(());
    scope(|threads| {
        let closed = gate.lock();
        let wait = || drop(gate.lock());
        let started = (0..wanted).try_for_each(|_| {
            let thread = Builder::new().spawn_scoped(threads, wait);
            thread.map(|_| ())
        });
        drop(closed);
        started.map_err(|e| {
            Error::failed(format!(
                "cannot start the {wanted} threads that Parquet files are written with: {e}"
            ))
        })
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn threads_can_be_started_here() {
        super::can_start().unwrap();
    }
}
