//! The words that a group of texts has in common.
//!
//! # Definition
//! The words of a text are separated by white space, in lower case, without the punctuation at either end; or they are
//! its Treebank tokens, as they are written. Stopwords and punctuation do not count. A word's document frequency is the
//! number of texts that contain it, once or more often.

use std::collections::{BTreeMap, BTreeSet};

use super::masking::bare;
use super::stopwords::is_stopword;
use super::treebank::split;

/// How a text is divided into words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// Between spaces, in lower case, without punctuation at the ends.
    Bare,
    /// Treebank tokens; a word with a capital is another word, and no stopword.
    Tokens,
}

impl Words {
    /// The distinct keywords of a text.
    fn of(self, text: &str) -> BTreeSet<String> {
        match self {
            Self::Bare => text.split_whitespace().filter_map(keyword).collect(),
            Self::Tokens => {
                let counts = |word: &String| {
                    !word.chars().all(|c| c.is_ascii_punctuation()) && !is_stopword(word)
                };
                split(text).into_iter().filter(counts).collect()
            }
        }
    }
}

/// A word in lower case without punctuation at its ends; `None` for stopwords and if nothing is left.
pub fn keyword(word: &str) -> Option<String> {
    let word = bare(word).replace('\u{2019}', "'");
    (!word.is_empty() && !is_stopword(&word)).then_some(word)
}

/// The document frequency of every word of `texts`, most frequent first, ties in alphabetical order.
pub fn frequencies(texts: &[&str], words: Words) -> Vec<(String, u32)> {
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for text in texts {
        for word in words.of(text) {
            *counts.entry(word).or_default() += 1;
        }
    }
    descending(counts)
}

/// The frequencies of only the words of `domain` (sorted), including those that no text has.
pub fn frequencies_among(domain: &[String], texts: &[&str], words: Words) -> Vec<(String, u32)> {
    let seen = frequencies(texts, words);
    let mut counts: BTreeMap<String, u32> = domain.iter().map(|w| (w.clone(), 0)).collect();
    for (word, count) in seen {
        counts.entry(word).and_modify(|c| *c = count);
    }
    descending(counts)
}

fn descending(counts: BTreeMap<String, u32>) -> Vec<(String, u32)> {
    let mut counts: Vec<(String, u32)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_count_texts_and_leave_out_stopwords_and_punctuation() {
        let texts = [
            "Play \"Jazz\", the jazz!",
            "jazz, please: play it ?",
            "Don\u{2019}t stop",
        ];
        let expected = [("jazz", 2), ("play", 2), ("stop", 1)];
        let found = frequencies(&texts, Words::Bare);
        let found: Vec<(&str, u32)> = found.iter().map(|(w, c)| (&w[..], *c)).collect();
        assert_eq!(found, expected);
        assert!(frequencies(&[], Words::Bare).is_empty());
    }

    #[test]
    fn tokens_keep_their_case_and_their_short_forms() {
        let texts = ["What is it? Don't stop.", "what did F. do? n't"];
        let found = frequencies(&texts, Words::Tokens);
        let found: Vec<(&str, u32)> = found.iter().map(|(w, c)| (&w[..], *c)).collect();
        let once = ["Do", "F.", "What", "stop"].map(|word| (word, 1));
        assert_eq!(found, [&[("n't", 2)][..], &once].concat());
    }

    #[test]
    fn a_domain_says_which_words_there_are() {
        let domain = ["blues", "jazz", "stop"].map(String::from);
        let found = frequencies_among(&domain, &["jazz play", "jazz stop"], Words::Bare);
        let expected = [("jazz", 2), ("stop", 1), ("blues", 0)];
        assert_eq!(found, expected.map(|(w, c)| (w.to_owned(), c)));
    }
}
