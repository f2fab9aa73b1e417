//! The properties of one text, computed once.

use teda_core::TokenMap;

use super::style::Style;
use crate::text::{Grams, bigrams, distinct, words};

/// Most words, pieces and characters of a text that are compared by position.
pub(super) const PLACES: usize = 4_096;

/// A text, prepared for comparison with others.
pub(super) struct Profile {
    /// Words (runs without white space), pieces and characters.
    pub(super) lengths: [f64; 3],
    /// Its words in order, as hashes.
    pub(super) words: Vec<u64>,
    /// Its words, each once, sorted.
    pub(super) distinct: Vec<u64>,
    /// Its pairs of neighbouring words, each once, sorted.
    pub(super) bigrams: Vec<u64>,
    /// Its words with a digit in them, each once, sorted.
    pub(super) numbers: Vec<u64>,
    /// Its pieces in order.
    pub(super) pieces: Vec<u32>,
    pub(super) grams: Grams,
    pub(super) style: Style,
}

impl Profile {
    pub(super) fn of(text: &str, tokens: &dyn TokenMap) -> Self {
        let mut all = words(text);
        let mut pieces = tokens.tokenize(text);
        let lengths = [
            text.split_whitespace().count() as f64,
            pieces.len() as f64,
            text.chars().count() as f64,
        ];
        all.truncate(PLACES);
        pieces.truncate(PLACES);
        let numbers = text
            .split_whitespace()
            .filter(|word| word.bytes().any(|b| b.is_ascii_digit()))
            .flat_map(words);
        Self {
            lengths,
            distinct: distinct(all.clone()),
            bigrams: distinct(bigrams(&all)),
            numbers: distinct(numbers.collect()),
            words: all,
            pieces,
            grams: Grams::of(text),
            style: Style::of(text),
        }
    }
}
