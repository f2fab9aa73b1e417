//! The native half of the Python package `teda_audit`: what its typed, documented half in `python/teda_audit` calls.
//!
//! An audit runs on threads of its own, which know the interpreter ([`threads`]), while the thread that asked for it
//! watches for signals and tells of the progress ([`waiting`]). What a callable raises ends the audit and is raised
//! again, as it is ([`raised`]).

mod attack;
mod audit;
#[path = "../../src/cli/mod.rs"]
mod cli;
mod encoder;
mod frame;
mod mechanism;
mod names;
mod progress;
mod raised;
mod runs;
mod threads;
mod waiting;

use pyo3::pymodule;

/// What the Python half of `teda_audit` is built on; not for programs.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::audit::audit;
    #[pymodule_export]
    use crate::frame::Frame;
    #[pymodule_export]
    use crate::names::{attacks, datasets, estimators, mechanisms, texts, utilities};
    #[pymodule_export]
    use crate::runs::{load, merge};

    use std::ffi::OsString;

    use pyo3::prelude::*;

    /// Runs the command line `teda`; the first of `arguments` is the program's name. Returns the exit status.
    #[pyfunction]
    fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
        py.detach(|| crate::cli::run(arguments))
    }
}
