//! `length`: how long a release is beside its text.
//!
//! # Definition
//! Words of the release divided by words of the text, words being what stands between white space. Not defined for a text
//! without words.
//!
//! # Source
//! None: it shows what a mechanism drops or adds, and a release's length is what several of them leak.

use teda_core::Result;

use crate::entry::{Entry, Needs, Pair, Utility};

pub const ENTRY: Entry = Entry {
    name: "length",
    summary: "words of the release per word of the text",
    source: "a ratio of counts",
    needs: Needs::Nothing,
    digits: 3,
    build: |_| Ok(Box::new(Length)),
};

struct Length;

impl Utility for Length {
    fn scores(&self, pairs: &[Pair<'_>]) -> Result<Vec<Option<f64>>> {
        let score = |pair: &Pair<'_>| {
            let [source, release] =
                [pair.source, pair.release].map(|text| text.split_whitespace().count());
            (source > 0).then(|| release as f64 / source as f64)
        };
        Ok(pairs.iter().map(score).collect())
    }

    fn signature(&self) -> String {
        "words between white space".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::score;

    #[test]
    fn it_is_the_ratio_of_words() {
        assert_eq!(score(&Length, "play some jazz now", "play jazz"), Some(0.5));
        assert_eq!(score(&Length, "a", "\u{a0}b\tc d"), Some(3.0));
        assert_eq!(score(&Length, "a", ""), Some(0.0));
        assert_eq!(score(&Length, "", "a"), None);
    }
}
