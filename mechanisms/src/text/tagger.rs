//! Parts of speech: a small tagger over hashed features.
//!
//! # Definition
//! From left to right, a word has the tag with the greatest sum of weights over its features: the word, its ends and
//! its shape, the words around it, and the two tags before it. A feature's weights stand at a place that is a hash of
//! the feature, one signed byte for each tag. All sums are of whole numbers, so that tags are the same on every
//! machine.
//!
//! # Source
//! An averaged perceptron (Collins 2002), trained by `scripts/models/tagger_train.py` on the texts that ship, as
//! tagged by wink-nlp (MIT licence). Of held-out words it tags 96 % (SNIPS, novels) to 99 % (MedQuAD's questions) as
//! wink-nlp does, and 87 % of a treebank of other text (EWT's test part, of which nothing was learned) as that does.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Parts of speech of Universal Dependencies, in the order of the weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tag {
    Adj,
    Adp,
    Adv,
    Aux,
    Cconj,
    Det,
    Intj,
    Noun,
    Num,
    Part,
    Pron,
    Propn,
    Punct,
    Sconj,
    Sym,
    Verb,
    X,
}

/// Tags by number, with the names that features are made of.
const TAGS: [(Tag, &str); 17] = [
    (Tag::Adj, "ADJ"),
    (Tag::Adp, "ADP"),
    (Tag::Adv, "ADV"),
    (Tag::Aux, "AUX"),
    (Tag::Cconj, "CCONJ"),
    (Tag::Det, "DET"),
    (Tag::Intj, "INTJ"),
    (Tag::Noun, "NOUN"),
    (Tag::Num, "NUM"),
    (Tag::Part, "PART"),
    (Tag::Pron, "PRON"),
    (Tag::Propn, "PROPN"),
    (Tag::Punct, "PUNCT"),
    (Tag::Sconj, "SCONJ"),
    (Tag::Sym, "SYM"),
    (Tag::Verb, "VERB"),
    (Tag::X, "X"),
];

/// The tag before a text's first word.
const BEFORE: &str = "^";

/// `[places × tags]`.
const WEIGHTS: &[u8] = include_bytes!("tagger.bin");
const PLACES: usize = 1 << 15;
const _: () = assert!(WEIGHTS.len() == PLACES * TAGS.len());

/// Places of the features that are made of tags alone, by the tags before a word and before that.
static HISTORY: LazyLock<HashMap<(&str, &str), [usize; 2]>> = LazyLock::new(|| {
    let names = || TAGS.iter().map(|(_, name)| *name).chain([BEFORE]);
    let pairs = names().flat_map(|last| names().map(move |other| (last, other)));
    pairs
        .map(|(last, other)| {
            (
                (last, other),
                [place(&["e", last]), place(&["f", other, " ", last])],
            )
        })
        .collect()
});

/// The place of a feature: FNV-1a of 64 bits, folded.
fn place(parts: &[&str]) -> usize {
    let mut value: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in parts.iter().flat_map(|part| part.bytes()) {
        value = (value ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    ((value ^ (value >> 32)) % PLACES as u64) as usize
}

/// The last `count` characters.
fn end(word: &str, count: usize) -> &str {
    let place = word.char_indices().rev().take(count).last();
    place.map_or("", |(place, _)| &word[place..])
}

/// The first character.
fn begin(word: &str) -> &str {
    let next = word.char_indices().nth(1);
    next.map_or(word, |(place, _)| &word[..place])
}

/// A word's shape: with digits, no letter, capital, small.
fn shape(word: &str) -> &'static str {
    let first = word.chars().next().unwrap_or(' ');
    match first {
        _ if word.chars().any(char::is_numeric) => "9",
        first if !first.is_alphanumeric() => ".",
        first if first.is_uppercase() => "A",
        _ => "a",
    }
}

/// The tags of a text's words.
pub fn tags(words: &[&str]) -> Vec<Tag> {
    let lower: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
    let at = |i: usize, step: isize| match i.checked_add_signed(step) {
        None => "^",
        Some(i) => lower.get(i).map_or("$", String::as_str),
    };
    let (mut last, mut other) = (BEFORE, BEFORE);
    let tag = |i: usize| {
        let word = at(i, 0);
        let first = if i == 0 { "^" } else { "" };
        let features = [
            place(&["0"]),
            place(&["1", word]),
            place(&["2", end(word, 3)]),
            place(&["3", end(word, 2)]),
            place(&["4", begin(word)]),
            place(&["5", shape(words[i]), first]),
            place(&["6", at(i, -1)]),
            place(&["7", at(i, -2)]),
            place(&["8", at(i, 1)]),
            place(&["9", at(i, 2)]),
            place(&["a", end(at(i, -1), 3)]),
            place(&["b", end(at(i, 1), 3)]),
            place(&["c", at(i, -1), " ", word]),
            place(&["d", word, " ", at(i, 1)]),
        ];
        let mut sums = [0_i32; TAGS.len()];
        for place in features.into_iter().chain(HISTORY[&(last, other)]) {
            let weights = &WEIGHTS[place * TAGS.len()..];
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum += i32::from(weight.cast_signed());
            }
        }
        // The first of the greatest.
        let best = (1..TAGS.len()).fold(
            0,
            |best, tag| if sums[tag] > sums[best] { tag } else { best },
        );
        let (tag, name) = TAGS[best];
        (last, other) = (name, last);
        tag
    };
    (0..words.len()).map(tag).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::words::words;

    #[test]
    fn common_sentences_are_tagged() {
        use Tag::{Adj, Adp, Adv, Aux, Det, Noun, Num, Part, Pron, Punct, Verb};
        for (text, expected) in [
            ("", &[][..]),
            (
                "He had not seen the old house.",
                &[Pron, Aux, Part, Verb, Det, Adj, Noun, Punct],
            ),
            (
                "book a table for two at the best restaurant",
                &[Verb, Det, Noun, Adp, Num, Adp, Det, Adj, Noun],
            ),
            (
                "The doctor slowly closed the door.",
                &[Det, Noun, Adv, Verb, Det, Noun, Punct],
            ),
        ] {
            assert_eq!(tags(&words(text)), expected, "{text}");
        }
    }

    /// As `tagger_train.py` computes them.
    #[test]
    fn places_are_those_of_the_training() {
        assert_eq!(place(&["0"]), PLACES_OF_THE_TRAINING[0]);
        assert_eq!(place(&["c", "the", " ", "é"]), PLACES_OF_THE_TRAINING[1]);
    }
    const PLACES_OF_THE_TRAINING: [usize; 2] = [12_771, 30_941];

    #[test]
    fn words_of_any_kind_have_a_tag() {
        for word in ["😀", "é", "ß9", "\u{301}", "-"] {
            assert_eq!(tags(&[word, word]).len(), 2);
        }
    }
}
