//! The words of a text, for its parts of speech.

/// English clitics, which are words of their own.
const CLITICS: [&str; 7] = ["n't", "'s", "'re", "'ve", "'ll", "'m", "'d"];

/// Runs of letters and digits, joined by single hyphens or apostrophes, with clitics apart; any other character that is
/// not white space is one word. `scripts/models/tagger_words.py` divides in the same way.
pub fn words(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = match first.is_alphanumeric() {
            true => run(rest),
            false => first.len_utf8(),
        };
        let (word, after) = rest.split_at(end);
        let (stem, clitic) = word.split_at(word.len() - clitic(word));
        found.extend([stem, clitic].into_iter().filter(|part| !part.is_empty()));
        rest = after.trim_start();
    }
    found
}

/// Bytes of the run that `text` begins with.
fn run(text: &str) -> usize {
    let mut letters = text.char_indices().peekable();
    while let Some((place, letter)) = letters.next() {
        let joins = matches!(letter, '-' | '\'' | '’')
            && letters
                .peek()
                .is_some_and(|(_, next)| next.is_alphanumeric());
        if !letter.is_alphanumeric() && !joins {
            return place;
        }
    }
    text.len()
}

/// Bytes of the clitic that `word` ends with, if more comes before it.
fn clitic(word: &str) -> usize {
    let is_own = |tail: &str, clitic: &str| tail.to_lowercase().replace('’', "'") == clitic;
    let tails = word.char_indices().map(|(place, _)| &word[place..]).skip(1);
    let clitics = tails.filter(|tail| CLITICS.iter().any(|clitic| is_own(tail, clitic)));
    clitics.map(str::len).next().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_clitics_and_all_else() {
        for (text, expected) in [
            ("", &[][..]),
            (" \n", &[]),
            (
                "He didn't, I'm sure!",
                &["He", "did", "n't", ",", "I", "'m", "sure", "!"],
            ),
            (
                "it’s a well-known 'fact' -",
                &["it", "’s", "a", "well-known", "'", "fact", "'", "-"],
            ),
            ("n't 's", &["n't", "'", "s"]),
            ("😀é9", &["😀", "é9"]),
        ] {
            assert_eq!(words(text), expected, "{text:?}");
        }
    }
}
