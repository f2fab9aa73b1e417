//! `length`: guesses the candidate whose length is nearest to the release's.
//!
//! # Threat model
//! The adversary knows the candidate set and sees the release; it counts words, word pieces and characters, and has no
//! access to the mechanism. It cannot see what the texts say: it does not distinguish candidates of the same length.
//! Nor does it know whether a mechanism tends to make texts longer or shorter, which `learned` finds out.
//!
//! # Definition
//! score(v) = −Σ |ln((n(v) + 1) / (n(release) + 1))| over n = words (runs without white space), pieces of the public
//! token map, and characters (Unicode scalar values). Candidates with the same three counts have the same score, to
//! the bit.
//!
//! # Source
//! Our own: a control for what the length alone reveals.

use std::sync::Arc;

use teda_core::{Answer, Attack, Observation, Result, TokenMap};

use crate::entry::{Build, Context, Entry};

pub const ENTRY: Entry = Entry {
    name: "length",
    summary: "candidate nearest in length: words, word pieces and characters",
    source: "control",
    judge: false,
    likelihoods: false,
    latent: false,
    reads: false,
    build: Build::Scores(|context: &Context| {
        Ok(Box::new(Length {
            texts: context.texts.clone(),
            tokens: context.tokens.clone(),
        }))
    }),
};

struct Length {
    texts: Arc<[String]>,
    tokens: Arc<dyn TokenMap>,
}

impl Length {
    /// Words, pieces and characters.
    fn counts(&self, text: &str) -> [usize; 3] {
        [
            text.split_whitespace().count(),
            self.tokens.tokenize(text).len(),
            text.chars().count(),
        ]
    }
}

impl Attack for Length {
    fn score(&self, batch: &[Observation<'_>]) -> Result<Vec<Answer<Vec<f64>>>> {
        Ok(batch
            .iter()
            .map(|observation| {
                let release = self.counts(observation.release);
                let score = |text: &usize| {
                    let counts = self.counts(&self.texts[*text]);
                    let apart = counts
                        .iter()
                        .zip(release)
                        .map(|(n, r)| ((*n as f64 + 1.0) / (r as f64 + 1.0)).ln().abs());
                    -apart.sum::<f64>()
                };
                Ok(observation.candidates.iter().map(score).collect())
            })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy;

    #[test]
    fn the_nearest_length_wins_and_equal_lengths_are_equal() {
        let context = toy::context(&["a b", "c d e f g h", "x y", "k l m"]);
        let attack = Length {
            texts: context.texts.clone(),
            tokens: context.tokens.clone(),
        };
        let score = |release, candidates| {
            let observation = toy::observation(candidates, release);
            attack.score(&[observation]).unwrap().remove(0).unwrap()
        };
        let scores = score("q r s t u", &[0, 1, 2, 3]);
        assert_eq!(scores[0], scores[2]);
        assert!(scores[1] > scores[3] && scores[3] > scores[0]);
        assert_eq!(score("n m", &[0, 1])[0], 0.0);
        // Without a release the shortest candidate is the nearest.
        let empty = score("", &[1, 0]);
        assert!(empty[1] > empty[0] && empty.iter().all(|s| s.is_finite()));
    }
}
