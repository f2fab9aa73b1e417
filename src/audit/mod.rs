//! From a configuration to counted trials: candidate set, secret → release → scores → guess → count.

pub mod attacks_on_rows;
pub mod choices;
pub mod config;
pub mod corpus;
pub mod counting;
pub mod driver;
mod enumerated;
pub mod epsilons;
pub mod keep;
pub mod own;
pub mod pairs;
pub mod plan;
pub mod program;
pub mod progress;
pub mod reading;
mod records;
mod replay;
pub mod resume;
pub mod run;
pub mod series;
pub mod simulation;
pub mod source;
pub mod stopping;
pub mod trial;
pub mod variety;
