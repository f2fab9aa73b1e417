//! `bleu`: runs of up to four words that text and release share.
//!
//! # Definition
//! Both are divided into words by the rules of mteval-v13a. p_n is the share of the release's n-grams that stand in the text, each
//! as often as it does there, n = 1 to 4; the score is 100 · BP · (p_1 p_2 p_3 p_4)^¼ with BP = min(1, exp(1 − words of the text / words of
//! the release)). An n without a match counts as 1/2 of an n-gram, the next one as 1/4, and so on; without any match the
//! score is 0. Of one pair only those n count for which the release has an n-gram. Of a corpus the counts are summed before they
//! are divided, so its score is not the mean of its pairs' scores.
//!
//! # Source
//! Papineni et al., *BLEU* (ACL 2002), as in the package sacrebleu (Post 2018): `tok:13a`, `smooth:exp`, `case:mixed`; `eff:yes` for
//! one pair, `eff:no` for a corpus.

use rayon::prelude::*;
use teda_core::Result;

use crate::entry::{Corpus, Entry, Needs, Pair, Utility};
use crate::words::{common, counts};

pub const ENTRY: Entry = Entry {
    name: "bleu",
    summary: "runs of words that text and release share, 0 to 100",
    source: "BLEU (ACL 2002), as in sacrebleu",
    needs: Needs::Nothing,
    digits: 2,
    build: |_| Ok(Box::new(Bleu)),
};

/// The longest n-grams.
const LONGEST: usize = 4;

struct Bleu;

impl Utility for Bleu {
    fn scores(&self, pairs: &[Pair<'_>]) -> Result<Vec<Option<f64>>> {
        let score = |pair: &Pair<'_>| Some(Statistics::of(pair).score(true));
        Ok(pairs.par_iter().map(score).collect())
    }

    fn signature(&self) -> String {
        signature("yes")
    }

    fn corpus(&self) -> Option<Box<dyn Corpus>> {
        Some(Box::new(Statistics::default()))
    }
}

/// What sacrebleu prints, but for its version.
fn signature(effective_order: &str) -> String {
    format!("nrefs:1|case:mixed|eff:{effective_order}|tok:13a|smooth:exp")
}

/// What the score is computed from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Statistics {
    /// n-grams of the release that stand in the text.
    right: [u64; LONGEST],
    /// n-grams of the release.
    all: [u64; LONGEST],
    /// Words of text and release.
    source: u64,
    release: u64,
}

impl Statistics {
    fn of(pair: &Pair<'_>) -> Self {
        let [source, release] = [pair.source, pair.release].map(spaced);
        let words = |text| python_words(text).collect::<Vec<&str>>();
        let [source, release] = [words(&source), words(&release)];
        let mut statistics = Self {
            source: source.len() as u64,
            release: release.len() as u64,
            ..Self::default()
        };
        for n in 1..=LONGEST {
            let (text, made) = (counts(source.windows(n)), counts(release.windows(n)));
            statistics.right[n - 1] = common(&made, &text);
            statistics.all[n - 1] = made.values().sum();
        }
        statistics
    }

    fn and(self, other: Self) -> Self {
        let sum = |a: [u64; LONGEST], b: [u64; LONGEST]| std::array::from_fn(|n| a[n] + b[n]);
        Self {
            right: sum(self.right, other.right),
            all: sum(self.all, other.all),
            source: self.source + other.source,
            release: self.release + other.release,
        }
    }

    /// The score; `effective` leaves out the n of which the release has no n-gram.
    fn score(&self, effective: bool) -> f64 {
        let orders = self.all.iter().take_while(|all| **all > 0).count();
        if self.right == [0; LONGEST] || !effective && orders < LONGEST {
            return 0.0;
        }
        let mut smooth = 1.0;
        let mut logarithms = 0.0;
        for n in 0..orders {
            let right = match self.right[n] {
                0 => {
                    smooth *= 2.0;
                    1.0 / smooth
                }
                right => right as f64,
            };
            logarithms += (100.0 * right / self.all[n] as f64).ln();
        }
        let brevity = (1.0 - self.source as f64 / self.release as f64)
            .min(0.0)
            .exp();
        brevity * (logarithms / orders as f64).exp()
    }
}

impl Corpus for Statistics {
    fn add(&mut self, pairs: &[Pair<'_>]) {
        let all = pairs.par_iter().map(Self::of);
        *self = self.and(all.reduce(Self::default, Self::and));
    }

    fn score(&self) -> f64 {
        Self::score(self, false)
    }

    fn signature(&self) -> String {
        signature("no")
    }
}

/// White space as Python splits at it: four control characters more than elsewhere.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

fn python_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// A text whose words stand between spaces, by mteval-v13a: punctuation stands alone, but for a point or comma between digits
/// and a hyphen that does not follow a digit.
fn spaced(text: &str) -> String {
    let text = text.trim_end_matches(is_space);
    let mut text = text.replace("<skipped>", "").replace("-\n", "");
    text = text.replace('\n', " ");
    if text.contains('&') {
        for (name, character) in [
            ("&quot;", "\""),
            ("&amp;", "&"),
            ("&lt;", "<"),
            ("&gt;", ">"),
        ] {
            text = text.replace(name, character);
        }
    }
    let mut characters: Vec<char> = format!(" {text} ").chars().collect();
    characters = characters
        .into_iter()
        .flat_map(|c| match stands_alone(c) {
            true => vec![' ', c, ' '],
            false => vec![c],
        })
        .collect();
    let digit = |c: char| c.is_ascii_digit();
    let point = |c: char| matches!(c, '.' | ',');
    // Three passes, as the original's: each takes two characters at a time, from the left, and goes on after them.
    let pass = |characters: Vec<char>, fits: &dyn Fn(char, char) -> bool, made: [bool; 3]| {
        let mut out = Vec::with_capacity(characters.len() + 8);
        let mut place = 0;
        while place < characters.len() {
            let next = characters.get(place + 1).copied();
            match next.filter(|next| fits(characters[place], *next)) {
                Some(next) => {
                    for (space, c) in
                        made.into_iter()
                            .zip([Some(characters[place]), Some(next), None])
                    {
                        out.extend(space.then_some(' '));
                        out.extend(c);
                    }
                    place += 2;
                }
                None => {
                    out.push(characters[place]);
                    place += 1;
                }
            }
        }
        out
    };
    characters = pass(
        characters,
        &|a, b| !digit(a) && point(b),
        [false, true, true],
    );
    characters = pass(
        characters,
        &|a, b| point(a) && !digit(b),
        [true, true, false],
    );
    characters = pass(
        characters,
        &|a, b| digit(a) && b == '-',
        [false, true, true],
    );
    characters.into_iter().collect()
}

/// Punctuation that is no part of a word.
fn stands_alone(c: char) -> bool {
    matches!(c, '{'..='~' | '['..='`' | ' '..='&' | '('..='+' | ':'..='@' | '/')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::score;

    #[test]
    fn words_are_those_of_mteval() {
        let words = |text: &str| {
            let text = spaced(text);
            python_words(&text).map(str::to_owned).collect::<Vec<_>>()
        };
        for (text, expected) in [
            ("Hello, world!", "Hello , world !"),
            (
                "It costs 1,000.50 (or 3-4)",
                "It costs 1,000.50 ( or 3 - 4 )",
            ),
            ("U.S. state-run", "U . S . state-run"),
            ("a...b", "a . . . b"),
            ("&quot;x&amp;y&quot;", "\" x & y \""),
            ("it's 5.", "it's 5 ."),
        ] {
            assert_eq!(words(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn equal_texts_have_100_and_others_less() {
        let text = "play some jazz by miles davis";
        let same = score(&Bleu, text, text).unwrap();
        assert!((same - 100.0).abs() < 1e-9, "{same}");
        assert_eq!(score(&Bleu, text, "weather"), Some(0.0));
        assert_eq!(score(&Bleu, text, ""), Some(0.0));
        // One word of one: e^{1 − 6}.
        let one = score(&Bleu, text, "play").unwrap();
        assert!((one - 100.0 * (-5.0_f64).exp()).abs() < 1e-9, "{one}");
    }

    #[test]
    fn a_corpus_sums_counts() {
        let pair = |source, release| Pair { source, release };
        let pairs = [pair("a b c d e", "a b c d f"), pair("g h i j", "g h x j")];
        let mut corpus = Bleu.corpus().unwrap();
        corpus.add(&pairs[..1]);
        corpus.add(&pairs[1..]);
        let together = Statistics::of(&pairs[0]).and(Statistics::of(&pairs[1]));
        assert_eq!(together.right, [7, 4, 2, 1]);
        assert_eq!(together.all, [9, 7, 5, 3]);
        let expected: f64 = [7.0 / 9.0, 4.0 / 7.0, 2.0 / 5.0, 1.0 / 3.0_f64]
            .iter()
            .product();
        assert!((corpus.score() - 100.0 * expected.powf(0.25)).abs() < 1e-9);
        assert_eq!(Bleu.corpus().unwrap().score(), 0.0);
    }
}
