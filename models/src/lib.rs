//! Language models and encoders.
//!
//! [`builtin`] holds the models whose weights ship in the binary, [`candle`] the architectures that
//! run in this process. Nothing here is downloaded at run time.

pub mod builtin;
pub mod candle;
mod kernel;
mod weights;
