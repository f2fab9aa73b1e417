//! How rare words are among the audit's texts.

use rayon::prelude::*;

use super::hash::Table;
use super::words::{distinct, words};

/// Inverse document frequencies: idf(w) = ln((N + 1) / (n + 1)) for a word of n among N texts.
pub(crate) struct Rarity {
    texts: usize,
    /// Number of texts that contain a word.
    counts: Table<u32>,
}

impl Rarity {
    /// The rarity of the words of `texts`.
    pub(crate) fn of(texts: &[String]) -> Self {
        let words: Vec<Vec<u64>> = texts.par_iter().map(|text| distinct(words(text))).collect();
        let mut counts = Table::default();
        for word in words.into_iter().flatten() {
            *counts.entry(word).or_insert(0) += 1;
        }
        let texts = texts.len();
        Self { texts, counts }
    }

    /// Number of texts with this word.
    pub(crate) fn texts_with(&self, word: u64) -> usize {
        self.counts.get(&word).map_or(0, |count| *count as usize)
    }

    /// idf(word).
    pub(crate) fn of_word(&self, word: u64) -> f64 {
        ((self.texts as f64 + 1.0) / (self.texts_with(word) as f64 + 1.0)).ln()
    }

    /// Whether a word is in at most one text of a thousand, or in no more than two.
    pub(crate) fn is_rare(&self, word: u64) -> bool {
        self.texts_with(word) <= (self.texts / 1_000).max(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_weigh_more() {
        let texts: Vec<String> = ["a b", "a a c", "A d", "a"].map(String::from).into();
        let rarity = Rarity::of(&texts);
        let of = |word| rarity.of_word(words(word)[0]);
        assert_eq!(of("a"), 0.0);
        assert!((of("b") - 2.5_f64.ln()).abs() < 1e-12);
        assert!((of("unseen") - 5.0_f64.ln()).abs() < 1e-12);
        assert!(rarity.is_rare(words("c")[0]) && !rarity.is_rare(words("a")[0]));
    }
}
