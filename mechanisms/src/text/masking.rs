//! Texts with masked words.
//!
//! # Definition
//! The words of a text are separated by white space. z_i = [`MASK`] if word i is masked, otherwise the word; the
//! masked text joins them with single spaces.

use std::collections::BTreeSet;

use teda_core::{MASK, Stream};

/// Which words are masked regardless of the coins.
#[derive(Debug, Clone)]
pub struct Always {
    /// Words with a digit.
    pub numbers: bool,
    /// E-mail addresses.
    pub emails: bool,
    /// These words, in lower case, without the punctuation around them.
    pub words: BTreeSet<String>,
}

impl Always {
    fn masks(&self, word: &str) -> bool {
        (self.numbers && word.contains(char::is_numeric))
            || (self.emails && is_email(word))
            || self.words.contains(&bare(word))
    }
}

/// A word in lower case, without punctuation at its ends.
pub fn bare(word: &str) -> String {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    word.to_lowercase()
}

/// Whether a word contains an @ with something before it and a name with a dot inside after it.
fn is_email(word: &str) -> bool {
    word.split_once('@').is_some_and(|(user, host)| {
        let host = host.trim_end_matches(|c: char| !c.is_alphanumeric());
        user.contains(char::is_alphanumeric)
            && host
                .split_once('.')
                .is_some_and(|(name, end)| !name.is_empty() && !end.is_empty())
    })
}

/// A text with some words masked.
#[derive(Debug, Clone)]
pub struct Masked<'a> {
    words: Vec<&'a str>,
    masked: Vec<bool>,
}

impl<'a> Masked<'a> {
    /// The text with the words that `always` names masked.
    pub fn new(text: &'a str, always: &Always) -> Self {
        let words: Vec<&str> = text.split_whitespace().collect();
        let masked = words.iter().map(|word| always.masks(word)).collect();
        Self { words, masked }
    }

    /// Masks each word that is not masked yet with probability `rate`, independently.
    pub fn mask_more(&mut self, rate: f64, stream: &mut Stream) {
        for masked in self.masked.iter_mut().filter(|masked| !**masked) {
            *masked = stream.uniform() < rate;
        }
    }

    /// ln of the probability that [`Self::mask_more`], called once before each, shows these texts one after another; −∞
    /// if it cannot.
    pub fn ln_probability(&self, shown: &[&str], rate: f64) -> f64 {
        let mut masked = self.masked.clone();
        let (ln_masked, ln_shown) = (rate.ln(), (-rate).ln_1p());
        let mut total = 0.0;
        for text in shown {
            let words: Vec<&str> = text.split_whitespace().collect();
            if words.len() != self.words.len() || words.join(" ") != *text {
                return f64::NEG_INFINITY;
            }
            for ((word, own), masked) in words.iter().zip(&self.words).zip(&mut masked) {
                total += match (*word == MASK, *masked || *own == MASK) {
                    (true, true) => 0.0,
                    (true, false) => {
                        *masked = true;
                        ln_masked
                    }
                    (false, false) if word == own => ln_shown,
                    (false, _) => f64::NEG_INFINITY,
                };
            }
        }
        total
    }

    /// The masked text.
    pub fn text(&self) -> String {
        let shown: Vec<&str> = self
            .words
            .iter()
            .zip(&self.masked)
            .map(|(word, masked)| if *masked { MASK } else { *word })
            .collect();
        shown.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use teda_core::Seed;

    use super::*;

    const ALL: Always = Always {
        numbers: true,
        emails: true,
        words: BTreeSet::new(),
    };

    #[test]
    fn numbers_and_addresses_are_always_masked_where_asked() {
        let text = "mail  bob@post.example, call 0800-1 at @noon or a@b until ٣";
        let shown = |numbers, emails| {
            let words = BTreeSet::new();
            let always = Always {
                numbers,
                emails,
                words,
            };
            Masked::new(text, &always).text()
        };
        let words = "mail bob@post.example, call 0800-1 at @noon or a@b until ٣";
        assert_eq!(shown(false, false), words);
        assert_eq!(
            shown(true, true),
            "mail [MASK] call [MASK] at @noon or a@b until [MASK]"
        );
        assert_eq!(shown(false, true), words.replace("bob@post.example,", MASK));
        assert_eq!(Masked::new(" ", &ALL).text(), "");
    }

    #[test]
    fn named_words_are_always_masked_in_any_case_and_punctuation() {
        let always = Always {
            numbers: false,
            emails: false,
            words: ["Ada", "o'neil"].map(bare).into(),
        };
        let text = "(Ada), ADA's cousin: o'Neil! adamant 7";
        let masked = Masked::new(text, &always).text();
        assert_eq!(masked, "[MASK] ADA's cousin: [MASK] adamant 7");
    }

    #[test]
    fn what_rounds_show_has_the_probability_of_their_coins() {
        let masked = Masked::new("a [MASK] 7 b", &ALL);
        let ln = |shown: &[&str]| masked.ln_probability(shown, 0.3);
        let (hidden, kept) = (0.3_f64.ln(), 0.7_f64.ln());
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a}, not {b}");
        close(ln(&["[MASK] [MASK] [MASK] b"]), hidden + kept);
        let two = ["a [MASK] [MASK] b", "a [MASK] [MASK] [MASK]"];
        close(ln(&two), 3.0 * kept + hidden);
        for impossible in [
            &["a [MASK] 7 b"][..],
            &["[MASK] [MASK] [MASK] b", "a [MASK] [MASK] b"],
            &["a [MASK] [MASK]"],
            &["a  [MASK] [MASK] b"],
            &["c [MASK] [MASK] b"],
        ] {
            assert_eq!(ln(impossible), f64::NEG_INFINITY, "{impossible:?}");
        }
    }

    /// Every round masks an unmasked word with the same probability: after t rounds a share of 1 − (1 − p)ᵗ is masked,
    /// and words that are always masked stay masked.
    #[test]
    fn rates_add_up_over_rounds() {
        let text = "word ".repeat(20_000) + "7";
        let mut masked = Masked::new(&text, &ALL);
        let mut stream = Seed::root(2).stream();
        for round in 1..=4 {
            let before = masked.masked.clone();
            masked.mask_more(0.3, &mut stream);
            assert!(before.iter().zip(&masked.masked).all(|(b, m)| !b || *m));
            let expected = 1.0 - 0.7_f64.powi(round);
            let seen = masked.masked[..20_000].iter().filter(|m| **m).count() as f64 / 20_000.0;
            // Four standard deviations.
            let deviation = (expected * (1.0 - expected) / 20_000.0).sqrt();
            assert!(
                (seen - expected).abs() < 4.0 * deviation,
                "{seen} in round {round}"
            );
            assert!(masked.text().ends_with(MASK));
        }
        let (mut none, mut all) = (Masked::new("a b", &ALL), Masked::new("a b", &ALL));
        none.mask_more(0.0, &mut stream);
        all.mask_more(1.0, &mut stream);
        assert_eq!(
            (none.text(), all.text()),
            ("a b".into(), "[MASK] [MASK]".into())
        );
    }
}
