//! The adversaries that guess which candidate was rewritten, one file each, and their registry.

mod choice;
mod embedding;
mod entry;
mod internal_embedding;
mod learned;
mod length;
mod likelihood_ratio;
mod llm;
mod overlap;
mod random;
mod reconstruct;
pub mod registry;
pub mod text;
#[cfg(test)]
mod toy;

pub use choice::{Built, Choice, Make};
pub use entry::{Build, Context, Entry};
pub use llm::Judge;
