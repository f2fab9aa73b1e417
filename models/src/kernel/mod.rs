//! Small dense kernels on plain `f32` slices, for models whose products are too small for a
//! general library.
//!
//! # Determinism
//! Every number is defined by one sequence of operations that depends only on its own inputs: a product's element is a
//! chain of fused multiply-adds over the inner dimension, in order, and a sum over a row runs over [`LANES`] fixed
//! partial sums. Fused multiply-add, division and square root are correctly rounded by IEEE 754. A row's result
//! therefore has the same bits whatever other rows are in the batch, however many threads run, and for any vector
//! width of the processor.
//!
//! # Speed
//! The instruction set is chosen at run time by [`pulp`]; everything called inside its `dispatch`
//! is `inline(always)`, so that it is compiled for that instruction set.

pub(crate) mod activation;
pub(crate) mod attention;
pub(crate) mod keys_values;
pub(crate) mod linear;
pub(crate) mod math;
pub(crate) mod normalise;
pub(crate) mod rotary;
pub(crate) mod sparse;
pub(crate) mod tiles;

/// Partial sums of a reduction over a row: one vector of the widest instruction set.
pub(crate) const LANES: usize = 16;
