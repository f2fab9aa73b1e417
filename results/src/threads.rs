//! The threads of the Parquet library: it starts them when it first needs them, and panics where it cannot.

use std::sync::Mutex;
use std::thread::{Builder, available_parallelism, scope};

use teda_core::{Error, Result};

/// Refuses where as many threads as the library wants cannot be started.
///
/// # Errors
/// Failed, with the system's reason.
pub(crate) fn can_start() -> Result<()> {
    let said = std::env::var("POLARS_MAX_THREADS").ok();
    let wanted = said.and_then(|said| said.parse().ok());
    let wanted: usize = wanted.unwrap_or_else(|| available_parallelism().map_or(1, usize::from));
    // They wait for this lock, so that all of them are there at once, as the library has them.
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
