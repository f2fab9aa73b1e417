//! Language models and encoders.
//!
//! [`builtin`] holds the models whose weights ship in the binary, [`candle`] the architectures that
//! run in this process, [`http`] the models that a server runs. Nothing here downloads weights.

pub mod builtin;
pub mod candle;
pub mod http;
mod kernel;
mod weights;
