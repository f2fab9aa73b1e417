//! What is tried: where its sound inputs come from, and what is done with one.

mod commands;
mod data;
mod models;
mod programs;
mod runs;
mod servers;

use std::path::PathBuf;
use std::sync::OnceLock;

/// A kind of input.
pub struct Kind {
    pub name: &'static str,
    /// Words that mean something to its reader.
    pub dictionary: &'static [&'static str],
    /// Sound inputs.
    pub corpus: fn() -> Vec<Vec<u8>>,
    /// Whether an input is taken; one that is refused with an error is not.
    pub run: fn(&[u8]) -> bool,
}

pub const KINDS: &[Kind] = &[
    data::TXT,
    data::CSV,
    data::JSON_LINES,
    data::PARQUET,
    data::GZIP,
    data::RELEASES,
    runs::COMPLETE,
    runs::INTERRUPTED,
    models::SAFETENSORS,
    models::QUANTISED,
    models::CONFIGURATION,
    models::TOKENS,
    models::CHAT_TEMPLATE,
    programs::ANSWERS,
    servers::ANSWERS,
    commands::CHECK,
    commands::COMMAND,
];

/// A folder of this process, gone with the machine's other temporary files.
fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| tempfile::tempdir().expect("a folder").keep())
}
