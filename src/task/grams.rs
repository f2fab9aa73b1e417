//! Weighted counts of the words and of the runs of characters in a text.
//!
//! # Definition
//! Words are what [`teda_attacks::text::words`] finds, in lower case, alone and in neighbouring pairs. Runs are of 3 to
//! 5 characters, with case and punctuation, of the text with one space for every stretch of white space and one at both
//! ends. An empty text has one word of its own, so that a release that failed can be told from others.
//!
//! A gram that occurs t times in a text has the weight (1 + ln t) · (1 + ln((1 + n) / (1 + d))), where d of the n
//! training texts have it (the logarithmic tf and smooth idf of scikit-learn). The weights of a text are divided by
//! their Euclidean norm. Grams that only one training text has are left out, as are all but the [`MOST`] most frequent.
//! A gram is known by a hash of 64 bits.

use rayon::prelude::*;
use teda_attacks::text::{Table, bigrams, hash, words};

/// Most grams of a kind.
const MOST: usize = 1 << 18;
/// Texts that a gram is in at least.
const LEAST: u32 = 2;
/// Characters of a text that are looked at: this bounds the work on long texts.
const CHARACTERS: usize = 20_000;
/// Texts per task.
const TASK: usize = 256;

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Words and pairs of words.
    Words,
    /// Runs of 3 to 5 characters.
    Runs,
}

impl Kind {
    /// The grams of a text, sorted, each with how often it occurs.
    fn counts(self, text: &str) -> Vec<(u64, u32)> {
        let mut grams = match self {
            Self::Words => word_grams(text),
            Self::Runs => runs(text),
        };
        grams.sort_unstable();
        let same = grams.chunk_by(|a, b| a == b);
        same.map(|same| (same[0], same.len() as u32)).collect()
    }
}

fn word_grams(text: &str) -> Vec<u64> {
    if text.trim().is_empty() {
        return vec![hash([])];
    }
    let mut grams = words(text);
    grams.extend(bigrams(&grams));
    grams
}

fn runs(text: &str) -> Vec<u64> {
    let mut spaced = String::from(" ");
    for word in text.split_whitespace() {
        spaced.push_str(word);
        spaced.push(' ');
    }
    if spaced.len() == 1 {
        return Vec::new();
    }
    if let Some((end, _)) = spaced.char_indices().nth(CHARACTERS) {
        spaced.truncate(end);
    }
    let mut ends: Vec<usize> = spaced.char_indices().map(|(place, _)| place).collect();
    ends.push(spaced.len());
    let mut grams = Vec::with_capacity(3 * ends.len());
    for length in 3..=5 {
        let of = |window: &[usize]| hash(spaced[window[0]..window[length]].bytes());
        grams.extend(ends.windows(length + 1).map(of));
    }
    grams
}

/// The grams of the training texts that are used.
pub(super) struct Grams {
    kind: Kind,
    /// The place and the inverse document frequency of each.
    places: Table<(u32, f64)>,
}

impl Grams {
    /// Those of `texts`.
    pub(super) fn of(kind: Kind, texts: &[&str]) -> Self {
        let some = |texts: &[&str]| {
            let mut counts = Table::<u32>::default();
            for text in texts {
                for (gram, _) in kind.counts(text) {
                    *counts.entry(gram).or_insert(0) += 1;
                }
            }
            counts
        };
        let together = |mut all: Table<u32>, some: Table<u32>| {
            for (gram, count) in some {
                *all.entry(gram).or_insert(0) += count;
            }
            all
        };
        let counts = texts
            .par_chunks(TASK)
            .map(some)
            .reduce(Table::default, together);
        let often = counts.into_iter().filter(|(_, count)| *count >= LEAST);
        let mut kept: Vec<(u64, u32)> = often.collect();
        // The order of a table is nobody's; this one is the texts'.
        kept.sort_unstable_by_key(|(gram, count)| (std::cmp::Reverse(*count), *gram));
        kept.truncate(MOST);
        let n = texts.len() as f64;
        let rarity = |count: u32| 1.0 + ((1.0 + n) / (1.0 + f64::from(count))).ln();
        let places = (0..).zip(kept);
        Self {
            kind,
            places: places
                .map(|(place, (gram, count))| (gram, (place, rarity(count))))
                .collect(),
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// The weights of a text's grams, by ascending place.
    pub(super) fn weights(&self, text: &str) -> Vec<(u32, f32)> {
        let known = |(gram, times): (u64, u32)| {
            let (place, rarity) = self.places.get(&gram)?;
            Some((*place, (1.0 + f64::from(times).ln()) * rarity))
        };
        let counts = self.kind.counts(text).into_iter();
        let mut weights: Vec<(u32, f64)> = counts.filter_map(known).collect();
        weights.sort_unstable_by_key(|(place, _)| *place);
        let squares: f64 = weights.iter().map(|(_, weight)| weight * weight).sum();
        let norm = squares.sqrt();
        let of = |(place, weight): (u32, f64)| (place, (weight / norm) as f32);
        weights.into_iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_formula() {
        let texts = ["a a b", "a b", "a c"];
        let grams = Grams::of(Kind::Words, &texts);
        // "a" is in three texts, "b" and "a b" in two.
        assert_eq!(grams.len(), 3);
        let a = (1.0 + 2.0_f64.ln()) * 1.0;
        let b = 1.0 + (4.0_f64 / 3.0).ln();
        let norm = (a * a + 2.0 * b * b).sqrt();
        let found: Vec<f32> = grams.weights("A a, b").iter().map(|w| w.1).collect();
        assert!((f64::from(found[0]) - a / norm).abs() < 1e-7, "{found:?}");
        assert!((f64::from(found[1]) - b / norm).abs() < 1e-7, "{found:?}");
        assert_eq!(found.len(), 3);
        assert!(grams.weights("unseen words").is_empty());
    }

    #[test]
    fn runs_keep_case_and_punctuation_and_see_spaces_once() {
        let count = |text| Kind::Runs.counts(text).len();
        // " ab. " has 3 + 2 + 1 runs.
        assert_eq!(count("ab."), 6);
        assert_eq!(Kind::Runs.counts("a  b"), Kind::Runs.counts(" a\tb\n"));
        assert_ne!(Kind::Runs.counts("ab"), Kind::Runs.counts("Ab"));
        assert_eq!(count("é"), 1);
        assert_eq!(count("   "), 0);
        // Only the beginning of a long text counts.
        let long = "é".repeat(CHARACTERS);
        assert_eq!(runs(&long).len(), runs(&format!("{long}x")).len());
        assert_eq!(runs(&long).len(), 3 * CHARACTERS - 2 - 3 - 4);
    }

    #[test]
    fn an_empty_text_has_a_word_of_its_own() {
        let grams = Grams::of(Kind::Words, &["", " ", "x", "x y"]);
        assert_eq!(grams.len(), 2);
        assert_eq!(grams.weights("").len(), 1);
        assert_ne!(grams.weights("")[0].0, grams.weights("x")[0].0);
    }
}
