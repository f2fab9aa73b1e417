//! What tests of mechanisms share.

pub mod statistics;
pub mod toy;
