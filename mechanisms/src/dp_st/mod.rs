//! DP-ST: the triples of a text, replaced by public ones.

mod corpus;
mod near_duplicates;
mod triples;
mod writing;

pub use triples::{Triple, triples};

crate::registry::mechanisms! {
    dp_st,
}
