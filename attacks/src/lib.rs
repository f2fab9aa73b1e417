//! The adversaries that guess which candidate was rewritten, one file each, and their registry.

mod choice;
mod embedding;
mod likelihood_ratio;
mod llm;
mod random;
pub mod registry;

pub use choice::Choice;
pub use llm::Judge;
pub use registry::{Build, Context, Entry};
