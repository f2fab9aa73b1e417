//! The sentences of a text.
//!
//! # Definition
//! A sentence ends after a word that ends with `.`, `!` or `?`, with or without closing quotes and brackets after it,
//! if the next word begins with no lower-case letter and the word is no abbreviation: a title, a single letter, or
//! letters with full stops between them.

/// Titles and other words that are followed by a name or a number, in lower case without their full stop.
const ABBREVIATIONS: &[&str] = &[
    "al", "approx", "capt", "cf", "co", "col", "corp", "dept", "dr", "e.g", "etc", "fig", "gen",
    "gov", "i.e", "inc", "jr", "lt", "ltd", "messrs", "mr", "mrs", "ms", "mt", "no", "prof", "rev",
    "sen", "sgt", "sr", "st", "vs",
];

/// Characters that may follow the end of a sentence before the space.
pub(super) const CLOSERS: [char; 10] = [']', ')', '}', '>', '"', '\'', '»', '”', '’', '“'];

/// The sentences of `text`, in order, each a part of it.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let ends = words.peek().is_some_and(|next| is_end(word, next));
        if ends {
            // Both are parts of the same text.
            let end = word.as_ptr() as usize - text.as_ptr() as usize + word.len();
            found.push(&text[start..end]);
            start = end;
        }
    }
    found.push(&text[start..]);
    found
}

fn is_end(word: &str, next: &str) -> bool {
    let bare = word.trim_end_matches(CLOSERS);
    let Some(last) = bare.chars().last().filter(|c| ".!?".contains(*c)) else {
        return false;
    };
    let first = next
        .trim_start_matches(|c: char| !c.is_alphanumeric())
        .chars()
        .next();
    if first.is_some_and(char::is_lowercase) {
        return false;
    }
    last != '.' || !is_abbreviation(bare.trim_end_matches('.'))
}

fn is_abbreviation(word: &str) -> bool {
    let word = word
        .trim_start_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase();
    let letters = |part: &str| part.chars().count() == 1 && part.chars().all(char::is_alphabetic);
    ABBREVIATIONS.binary_search(&&word[..]).is_ok()
        || (!word.is_empty() && word.split('.').all(letters))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_where_a_reader_ends_them() {
        let text =
            "Dr. Smith came. He said: \"Never.\" \"Why?\" asked J. R. at 3 p.m. sharp.  U.S. law";
        let expected = [
            "Dr. Smith came.",
            " He said: \"Never.\"",
            " \"Why?\" asked J. R. at 3 p.m. sharp.",
            "  U.S. law",
        ];
        assert_eq!(sentences(text), expected);
        assert_eq!(sentences(""), [""]);
        assert_eq!(sentences(" . . "), [" .", " . "]);
    }

    #[test]
    fn the_list_is_sorted() {
        assert!(ABBREVIATIONS.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
