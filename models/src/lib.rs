//! The engine: language models and encoders that run in this process. It reads files but does not use the network.
//!
//! [`builtin`] holds the models whose weights ship in the binary; [`Checkpoint`] opens the files of any other model.
//! [`SentenceEncoder`], [`LocalModel`], [`MaskedLm`],
//! [`FillMask`] and [`LstmAutoencoder`] run them. From files to numbers: `checkpoint` (files and
//! tensors) → `architecture` (one file each, built from a checkpoint) → `transformer` (the parts, shared by all) →
//! `matrix` (operations on every device) → `kernel` (those on the processor). Each uses those after it, except
//! `checkpoint`, which uses none of them. [`fine_tune`] trains encoders, which needs gradients: it has its own
//! architectures, built from candle's operations.

mod architecture;
mod autoencoder;
pub mod builtin;
mod checkpoint;
pub mod disk;
pub mod fill_mask;
pub mod fine_tune;
pub mod generate;
mod kernel;
mod masked;
mod matrix;
mod sentence;
mod transformer;

pub use autoencoder::LstmAutoencoder;
pub use checkpoint::Checkpoint;
pub use fill_mask::FillMask;
pub use generate::LocalModel;
pub use masked::{MaskedLm, Row};
pub use matrix::{Backend, Precision};
pub use sentence::SentenceEncoder;
