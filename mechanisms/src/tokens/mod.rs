//! Mechanisms that put another token of the public vocabulary in the place of every token.

pub mod inversions;
pub mod nearest;
pub mod token_exponential;
pub mod token_wise;

crate::registry::mechanisms! {
    em,
    word_perturb,
}
