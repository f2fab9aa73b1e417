//! What the operating system says when it cannot write.

use std::io::{self, Write};
use std::sync::{Arc, OnceLock};

use crate::{Broken, Result};

/// Why writing failed first, if it did.
#[derive(Clone, Default)]
pub(crate) struct Told(Arc<OnceLock<String>>);

impl Told {
    /// The same result, with the operating system's own reason for a failure if it gave one: the library calls a full disk
    /// a file out of specification.
    pub(crate) fn instead<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|broken| self.0.get().map_or(broken, Broken::new))
    }
}

/// Where bytes go, and who hears of failures.
pub(crate) struct Telling<W> {
    pub(crate) to: W,
    pub(crate) told: Told,
}

impl<W: Write> Telling<W> {
    fn heard<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let Err(e) = &result
            && e.kind() != io::ErrorKind::Interrupted
        {
            self.told.0.get_or_init(|| e.to_string());
        }
        result
    }
}

impl<W: Write> Write for Telling<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes);
        self.heard(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.to.flush();
        self.heard(flushed)
    }
}
