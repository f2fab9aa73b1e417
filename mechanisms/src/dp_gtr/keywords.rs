//! Stage 2b of DP-GTR: the words of the paraphrases that the new text is to avoid.
//!
//! # Definition
//! The K words with the highest document frequency among the paraphrases, by counting (NDP), or K drawn by the joint
//! exponential mechanism at ε₂ (JEM) from the words seen or from those of a public vocabulary. In the order of
//! frequency, or shuffled.

use teda_core::{Seed, Settings, TokenMap};

use super::joint_exponential;
use crate::text::keywords::{Words, frequencies, frequencies_among, keyword};

/// How keywords are found.
enum Found {
    /// By counting.
    Counted,
    /// By the joint exponential mechanism at ε₂ among the words seen, or those of a public domain.
    Joint {
        epsilon: f64,
        domain: Option<Vec<String>>,
    },
}

/// How keywords are found, how many, and in which order they are named.
pub struct Keywords {
    found: Found,
    count: usize,
    words: Words,
    shuffles: bool,
}

impl Keywords {
    /// What the settings say, over the public vocabulary of `tokens`.
    pub fn of(settings: &Settings, tokens: &dyn TokenMap) -> Self {
        let domain = || (settings.chosen("domain") == "public").then(|| public(tokens));
        Self {
            found: match settings.chosen("release") {
                "ndp" => Found::Counted,
                _ => Found::Joint {
                    epsilon: settings.get("epsilon2"),
                    domain: domain(),
                },
            },
            count: settings.get("keywords") as usize,
            words: match settings.chosen("keywords_as") {
                "words" => Words::Bare,
                _ => Words::Tokens,
            },
            shuffles: settings.get("shuffle") == 1.0,
        }
    }

    /// The words of a group of paraphrases to avoid.
    pub fn draw(&self, group: &[&str], seed: Seed) -> Vec<String> {
        let mut words = self.find(group, seed);
        if self.shuffles {
            seed.named("shuffle").stream().shuffle(&mut words);
        }
        words
    }

    fn find(&self, group: &[&str], seed: Seed) -> Vec<String> {
        let (epsilon, domain) = match &self.found {
            Found::Counted => {
                let words = frequencies(group, self.words).into_iter();
                return words.map(|(word, _)| word).take(self.count).collect();
            }
            Found::Joint { epsilon, domain } => (*epsilon, domain),
        };
        let words = match domain {
            Some(domain) => frequencies_among(domain, group, self.words),
            None => frequencies(group, self.words),
        };
        let counts: Vec<u32> = words.iter().map(|(_, count)| *count).collect();
        let k = self.count.min(counts.len());
        // One paraphrase more or less moves every count by at most 1, all in one direction: Δ = 1.
        let mut stream = seed.named("keywords").stream();
        joint_exponential::draw(&counts, k, epsilon, 1.0, &mut stream)
            .into_iter()
            .map(|place| words[place].0.clone())
            .collect()
    }
}

/// The words of the public vocabulary that can be keywords, in alphabetical order.
fn public(tokens: &dyn TokenMap) -> Vec<String> {
    let mut words: Vec<String> = tokens
        .released()
        .iter()
        .filter_map(|token| {
            let word = tokens.detokenize(&[*token]);
            // Parts of words come back as other tokens.
            let whole = tokens.tokenize(&word) == [*token];
            keyword(&word).filter(|keyword| whole && *keyword == word)
        })
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::toy;

    #[test]
    fn the_public_domain_is_the_vocabularys_words() {
        let expected: Vec<String> = (0..toy::UNKNOWN).map(|t| format!("t{t}")).collect();
        assert_eq!(public(&*toy::tokens()), expected);
    }

    #[test]
    fn shuffled_words_are_the_same_words_in_any_order() {
        let keywords = |shuffles| Keywords {
            found: Found::Counted,
            count: 3,
            words: Words::Tokens,
            shuffles,
        };
        let group = ["Play jazz blues", "Play jazz", "Play"];
        let seed = |i: u64| Seed::root(3).at(i);
        let sorted = ["Play", "jazz", "blues"];
        assert_eq!(keywords(false).draw(&group, seed(0)), sorted);
        let mut orders: Vec<Vec<String>> = (0..200)
            .map(|i| keywords(true).draw(&group, seed(i)))
            .collect();
        orders.sort();
        orders.dedup();
        assert_eq!(orders.len(), 6);
    }
}
