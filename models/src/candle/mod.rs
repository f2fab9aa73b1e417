//! Model architectures that run in this process, with weights read by candle.

mod batch;
mod config;
mod loader;
mod roberta;

pub use roberta::{Roberta, Row};
