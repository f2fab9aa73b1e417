//! Joins word tokens to a text.
//!
//! # Definition
//! Words are written one after another, with a space between two of them unless
//! - the first ends with an opening bracket, `#` or `$`, or is ` `` ` or `--`;
//! - the second begins with a closing bracket or one of `? ! ; : , %`, or is `.`, `''`, `--`, `...` or a clitic (`n't`,
//!   `'s`, …) after a letter;
//! - together they are *cannot, gimme, gonna, gotta, lemme, wanna, 'tis* or *'twas*.
//!
//! ` `` ` and `''` are written as `"`. A word without characters writes nothing.
//!
//! Each word adds its own characters after those of the words before it, and what it adds depends on the text so far
//! alone. So the probability of a text is a sum over places in it (`dp_mlm::writing`).
//!
//! # Deviations
//! NLTK's detokeniser leaves a space before a full stop that does not end the text, none after `...`, and one where a
//! word has no characters.

use std::borrow::Cow;

/// Clitics as they stand after the word they were cut from.
const CLITICS: [&str; 15] = [
    "'s", "'S", "'m", "'M", "'d", "'D", "'ll", "'LL", "'re", "'RE", "'ve", "'VE", "n't", "N'T", "'",
];

/// Pairs of words that are written as one, in lower case.
const JOINED: [(&str, &str); 8] = [
    ("can", "not"),
    ("gim", "me"),
    ("gon", "na"),
    ("got", "ta"),
    ("lem", "me"),
    ("wan", "na"),
    ("'t", "is"),
    ("'t", "was"),
];

/// The text of `words`.
pub fn join<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::new();
    let mut writer = Writer::default();
    for word in words {
        let (addition, next) = writer.add(&text, word);
        text += &addition;
        writer = next;
    }
    text
}

/// What the next word needs to know, beside the text so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Writer {
    /// Whether the last word takes no space after it.
    glued: bool,
}

impl Writer {
    /// What `word` adds to `text`, and the writer after it.
    pub fn add<'a>(self, text: &str, word: &'a str) -> (Cow<'a, str>, Self) {
        let Some(last) = word.chars().next_back() else {
            return (Cow::Borrowed(""), self);
        };
        let written = if is_quote(word) { "\"" } else { word };
        let spaced = !text.is_empty() && !self.glued && !attaches(text, word);
        let glued = "([{<#$".contains(last) || ["``", "--"].contains(&word);
        let addition = if spaced {
            Cow::Owned(format!(" {written}"))
        } else {
            Cow::Borrowed(written)
        };
        (addition, Self { glued })
    }
}

/// Whether `word` is a quotation mark of the Treebank.
pub fn is_quote(word: &str) -> bool {
    word == "``" || word == "''"
}

/// Whether `word` follows `text` without a space.
fn attaches(text: &str, word: &str) -> bool {
    if word.starts_with(['?', '!', ';', ':', ',', '%', ')', ']', '}', '>']) {
        return true;
    }
    if [".", "''", "--", "..."].contains(&word) {
        return true;
    }
    let after_letter = text.chars().next_back().is_some_and(char::is_alphanumeric);
    (after_letter && CLITICS.contains(&word))
        || JOINED
            .iter()
            .any(|(first, second)| word.eq_ignore_ascii_case(second) && ends_with_word(text, first))
}

/// Whether the last word of `text` is `word`, in any case.
fn ends_with_word(text: &str, word: &str) -> bool {
    let Some(start) = text.len().checked_sub(word.len()) else {
        return false;
    };
    let is_word = text
        .get(start..)
        .is_some_and(|end| end.eq_ignore_ascii_case(word));
    is_word && !text[..start].ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::super::split;
    use super::*;

    #[test]
    fn ordinary_texts_come_back() {
        for text in [
            "",
            "play some jazz",
            "Good muffins (3 of them) cost $3.88, at 50%!",
            "I can't, won't and cannot; you'd say it's Sam's.",
            "\"We gonna win,\" he said... or not?",
            "He left. They stayed.",
            "the dogs' bowl",
        ] {
            let words = split(text);
            assert_eq!(join(words.iter().map(|word| &word[..])), text);
        }
    }

    #[test]
    fn a_word_without_characters_writes_nothing() {
        assert_eq!(join(["a", "", "b", ""]), "a b");
        assert_eq!(join(["", "", "b"]), "b");
        assert_eq!(join(["(", "", "b", ")"]), "(b)");
    }

    #[test]
    fn quotes_clitics_and_pairs() {
        assert_eq!(join(["``", "x", "''", "y"]), "\"x\" y");
        assert_eq!(join(["\"", "x"]), "\" x");
        assert_eq!(join(["can", "not", "can", "'s"]), "cannot can's");
        assert_eq!(join(["Vatican", "not", "!", "'s"]), "Vatican not! 's");
        assert_eq!(join(["ß", "not"]), "ß not");
    }
}
