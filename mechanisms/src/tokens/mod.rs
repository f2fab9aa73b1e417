//! Mechanisms that replace every token by a token of the public vocabulary.

pub mod inversions;
pub mod missing;
pub mod near;
pub mod nearest;
pub mod sanitiser;
pub mod token_exponential;
pub mod token_wise;

crate::registry::mechanisms! {
    em,
    word_perturb,
}
