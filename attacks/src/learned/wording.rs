//! Which words candidate and release share, and where they are.

use super::profile::Profile;
use super::sheet::Sheet;
use crate::text::{Rarity, shared};

/// Most words of a text that are searched for common runs: the work is this squared.
const RUN: usize = 256;

/// Compares candidate and release.
pub(super) fn compare(c: &Profile, r: &Profile, rarity: &Rarity, sheet: &mut Sheet) {
    let both: Vec<u64> = shared(&c.distinct, &r.distinct).collect();
    let (n, c_n, r_n) = (
        both.len() as f64,
        c.distinct.len() as f64,
        r.distinct.len() as f64,
    );
    sheet.put("the number of words that both have{}", "", n);
    sheet.put(
        "the share of all words that both have{}",
        "",
        ratio(n, c_n + r_n - n),
    );
    sheet.put(
        "the share of the release's words that the candidate has{}",
        "",
        ratio(n, r_n),
    );
    sheet.put(
        "the share of the candidate's words that the release has{}",
        "",
        ratio(n, c_n),
    );
    sheet.evidence("both share a word{}", "", n > 0.0);

    let idf = |words: &[u64]| words.iter().map(|w| rarity.of_word(*w)).sum::<f64>();
    let (weight, c_weight, r_weight) = (idf(&both), idf(&c.distinct), idf(&r.distinct));
    sheet.put(
        "the words that both have, rare ones counting more{}",
        "",
        weight,
    );
    sheet.put(
        "the share of the release's words that the candidate has, rare ones counting more{}",
        "",
        ratio(weight, r_weight),
    );
    sheet.put(
        "the share of the candidate's words that the release has, rare ones counting more{}",
        "",
        ratio(weight, c_weight),
    );
    sheet.put("how rare the candidate's words are{}", "", c_weight);
    let rarest = both.iter().map(|w| rarity.of_word(*w)).fold(0.0, f64::max);
    sheet.put("how rare the rarest word is that both have{}", "", rarest);
    let rare = both.iter().filter(|w| rarity.is_rare(**w)).count() as f64;
    sheet.put("the number of rare words that both have{}", "", rare);
    sheet.evidence("both share a rare word{}", "", rare > 0.0);

    let pairs = shared(&c.bigrams, &r.bigrams).count() as f64;
    sheet.put(
        "the number of pairs of neighbouring words that both have{}",
        "",
        pairs,
    );
    sheet.put(
        "the share of pairs of neighbouring words that both have{}",
        "",
        ratio(pairs, (c.bigrams.len() + r.bigrams.len()) as f64 - pairs),
    );
    let numbers = shared(&c.numbers, &r.numbers).count() as f64;
    sheet.put(
        "the number of words with digits that both have{}",
        "",
        numbers,
    );
    sheet.put(
        "the share of words with digits that both have{}",
        "",
        ratio(
            numbers,
            (c.numbers.len() + r.numbers.len()) as f64 - numbers,
        ),
    );

    ends(&c.words, &r.words, sheet);
    let run = longest_run(&c.words, &r.words) as f64;
    sheet.put(
        "the number of words in the longest run that both have{}",
        "",
        run,
    );
    sheet.put(
        "the share of the release that is the longest run of words that both have{}",
        "",
        ratio(run, r.words.len() as f64),
    );
}

/// Compares the first and the last words, and those at the same position from either end.
fn ends(c: &[u64], r: &[u64], sheet: &mut Sheet) {
    let same = |a: Option<&u64>, b: Option<&u64>| a.is_some() && a == b;
    let holds = |texts: &[u64], word: Option<&u64>| word.is_some_and(|w| texts.contains(w));
    sheet.evidence(
        "the release's {} word is the candidate's",
        "first",
        same(c.first(), r.first()),
    );
    sheet.evidence(
        "the release's {} word is the candidate's",
        "second",
        same(c.get(1), r.get(1)),
    );
    sheet.evidence(
        "the release's {} word is the candidate's",
        "last",
        same(c.last(), r.last()),
    );
    sheet.evidence(
        "the release's {} word stands in the candidate",
        "first",
        holds(c, r.first()),
    );
    sheet.evidence(
        "the release's {} word stands in the candidate",
        "last",
        holds(c, r.last()),
    );
    sheet.evidence(
        "the candidate's {} word stands in the release",
        "first",
        holds(r, c.first()),
    );
    sheet.evidence(
        "the candidate's {} word stands in the release",
        "last",
        holds(r, c.last()),
    );
    let front = c.iter().zip(r).filter(|(a, b)| a == b).count();
    let back = c
        .iter()
        .rev()
        .zip(r.iter().rev())
        .filter(|(a, b)| a == b)
        .count();
    sheet.put(
        "the number of words at the same place from the {}",
        "beginning",
        front as f64,
    );
    sheet.put(
        "the number of words at the same place from the {}",
        "end",
        back as f64,
    );
}

/// Length of the longest run that both sequences have, among the first [`RUN`] items of each.
fn longest_run(a: &[u64], b: &[u64]) -> usize {
    longest_common(&a[..a.len().min(RUN)], &b[..b.len().min(RUN)])
}

/// Length of the longest run that both sequences have: |a|·|b| comparisons.
pub(super) fn longest_common<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    let mut longest = 0;
    let mut lengths = vec![0_usize; b.len() + 1];
    for x in a {
        // Backwards, so that the previous entry still holds the last row's length.
        for j in (0..b.len()).rev() {
            lengths[j + 1] = if *x == b[j] { lengths[j] + 1 } else { 0 };
            longest = longest.max(lengths[j + 1]);
        }
    }
    longest
}

/// a/b, 0 if b is 0.
pub(super) fn ratio(a: f64, b: f64) -> f64 {
    if b > 0.0 { a / b } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_run_is_found_wherever_it_stands() {
        assert_eq!(longest_common(b"xabcy", b"zzabcab"), 3);
        assert_eq!(longest_common(b"aaa", b"aa"), 2);
        assert_eq!(longest_common(b"", b"a") + longest_common(b"a", b""), 0);
    }
}
