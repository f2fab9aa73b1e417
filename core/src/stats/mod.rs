//! The statistics behind estimators, noise and comparisons of runs.

pub(crate) mod angle;
pub mod betting;
pub mod binomial;
pub mod normal;
pub(crate) mod posterior;
pub(crate) mod quadrature;
pub mod two_sample;
