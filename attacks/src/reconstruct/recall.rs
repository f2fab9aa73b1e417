//! How much of a source comes back.
//!
//! # Definition
//! W(x) are the different words of x: its longest runs of letters, digits and combining marks, in lower case. Of a text y
//! beside its source x, the token recall is |W(x) ∩ W(y)| / |W(x)|, and the rare-word recall the same over R(x), those
//! words of W(x) that at most one text of a thousand of the run has, or no more than two.
//!
//! # Source
//! Set recall of words per text, as in the inversion of embeddings (Song & Raghunathan 2020; Morris et al. 2023, vec2text).
//!
//! # Deviations
//! There words have a case and punctuation is a word; here neither counts.

use std::sync::Arc;

use teda_core::{Reading, Recalled};

use crate::text::{Rarity, distinct, shared, words};

/// Counts what comes back of the run's texts.
pub(super) struct Recall {
    texts: Arc<[String]>,
    rarity: Rarity,
}

impl Recall {
    pub(super) fn new(texts: Arc<[String]>) -> Self {
        let rarity = Rarity::of(&texts);
        Self { texts, rarity }
    }

    pub(super) fn read(&self, source: usize, release: &str, text: String) -> Reading {
        let all = distinct(words(&self.texts[source]));
        let is_rare = |word: &u64| self.rarity.is_rare(*word);
        let rare: Vec<u64> = all.iter().copied().filter(is_rare).collect();
        let [released, written] = [release, &text].map(|text| distinct(words(text)));
        let found = |words: &[u64]| Recalled {
            source: words.len() as u32,
            release: shared(words, &released).count() as u32,
            text: shared(words, &written).count() as u32,
        };
        Reading {
            words: found(&all),
            rare: found(&rare),
            text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recall(texts: &[&str]) -> Recall {
        Recall::new(texts.iter().map(|text| (*text).to_owned()).collect())
    }

    fn recalled(source: u32, release: u32, text: u32) -> Recalled {
        Recalled {
            source,
            release,
            text,
        }
    }

    /// "play", "in" and "the" are in three texts, all other words in at most two.
    #[test]
    fn words_and_rare_words_are_counted_once_each() {
        let recall = recall(&[
            "play Play jazz in the kitchen",
            "play rock in the kitchen",
            "play in the band",
        ]);
        let read = |release: &str, text: &str| recall.read(0, release, text.to_owned());
        let reading = read("PLAY! some jazz jazz", "play in the zoo");
        assert_eq!(reading.words, recalled(5, 2, 3));
        assert_eq!(reading.rare, recalled(2, 1, 0));
        assert_eq!(reading.text, "play in the zoo");
        let itself = "play Play jazz in the kitchen";
        assert_eq!(read(itself, itself).words, recalled(5, 5, 5));
        assert_eq!(read("", "").words, recalled(5, 0, 0));
        // What the source does not have does not count.
        let more = format!("{itself} and everything else");
        assert_eq!(read(&more, "").words, recalled(5, 5, 0));
    }

    #[test]
    fn of_many_texts_one_in_a_thousand_is_rare() {
        let text = |i: usize| {
            let often = if i < 5 { "sometimes" } else { "" };
            let seldom = if i < 4 { "seldom" } else { "" };
            format!("always {often} {seldom}")
        };
        let texts: Vec<String> = (0..4_000).map(text).collect();
        let recall = Recall::new(texts.into());
        let reading = recall.read(0, "seldom", "sometimes".to_owned());
        assert_eq!(reading.words, recalled(3, 1, 1));
        assert_eq!(reading.rare, recalled(1, 1, 0));
    }
}
