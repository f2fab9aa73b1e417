//! Noise and coins, with protection against floating-point numbers that give inputs away.

pub mod additive;
pub mod analytic_gaussian;
pub mod coin;
pub mod lattice;
pub mod metric;
