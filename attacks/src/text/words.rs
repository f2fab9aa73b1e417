//! Words, and what two texts share of them.

use unicode_normalization::char::is_combining_mark;

use super::hash::{hash, mix};

/// The words of a text as hashes, in order: the longest runs of letters, digits and combining marks, in
/// lower case.
pub fn words(text: &str) -> Vec<u64> {
    let belongs = |c: char| c.is_alphanumeric() || (!c.is_ascii() && is_combining_mark(c));
    text.split(|c: char| !belongs(c))
        .filter(|word| !word.is_empty())
        .map(lower)
        .collect()
}

/// The hash of a word in lower case.
fn lower(word: &str) -> u64 {
    if word.is_ascii() {
        return hash(word.bytes().map(|byte| byte.to_ascii_lowercase()));
    }
    let mut buffer = [0; 4];
    let mut bytes = Vec::with_capacity(word.len());
    for c in word.chars().flat_map(char::to_lowercase) {
        bytes.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
    }
    hash(bytes)
}

/// Each pair of neighbouring words as one hash, in order.
pub fn bigrams(words: &[u64]) -> Vec<u64> {
    let both = |pair: &[u64]| mix(pair[0].rotate_left(17) ^ pair[1]);
    words.windows(2).map(both).collect()
}

/// The items sorted, each once.
pub(crate) fn distinct(mut items: Vec<u64>) -> Vec<u64> {
    items.sort_unstable();
    items.dedup();
    items
}

/// The items that two sorted sequences share.
pub(crate) fn shared<'a>(a: &'a [u64], b: &'a [u64]) -> impl Iterator<Item = u64> + 'a {
    let mut b = b.iter().copied().peekable();
    a.iter().copied().filter(move |item| {
        while b.next_if(|other| other < item).is_some() {}
        b.peek() == Some(item)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_runs_of_letters_and_digits_whatever_their_case() {
        assert_eq!(words("Play it, PLAY 4!"), words("play IT play 4"));
        assert_eq!(words("E\u{301}t\u{e9}").len(), 1);
        assert!(words(" .,\u{a0}").is_empty());
        assert_eq!(bigrams(&words("a b a b")).len(), 3);
        assert_eq!(distinct(bigrams(&words("a b a b"))).len(), 2);
        assert!(bigrams(&[]).is_empty());
    }

    #[test]
    fn what_is_shared_is_in_both() {
        let found: Vec<u64> = shared(&[1, 3, 5, 9], &[0, 3, 4, 9, 11]).collect();
        assert_eq!(found, [3, 9]);
        assert_eq!(shared(&[], &[1]).count() + shared(&[1], &[]).count(), 0);
    }
}
