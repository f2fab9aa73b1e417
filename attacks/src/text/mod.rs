//! What attacks see in texts without a model: words, their rarity, and runs of characters.

mod grams;
mod hash;
mod rarity;
mod words;

pub(crate) use grams::Grams;
pub use hash::{Same, Table, hash};
pub(crate) use rarity::Rarity;
pub use words::{bigrams, words};
pub(crate) use words::{distinct, shared};
