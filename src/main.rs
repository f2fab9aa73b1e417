//! `teda`: the audit of differentially private text rewriting.
//!
//! config → data set → (candidate set, secret) → mechanism → attack → tally → bound → table, curve.

mod check;
mod cli;
mod config;
mod count;
mod curves;
mod driver;
mod explanation;
mod finish;
mod hunt;
mod lineup;
mod merge;
mod model_spec;
mod models;
mod neighbours;
mod outcome;
mod outside;
mod plan;
mod plot;
mod progress;
mod put;
mod recorded;
mod rejudge;
mod run;
mod selftest;
mod stored;
mod table;
mod tabulated;
mod trial;
mod until;
mod variety;
mod warnings;
mod witness;

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(cli::run())
}
