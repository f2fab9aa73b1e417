//! `copied`: how much of the text stands in the release as it was.
//!
//! # Definition
//! The share of the text's words, in lower case and split at white space, that the release has, each as often as it stands in
//! both. 1 if the release repeats every word, 0 if it has none; not defined for a text without words.
//!
//! # Source
//! The recall of unigrams; PrivRewrite's printed examples are described by it.

use rayon::prelude::*;
use teda_core::Result;

use crate::entry::{Entry, Needs, Pair, Utility};
use crate::words::{common, counts};

pub const ENTRY: Entry = Entry {
    name: "copied",
    summary: "share of the text's words that the release has",
    source: "recall of unigrams",
    needs: Needs::Nothing,
    digits: 4,
    build: |_| Ok(Box::new(Copied)),
};

struct Copied;

impl Utility for Copied {
    fn scores(&self, pairs: &[Pair<'_>]) -> Result<Vec<Option<f64>>> {
        Ok(pairs.par_iter().map(copied).collect())
    }

    fn signature(&self) -> String {
        "lower case, split at white space".to_owned()
    }
}

fn copied(pair: &Pair<'_>) -> Option<f64> {
    let (source, release) = (pair.source.to_lowercase(), pair.release.to_lowercase());
    let [source, release] = [&source, &release].map(|text| counts(text.split_whitespace()));
    let all: u64 = source.values().sum();
    (all > 0).then(|| common(&source, &release) as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::score;

    #[test]
    fn words_count_as_often_as_they_stand_in_both() {
        assert_eq!(
            score(&Copied, "Play the song the", "the SONG, play"),
            Some(0.5)
        );
        assert_eq!(score(&Copied, "a a b", "a a a"), Some(2.0 / 3.0));
        assert_eq!(score(&Copied, "a", ""), Some(0.0));
        assert_eq!(score(&Copied, " \n", "a"), None);
    }
}
