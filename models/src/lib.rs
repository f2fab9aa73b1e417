//! Language models and encoders.
//!
//! [`builtin`] holds the models whose weights ship in the binary; [`store`] fetches all others by name;
//! [`http`] asks those that a server runs. [`Checkpoint`] opens a model's files; [`SentenceEncoder`],
//! [`LocalModel`] and [`MaskedLm`] run it in this process. From names to numbers: `store` →
//! `checkpoint` (files) → `architecture` (one file each) → `transformer` (the parts, once for all) →
//! `matrix` (operations on every device) → `kernel` (the processor's own).

mod architecture;
pub mod builtin;
mod checkpoint;
pub mod generate;
pub mod http;
mod kernel;
mod masked;
mod matrix;
mod sentence;
pub mod store;
mod transformer;

pub use checkpoint::Checkpoint;
pub use generate::LocalModel;
pub use masked::{MaskedLm, Row};
pub use matrix::Backend;
pub use sentence::SentenceEncoder;
