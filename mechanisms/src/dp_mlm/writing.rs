//! The probability of a text whose words were drawn one by one, over all draws that write it.
//!
//! # Definition
//! P(text) = Σ Π_i P_i(w_i) over the words w_1 … w_n that write the text, one for each place: the place's own word if
//! it is copied, any word of the vocabulary, in the place's case, if it is drawn. P_i(w) = Σ P_i(t) over the tokens t
//! that write w. There are several such rows of words: a text does not show where a word ends, and a token may write
//! nothing.
//!
//! # How it is computed
//! What a word adds to a text depends on the text so far alone ([`Writer`]). So the sum runs over how much of the text
//! is written after each place.

use std::collections::{BTreeMap, HashMap};

use super::places::{Case, Place};
use crate::text::spelling::ln_sum;
use crate::text::treebank::Writer;

/// Tokens by the word that they write.
type Tokens = HashMap<String, Vec<u32>>;

/// Which tokens write a word, in each case.
pub struct Writings {
    by_case: BTreeMap<Case, Tokens>,
    /// Bytes of the longest word.
    longest: usize,
}

/// What a place may add to a text: the bytes written after it, the writer after it, and the tokens that do so.
type Addition<'a> = (usize, Writer, &'a [u32]);

impl Writings {
    /// The writings of a vocabulary, the word of each token given.
    pub fn new(words: &[String]) -> Self {
        let by_case = Case::ALL.map(|case| {
            let mut tokens = Tokens::new();
            for (token, word) in (0..).zip(words) {
                tokens
                    .entry(case.of(word).into_owned())
                    .or_default()
                    .push(token);
            }
            (case, tokens)
        });
        let lengths = by_case
            .iter()
            .flat_map(|(_, tokens)| tokens.keys().map(String::len));
        Self {
            longest: lengths.max().unwrap_or(0),
            by_case: BTreeMap::from(by_case),
        }
    }

    /// ln P(`text`), where `ln_probability(i, tokens)` is that of drawing one of `tokens` at the i-th place that is
    /// drawn; −∞ if the text cannot be written.
    pub fn ln_probability(
        &self,
        text: &str,
        places: &[Place],
        ln_probability: impl Fn(usize, &[u32]) -> f64,
    ) -> f64 {
        let mut additions: HashMap<(usize, Writer, Case), Vec<Addition<'_>>> = HashMap::new();
        let mut written = BTreeMap::from([((0, Writer::default()), 0.0)]);
        let mut index = 0;
        for place in places {
            let mut next: BTreeMap<(usize, Writer), f64> = BTreeMap::new();
            let mut add = |at: (usize, Writer), mass: f64| {
                let sum = next.entry(at).or_insert(f64::NEG_INFINITY);
                *sum = ln_sum(*sum, mass);
            };
            for ((end, writer), mass) in &written {
                match place.drawn {
                    None => {
                        let (addition, writer) = writer.add(&text[..*end], &place.word);
                        if text[*end..].starts_with(&*addition) {
                            add((end + addition.len(), writer), *mass);
                        }
                    }
                    Some(case) => {
                        let all = additions
                            .entry((*end, *writer, case))
                            .or_insert_with(|| self.additions(text, *end, *writer, case));
                        for (end, writer, tokens) in all {
                            add((*end, *writer), mass + ln_probability(index, tokens));
                        }
                    }
                }
            }
            index += usize::from(place.drawn.is_some());
            written = next;
        }
        written
            .into_iter()
            .filter(|((end, _), _)| *end == text.len())
            .fold(f64::NEG_INFINITY, |sum, (_, mass)| ln_sum(sum, mass))
    }

    /// The words that may be written after `text[..end]`.
    fn additions(&self, text: &str, end: usize, writer: Writer, case: Case) -> Vec<Addition<'_>> {
        let tokens = &self.by_case[&case];
        let mut found = Vec::new();
        let mut try_word = |word: &str| {
            let Some(tokens) = tokens.get(word) else {
                return;
            };
            let (addition, next) = writer.add(&text[..end], word);
            if text[end..].starts_with(&*addition) {
                found.push((end + addition.len(), next, &tokens[..]));
            }
        };
        try_word("");
        // Quotation marks are not written as they are drawn.
        try_word("``");
        try_word("''");
        let starts = [Some(end), text[end..].starts_with(' ').then_some(end + 1)];
        for start in starts.into_iter().flatten() {
            for stop in start + 1..=text.len().min(start + self.longest) {
                if let Some(word) = text.get(start..stop)
                    && word != "``"
                    && word != "''"
                    && writer.add(&text[..end], word).0.len() == stop - end
                {
                    try_word(word);
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::treebank::join;

    const WORDS: [&str; 9] = ["", "a", "A", "b", "ab", "``", "''", "(", "."];

    /// An arbitrary distribution over the tokens, different at each place.
    fn probability(place: usize, token: usize) -> f64 {
        let weight = |token: usize| 1.0 + ((7 * place + 3 * token) % 5) as f64;
        weight(token) / (0..WORDS.len()).map(weight).sum::<f64>()
    }

    /// Every row of draws, one after another, against the sum over places in the text.
    #[test]
    fn it_is_the_sum_over_all_draws_that_write_the_text() {
        let writings = Writings::new(&WORDS.map(String::from));
        let place = |word: &str, drawn| Place {
            word: word.to_owned(),
            drawn,
        };
        let (lower, capital, own) = (Some(Case::Lower), Some(Case::Capital), Some(Case::AsDrawn));
        let mut shared = 0;
        for places in [
            vec![],
            vec![place("the", None)],
            vec![place("x", lower), place("the", None), place("y", capital)],
            vec![
                place("x", own),
                place("y", own),
                place("a", None),
                place("z", own),
            ],
            vec![
                place("x", lower),
                place("y", lower),
                place("z", capital),
                place("z", lower),
            ],
        ] {
            let drawn = places.iter().filter(|place| place.drawn.is_some()).count();
            let mut exact: BTreeMap<String, f64> = BTreeMap::new();
            for number in 0..WORDS.len().pow(drawn as u32) {
                let (mut left, mut index, mut p) = (number, 0, 1.0);
                let words: Vec<String> = places
                    .iter()
                    .map(|place| match place.drawn {
                        None => place.word.clone(),
                        Some(case) => {
                            let token = left % WORDS.len();
                            left /= WORDS.len();
                            p *= probability(index, token);
                            index += 1;
                            case.of(WORDS[token]).into_owned()
                        }
                    })
                    .collect();
                let text = join(words.iter().map(|word| &word[..]));
                shared += usize::from(exact.contains_key(&text));
                *exact.entry(text).or_default() += p;
            }
            let ln = |place: usize, tokens: &[u32]| {
                let sum: f64 = tokens
                    .iter()
                    .map(|token| probability(place, *token as usize))
                    .sum();
                sum.ln()
            };
            for (text, p) in &exact {
                let found = writings.ln_probability(text, &places, ln).exp();
                assert!(
                    (found / p - 1.0).abs() < 1e-12,
                    "'{text}': {found}, not {p}"
                );
            }
            for text in ["c", " a", "a  a", "a the ", "\"\"\"\"\"\""] {
                if !exact.contains_key(text) {
                    assert_eq!(
                        writings.ln_probability(text, &places, ln),
                        f64::NEG_INFINITY,
                        "'{text}'"
                    );
                }
            }
        }
        assert!(shared > 500, "only {shared} rows of draws shared a text");
    }
}
