//! What attacks see in texts without a model: words, their rarity, and runs of characters.

mod grams;
mod hash;
mod rarity;
mod words;

pub(crate) use grams::Grams;
pub(crate) use hash::{Table, hash};
pub(crate) use rarity::Rarity;
pub(crate) use words::{bigrams, distinct, shared, words};
