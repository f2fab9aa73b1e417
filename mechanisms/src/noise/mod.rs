//! Noise and coins, with what keeps floating-point numbers from giving inputs away.

pub mod analytic_gaussian;
pub mod coin;
pub mod lattice;
pub mod metric;
