//! Word tokens as in the Penn Treebank: a text is split into them, and joined from them again.

mod join;
mod sentences;
mod split;

pub use join::{Writer, join};
pub use split::split;
