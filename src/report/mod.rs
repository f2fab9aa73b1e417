//! From counted trials to verdicts, sentences, tables and curves, using only stored data.

pub mod agreement;
pub mod browse;
pub mod columns;
pub mod complete;
pub mod curves;
pub mod explanation;
pub mod extent;
pub mod finish;
pub mod finished_run;
mod frontier;
pub mod grid;
mod judge;
pub mod mechanism;
pub mod merge;
pub mod order;
pub mod page;
mod reading;
pub mod rejudge;
pub mod table;
pub mod told_apart;
pub mod utilities;
pub mod warnings;
pub mod witness;
