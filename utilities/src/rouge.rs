//! `rouge1` and `rougeL`: words that text and release share.
//!
//! # Definition
//! Words are the runs of a to z and 0 to 9 in the lower-cased text. With m = the number of words in common (ROUGE-1: as bags;
//! ROUGE-L: the longest common subsequence), P = m / words of the release and R = m / words of the text, the score is
//! F = 2PR / (P + R), and 0 where one of the two has no words. Words are not stemmed.
//!
//! # Source
//! Lin, *ROUGE: A package for automatic evaluation of summaries* (2004), as in the package rouge-score with
//! `use_stemmer=False`.

use rayon::prelude::*;
use teda_core::Result;

use crate::entry::{Entry, Needs, Pair, Utility};
use crate::words::{common, counts, harmonic};

pub const ROUGE_1: Entry = Entry {
    name: "rouge1",
    summary: "F of the words that text and release share, as bags",
    source: "ROUGE (2004), as in rouge-score",
    needs: Needs::Nothing,
    digits: 4,
    build: |_| Ok(Box::new(Rouge(bags))),
};

pub const ROUGE_L: Entry = Entry {
    name: "rougeL",
    summary: "F of the longest sequence of words that text and release share",
    source: "ROUGE (2004), as in rouge-score",
    needs: Needs::Nothing,
    digits: 4,
    build: |_| Ok(Box::new(Rouge(longest))),
};

/// ROUGE by how it counts words in common.
struct Rouge(fn(&[&str], &[&str]) -> u64);

impl Utility for Rouge {
    fn scores(&self, pairs: &[Pair<'_>]) -> Result<Vec<Option<f64>>> {
        let score = |pair: &Pair<'_>| {
            let [source, release] = [pair.source, pair.release].map(str::to_lowercase);
            let [source, release] = [words(&source), words(&release)];
            if source.is_empty() || release.is_empty() {
                return Some(0.0);
            }
            let common = self.0(&source, &release) as f64;
            let precision = common / release.len() as f64;
            Some(harmonic(precision, common / source.len() as f64))
        };
        Ok(pairs.par_iter().map(score).collect())
    }

    fn signature(&self) -> String {
        "F, no stemming (rouge-score)".to_owned()
    }
}

/// The words of a text in lower case.
fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit()))
        .filter(|word| !word.is_empty())
        .collect()
}

fn bags(source: &[&str], release: &[&str]) -> u64 {
    common(&counts(source), &counts(release))
}

/// The length of the longest common subsequence.
fn longest(source: &[&str], release: &[&str]) -> u64 {
    let mut row = vec![0; release.len() + 1];
    for word in source {
        let mut before = 0;
        for (place, other) in release.iter().enumerate() {
            let above = row[place + 1];
            row[place + 1] = match word == other {
                true => before + 1,
                false => above.max(row[place]),
            };
            before = above;
        }
    }
    row[release.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::score;

    #[test]
    fn order_counts_for_sequences_alone() {
        let (text, release) = ("the cat sat on the mat", "on the mat the cat");
        assert_eq!(score(&Rouge(bags), text, release), Some(10.0 / 11.0));
        assert_eq!(score(&Rouge(longest), text, release), Some(6.0 / 11.0));
        assert_eq!(score(&Rouge(longest), "", "a"), Some(0.0));
        assert_eq!(score(&Rouge(bags), "é!", "a"), Some(0.0));
        assert_eq!(score(&Rouge(bags), "naïve", "NA VE"), Some(1.0));
    }
}
