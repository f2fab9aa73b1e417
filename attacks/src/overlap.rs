//! `overlap`: guesses the candidate that shares the most with the release, at a plain glance.
//!
//! # Threat model
//! The adversary knows the candidate set and the data set, and sees the release. It compares letters, and has no model
//! and no access to the mechanism. It cannot see similar meaning in different words, nor length, case or punctuation:
//! it does not distinguish candidates that share nothing with the release.
//!
//! # Definition
//! score(v) = S(v) + G(v) + 2·[v copied] + ½·[first words equal] + ½·[last words equal].
//! - S(v) = Σ idf(w) over the words that both have / Σ idf(w) over the words of the release, each word once and in
//!   lower case, idf(w) = ln((N + 1)/(n + 1)) for a word in n of the N texts of the data set; 0 if the denominator is
//!   0.
//! - G(v): cosine of the counts of runs of three characters, in lower case.
//! - v is copied if it occurs in the release, or the release in it, ignoring white space around either; no candidate
//!   copies an empty release.
//!
//! # Source
//! Our own: a control for what is in plain sight. idf: Spärck Jones (1972).

use std::sync::Arc;

use teda_core::{Answer, Attack, Observation, Result};

use crate::entry::{Build, Context, Entry};
use crate::text::{Grams, Rarity, distinct, shared, words};

pub const ENTRY: Entry = Entry {
    name: "overlap",
    summary: "candidate that shares the most words and letters with the release",
    source: "control",
    judge: false,
    likelihoods: false,
    latent: false,
    reads: false,
    build: Build::Scores(|context: &Context| Ok(Box::new(Overlap::new(context)))),
};

/// Weights of the terms that count once.
const COPIED: f64 = 2.0;
const END: f64 = 0.5;

struct Overlap {
    texts: Arc<[String]>,
    rarity: Rarity,
}

/// The properties of a text that are compared.
struct Seen<'a> {
    text: &'a str,
    first: Option<u64>,
    last: Option<u64>,
    words: Vec<u64>,
    grams: Grams,
}

impl<'a> Seen<'a> {
    fn of(text: &'a str) -> Self {
        let words = words(text);
        Self {
            text: text.trim(),
            first: words.first().copied(),
            last: words.last().copied(),
            words: distinct(words),
            grams: Grams::of(text.trim()),
        }
    }
}

impl Overlap {
    fn new(context: &Context) -> Self {
        Self {
            texts: context.texts.clone(),
            rarity: Rarity::of(&context.texts),
        }
    }

    fn of(&self, candidate: &Seen<'_>, release: &Seen<'_>) -> f64 {
        let weigh = |words: &mut dyn Iterator<Item = u64>| -> f64 {
            words.map(|word| self.rarity.of_word(word)).sum()
        };
        let all = weigh(&mut release.words.iter().copied());
        let both = weigh(&mut shared(&candidate.words, &release.words));
        let share = if all > 0.0 { both / all } else { 0.0 };
        let copied = !release.text.is_empty()
            && (candidate.text.contains(release.text) || release.text.contains(candidate.text));
        let same = |a: Option<u64>, b| f64::from(u8::from(a.is_some() && a == b));
        share
            + candidate.grams.cosine(&release.grams)
            + COPIED * f64::from(u8::from(copied))
            + END * (same(candidate.first, release.first) + same(candidate.last, release.last))
    }
}

impl Attack for Overlap {
    fn score(&self, batch: &[Observation<'_>]) -> Result<Vec<Answer<Vec<f64>>>> {
        Ok(batch
            .iter()
            .map(|observation| {
                let release = Seen::of(observation.release);
                let score = |text: &usize| self.of(&Seen::of(&self.texts[*text]), &release);
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
    fn what_is_shared_wins() {
        let texts = [
            "play some jazz in the kitchen",
            "book a table for two",
            "the weather in the kitchen",
            "the weather in Xyzzy",
        ];
        let context = toy::context(&texts);
        let attack = Overlap::new(&context);
        let score = |release, candidates| {
            let observation = toy::observation(candidates, release);
            attack.score(&[observation]).unwrap().remove(0).unwrap()
        };
        for (release, best) in [
            ("book a table for two", 1),
            ("JAZZ please", 0),
            ("table two", 1),
            ("xyzzy, please", 3),
            ("the weath", 2),
        ] {
            let scores = score(release, &[0, 1, 2, 3]);
            let highest = scores.iter().copied().fold(f64::MIN, f64::max);
            assert_eq!(scores[best], highest, "{release}: {scores:?}");
        }
        assert_eq!(score("", &[0, 1]), [0.0, 0.0]);
        assert_eq!(score("qqq", &[0, 1]), [0.0, 0.0]);
    }
}
