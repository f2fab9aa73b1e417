//! The engine: language models and encoders that run in this process. It reads files and no network.
//!
//! [`builtin`] holds the models whose weights ship in the binary; [`Checkpoint`] opens the files of any
//! other. [`SentenceEncoder`], [`LocalModel`] and [`MaskedLm`] run them. From files to numbers:
//! `checkpoint` (files and tensors) → `architecture` (one file each, built from a checkpoint) →
//! `transformer` (the parts, once for all) → `matrix` (operations on every device) → `kernel` (the
//! processor's own). Each uses what stands after it, and `checkpoint` none of them.

mod architecture;
pub mod builtin;
mod checkpoint;
pub mod generate;
mod kernel;
mod masked;
mod matrix;
mod sentence;
mod transformer;

pub use checkpoint::Checkpoint;
pub use generate::LocalModel;
pub use masked::{MaskedLm, Row};
pub use matrix::Backend;
pub use sentence::SentenceEncoder;
