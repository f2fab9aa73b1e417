//! What a run leaves behind.
//!
//! A run directory holds `manifest.json` ([`Manifest`]), `trials.jsonl` while the run goes on
//! ([`Journal`]) and `trials.parquet` once it is done ([`trials`]) with `texts.parquet` ([`texts`]),
//! `guesses.parquet` where attacks learned ([`guesses`]), `cells.csv`
//! ([`cells_csv`]), `utilities.csv` where utilities were asked for ([`utility`]) and `result.json` ([`Document`]). [`RunDir`] names the directory and keeps a second process out.

mod atomic;
mod cell;
pub mod cells_csv;
mod chain;
mod checksum;
mod columns;
mod document;
pub mod frame;
pub mod guesses;
mod journal;
mod manifest;
pub mod number;
mod parquet;
mod row;
mod rundir;
pub mod texts;
mod timestamp;
pub mod trials;
pub mod utility;

pub use atomic::write as atomic_write;
pub use cell::{Candidates, Cell, Metric, Recall};
pub use document::Document;
pub use journal::Journal;
pub use manifest::{CellPlan, DatasetRecord, Machine, Manifest, ModelRecord, Status};
pub use parquet::Writer;
pub use row::Row;
pub use rundir::{RunDir, run_name, unused};
pub use timestamp::rfc3339_utc;
pub use utility::UtilityCell;
