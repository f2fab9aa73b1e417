//! Splits English text into tokens as the Penn Treebank does.
//!
//! # Definition
//! Words are separated by white space; brackets, quotation marks and ; @ # $ % & ? ! * are tokens of their own, and so
//! are dashes ("--"), a full stop that ends the text, a comma or colon that no digit follows, and an apostrophe at the
//! end of a word. Short forms are two tokens: "do" and "n't", "it" and "'s", "can" and "not".
//!
//! # Source
//! NLTK's `word_tokenize`, whose rules these are.
//!
//! # Deviations
//! NLTK first finds sentences by a trained model, so that it separates the full stop of every sentence; here a full
//! stop inside the text is separated behind a word of two or more small letters alone. Double quotation marks stay as
//! they are. Rare colloquial forms ("gonna") are not divided.

/// Marks that always stand alone.
const MARKS: &str = ";@#$%&?!*[](){}<>\"“”«»„‘’";

/// Short forms that end a word.
const ENDINGS: [&str; 7] = ["n't", "'ll", "'re", "'ve", "'s", "'m", "'d"];

/// The tokens of a text, in order.
pub fn tokens(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let last = words.len().saturating_sub(1);
    let mut tokens = Vec::new();
    for (place, word) in words.iter().enumerate() {
        split(word, place == last, &mut tokens);
    }
    tokens
}

/// The tokens of one word between spaces.
fn split(word: &str, is_last: bool, tokens: &mut Vec<String>) {
    let chars: Vec<char> = word.chars().collect();
    let mut part = String::new();
    let mut place = 0;
    while place < chars.len() {
        let char = chars[place];
        let next = chars.get(place + 1);
        let dots = chars[place..].iter().take_while(|c| **c == '.').count();
        let dashes = chars[place..].iter().take_while(|c| **c == '-').count();
        // A mark of several characters stands together.
        let length = match char {
            '.' if dots > 1 => dots,
            '-' if dashes > 1 => dashes,
            _ => 1,
        };
        let stands_alone = match char {
            '.' if dots > 1 => true,
            '.' => ends_sentence(&chars[place + 1..], &part, is_last),
            '-' => dashes > 1,
            ',' | ':' => !next.is_some_and(char::is_ascii_digit),
            '\'' => part.is_empty() || next.is_none_or(|c| !c.is_alphanumeric()),
            _ => MARKS.contains(char),
        };
        if stands_alone && !(char == '\'' && begins_ending(&chars[place..])) {
            finish(&mut part, tokens);
            tokens.push(chars[place..place + length].iter().collect());
        } else {
            part.extend(&chars[place..place + length]);
        }
        place += length;
    }
    finish(&mut part, tokens);
}

/// Whether what begins with an apostrophe is one of the short forms.
fn begins_ending(rest: &[char]) -> bool {
    let rest: String = rest.iter().collect::<String>().to_lowercase();
    ENDINGS.contains(&&rest[..])
}

/// Whether a full stop before `rest` and behind `part` ends a sentence.
fn ends_sentence(rest: &[char], part: &str, is_last: bool) -> bool {
    let closes = rest.iter().all(|c| ")]}>\"'»”’".contains(*c));
    let is_word = part.chars().count() > 1 && part.chars().all(char::is_lowercase);
    closes && (is_last || is_word)
}

/// Adds a word to the tokens, its short form apart.
fn finish(part: &mut String, tokens: &mut Vec<String>) {
    let word = std::mem::take(part);
    if word.is_empty() {
        return;
    }
    let lower = word.to_lowercase();
    if lower == "cannot" {
        let (can, not) = word.split_at(3);
        tokens.extend([can.to_owned(), not.to_owned()]);
        return;
    }
    let ending = ENDINGS
        .into_iter()
        .find(|e| lower.ends_with(e) && lower.len() > e.len());
    match ending.filter(|_| lower.len() == word.len()) {
        Some(ending) => {
            let (stem, short) = word.split_at(word.len() - ending.len());
            tokens.extend([stem.to_owned(), short.to_owned()]);
        }
        None => tokens.push(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As NLTK 3.10 divides these, but for the full stop of the first of two sentences.
    #[test]
    fn texts_are_divided_as_by_nltk() {
        for (text, expected) in [
            ("What does he want?", "What|does|he|want|?"),
            (
                "In which year, John F. Kennedy died?",
                "In|which|year|,|John|F.|Kennedy|died|?",
            ),
            (
                "I don't think it's 1,000 (or so).",
                "I|do|n't|think|it|'s|1,000|(|or|so|)|.",
            ),
            (
                "Don't! We'll go at 10:30...",
                "Do|n't|!|We|'ll|go|at|10:30|...",
            ),
            (
                "It rained. You cannot go, dogs' owners",
                "It|rained|.|You|can|not|go|,|dogs|'|owners",
            ),
            (
                "well-known U.S. law -- it's",
                "well-known|U.S.|law|--|it|'s",
            ),
            (
                "it's at x@y.com: $5.50, 100% a/b",
                "it|'s|at|x|@|y.com|:|$|5.50|,|100|%|a/b",
            ),
            ("", ""),
        ] {
            assert_eq!(tokens(text).join("|"), expected, "{text}");
        }
    }
}
