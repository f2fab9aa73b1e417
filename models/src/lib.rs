//! Language models and encoders.
//!
//! [`builtin`] holds the models whose weights ship in the binary, [`candle`] the architectures that
//! run in this process, [`store`] the weights of other models: where they come from and where they are
//! kept. Nothing else is downloaded at run time.

pub mod builtin;
pub mod candle;
mod kernel;
pub mod store;
mod weights;
