//! The places of a text: words that are copied, and words that are drawn anew.

use std::borrow::Cow;

use teda_core::Gap;

use crate::text::nltk_stopwords::is_nltk_stopword;
use crate::text::treebank::{join, split};

/// The characters of Python's `string.punctuation`.
const PUNCTUATION: &str = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~";

/// Stands for a gap while a text is written: a word as any other.
const GAP: &str = "<mask>";

/// Which words are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Stopwords and punctuation.
    Stopwords,
    /// Punctuation.
    Punctuation,
    /// None.
    Nothing,
}

/// How a drawn word is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Case {
    /// As the vocabulary has it.
    AsDrawn,
    /// In lower case.
    Lower,
    /// The first letter as a capital, the others in lower case.
    Capital,
}

impl Case {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::AsDrawn, Self::Lower, Self::Capital];

    /// `word` in this case.
    pub fn of(self, word: &str) -> Cow<'_, str> {
        match self {
            Self::AsDrawn => Cow::Borrowed(word),
            Self::Lower => Cow::Owned(word.to_lowercase()),
            Self::Capital => {
                let mut letters = word.chars();
                let first = letters.next().into_iter().flat_map(char::to_uppercase);
                Cow::Owned(
                    first
                        .chain(letters.as_str().to_lowercase().chars())
                        .collect(),
                )
            }
        }
    }
}

/// A word of a text, and what is done with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The word.
    pub word: String,
    /// How the word that is drawn in its place is written; `None` if it is copied.
    pub drawn: Option<Case>,
}

/// The places of `text`.
pub fn places(text: &str, kept: Kept) -> Vec<Place> {
    let place = |word: String| {
        let copied = match kept {
            Kept::Stopwords => is_nltk_stopword(&word) || PUNCTUATION.contains(&word),
            Kept::Punctuation => PUNCTUATION.contains(&word),
            Kept::Nothing => false,
        };
        let case = match kept {
            Kept::Nothing => Case::AsDrawn,
            _ if word.starts_with(char::is_uppercase) => Case::Capital,
            _ => Case::Lower,
        };
        Place {
            drawn: (!copied).then_some(case),
            word,
        }
    };
    split(text).into_iter().map(place).collect()
}

/// A text with a gap.
pub struct Gapped {
    before: String,
    after: String,
}

impl Gapped {
    /// The text of `words` with a gap in place of word `place`.
    pub fn new(words: &[&str], place: usize) -> Self {
        let before = join(words[..place].iter().copied());
        let with_gap = words.iter().enumerate();
        let text = join(with_gap.map(|(i, word)| if i == place { GAP } else { *word }));
        // What is written before a word does not depend on it.
        let rest = &text[before.len()..];
        let after = rest
            .trim_start()
            .strip_prefix(GAP)
            .unwrap_or(rest)
            .to_owned();
        Self { before, after }
    }

    /// The gap, beside the whole text.
    pub fn beside<'a>(&'a self, whole: &'a str) -> Gap<'a> {
        Gap {
            whole,
            before: &self.before,
            after: &self.after,
        }
    }
}

/// Every gap that DP-MLM as published makes in `text`: the text as its words are written again, and what stands before
/// and after each gap. For measuring a model's logits.
#[must_use]
pub fn gaps(text: &str) -> (String, Vec<(String, String)>) {
    let places = places(text, Kept::Stopwords);
    let words: Vec<&str> = places.iter().map(|place| &place.word[..]).collect();
    let drawn = (0..places.len()).filter(|place| places[*place].drawn.is_some());
    let gaps = drawn.map(|place| {
        let Gapped { before, after } = Gapped::new(&words, place);
        (before, after)
    });
    (join(words.iter().copied()), gaps.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(text: &str, kept: Kept) -> Vec<(String, Option<Case>)> {
        let places = places(text, kept).into_iter();
        places.map(|place| (place.word, place.drawn)).collect()
    }

    #[test]
    fn words_are_copied_as_published() {
        let text = "The man doesn't play Jazz...";
        let (lower, capital) = (Some(Case::Lower), Some(Case::Capital));
        let published = [
            ("The", capital),
            ("man", lower),
            ("does", None),
            ("n't", lower),
            ("play", lower),
            ("Jazz", capital),
            ("...", lower),
        ];
        let own = |all: &[(&str, Option<Case>)]| -> Vec<(String, Option<Case>)> {
            all.iter()
                .map(|(word, case)| ((*word).to_owned(), *case))
                .collect()
        };
        assert_eq!(drawn(text, Kept::Stopwords), own(&published));
        let (mut punctuation, mut nothing) = (published, published);
        punctuation[2].1 = lower;
        assert_eq!(drawn(text, Kept::Punctuation), own(&punctuation));
        nothing
            .iter_mut()
            .for_each(|place| place.1 = Some(Case::AsDrawn));
        assert_eq!(drawn(text, Kept::Nothing), own(&nothing));
        let comma = drawn("a, b", Kept::Punctuation);
        assert_eq!(comma[1], (",".to_owned(), None));
    }

    #[test]
    fn cases_are_python_s() {
        let cases = |word: &str| Case::ALL.map(|case| case.of(word).into_owned());
        assert_eq!(cases("mcDonald"), ["mcDonald", "mcdonald", "Mcdonald"]);
        assert_eq!(cases(""), ["", "", ""]);
        assert_eq!(cases("42"), ["42", "42", "42"]);
    }

    #[test]
    fn a_gap_takes_the_place_of_its_word() {
        let words = ["(", "can", "not", ",", "x"];
        let gap = |place| {
            let gapped = Gapped::new(&words, place);
            (gapped.before, gapped.after)
        };
        let expected = |before: &str, after: &str| (before.to_owned(), after.to_owned());
        assert_eq!(gap(0), expected("", " cannot, x"));
        assert_eq!(gap(1), expected("(", " not, x"));
        assert_eq!(gap(2), expected("(can", ", x"));
        assert_eq!(gap(4), expected("(cannot,", ""));
        let (whole, all) = gaps("The man of (Rome)");
        assert_eq!(whole, "The man of (Rome)");
        assert_eq!(all.len(), 3);
        assert_eq!(all[2], expected("The man of (", ")"));
    }
}
