//! The transformer, shared by all architectures: the differences between them (norms before or after, gates, rotary or
//! relative positions, grouped heads, windows, cross-attention) are fields of the parts here, set by the files in
//! [`crate::architecture`].
//!
//! # How it runs
//! A pass is ragged: the tokens of all its rows form one `[tokens × hidden]` matrix without padding,
//! and attention runs row by row over stored keys and values. A row's result does not depend on the
//! other rows, on how its tokens are divided over passes, or on whether its prefix is shared.

pub(crate) mod attention;
pub(crate) mod block;
pub(crate) mod decoder;
pub(crate) mod embeddings;
pub(crate) mod encoder;
pub(crate) mod masked;
pub(crate) mod memory;
pub(crate) mod pass;
pub(crate) mod relative;

pub(crate) use block::{Block, Feed, Stack, Sublayer};
pub(crate) use decoder::{Decoder, SourceSide};
pub(crate) use embeddings::{Embeddings, Words};
pub(crate) use encoder::Encoder;
pub(crate) use masked::{Head, Masked};
pub(crate) use memory::{Memory, Prefix};
pub(crate) use pass::{Pass, Segment};
