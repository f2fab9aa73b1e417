//! The probability of a text that was written token by token, over all token sequences that write it.
//!
//! # Definition
//! P(text) = Σ Π_i P_i(t_i) over the sequences t_1 … t_n of released tokens that write the text. There can be several:
//! a word may be written whole or in pieces, and so may the first one. So a text reveals neither its tokens nor their
//! number, and the likelihood of the sequence that it is tokenised to is not the release's.
//!
//! # How it is computed
//! Tokens are written one after another, each adding its own characters, so the sum runs over positions in the text:
//! the mass of having written this many bytes with this many tokens.
//!
//! # Errors
//! If tokens of the vocabulary change the text before them, there is no such sum.

use std::collections::HashMap;

use teda_core::{Error, Result, TokenMap};

/// Tokens by what they add to a text, as indices among the released ones.
type Additions = HashMap<String, Vec<usize>>;

/// What each released token of a vocabulary writes.
pub struct Spelling {
    /// At the beginning of a text.
    first: Additions,
    /// After other tokens.
    later: Additions,
    /// Bytes of the longest addition.
    longest: usize,
}

impl Spelling {
    /// The spelling of the released tokens of `tokens`.
    ///
    /// # Errors
    /// Failed, if a token changes the text before it.
    pub fn new(tokens: &dyn TokenMap) -> Result<Self> {
        let (mut first, mut later) = (Additions::new(), Additions::new());
        let released = tokens.released();
        let before = released.first().map(|t| tokens.detokenize(&[*t]));
        for (place, token) in released.iter().enumerate() {
            let pair = tokens.detokenize(&[released[0], *token]);
            let addition = before
                .as_ref()
                .and_then(|before| pair.strip_prefix(&before[..]));
            let addition = addition.ok_or_else(|| {
                Error::failed(format!(
                    "token {token} of the vocabulary is not written behind another as '{pair}' shows: \
                     the likelihood of a text cannot be computed"
                ))
            })?;
            later.entry(addition.to_owned()).or_default().push(place);
            let alone = tokens.detokenize(&[*token]);
            first.entry(alone).or_default().push(place);
        }
        let longest = first.keys().chain(later.keys()).map(String::len).max();
        Ok(Self {
            first,
            later,
            longest: longest.unwrap_or(0),
        })
    }

    /// ln of the probability that `count` tokens write `text`, where `ln_probability(i, place)` is that of the i-th
    /// being the released token at index `place`; −∞ if no sequence of that many tokens writes it.
    pub fn ln_probability(
        &self,
        text: &str,
        count: usize,
        ln_probability: impl Fn(usize, usize) -> f64,
    ) -> f64 {
        let later: Vec<_> = (0..=text.len())
            .map(|start| self.additions(&self.later, text, start))
            .collect();
        let first = self.additions(&self.first, text, 0);
        let mut written = vec![f64::NEG_INFINITY; text.len() + 1];
        written[0] = 0.0;
        for i in 0..count {
            let mut next = vec![f64::NEG_INFINITY; text.len() + 1];
            for (start, mass) in written.iter().enumerate() {
                if *mass == f64::NEG_INFINITY {
                    continue;
                }
                let additions = if i == 0 { &first } else { &later[start] };
                for (end, places) in additions {
                    for place in *places {
                        let more = mass + ln_probability(i, *place);
                        next[*end] = ln_sum(next[*end], more);
                    }
                }
            }
            written = next;
        }
        written[text.len()]
    }

    /// Which tokens can be written at byte `start` of `text`, by the byte at which they end.
    fn additions<'a>(
        &self,
        additions: &'a Additions,
        text: &str,
        start: usize,
    ) -> Vec<(usize, &'a [usize])> {
        let ends = start..=text.len().min(start + self.longest);
        ends.filter_map(|end| {
            let addition = text.get(start..end)?;
            Some((end, &additions.get(addition)?[..]))
        })
        .collect()
    }
}

/// ln(eᵃ + eᵇ).
pub fn ln_sum(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY {
        return high;
    }
    high + (low - high).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ndarray::{Array2, ArrayView2};

    use super::*;

    /// Whole words and pieces of words, marked as continuations by "##".
    struct Pieces(Array2<f32>);

    const NAMES: [&str; 6] = ["a", "b", "ab", "##a", "##b", "é"];

    impl TokenMap for Pieces {
        fn tokenize(&self, _: &str) -> Vec<u32> {
            unreachable!("texts are only written")
        }

        fn detokenize(&self, tokens: &[u32]) -> String {
            let mut text = String::new();
            for token in tokens {
                let name = NAMES[*token as usize];
                match name.strip_prefix("##") {
                    Some(piece) => text += piece,
                    None if text.is_empty() => text += name,
                    None => text += &[" ", name].concat(),
                }
            }
            text
        }

        fn vectors(&self) -> ArrayView2<'_, f32> {
            self.0.view()
        }

        /// Without "b", so that indices differ from tokens.
        fn released(&self) -> &[u32] {
            &[0, 2, 3, 4, 5]
        }
    }

    /// An arbitrary distribution, different at each position.
    fn probability(i: usize, place: usize) -> f64 {
        let weight = |place: usize| 1.0 + ((7 * i + 3 * place) % 5) as f64;
        weight(place) / (0..5).map(weight).sum::<f64>()
    }

    #[test]
    fn it_is_the_sum_over_all_rows_that_write_the_text() {
        let pieces = Pieces(Array2::zeros((6, 1)));
        let spelling = Spelling::new(&pieces).unwrap();
        let mut merged = 0;
        for count in 0_usize..=4 {
            let mut exact: BTreeMap<String, f64> = BTreeMap::new();
            for number in 0..5_usize.pow(count as u32) {
                let row: Vec<usize> = (0..count)
                    .map(|i| number / 5_usize.pow(i as u32) % 5)
                    .collect();
                let tokens: Vec<u32> = row.iter().map(|p| pieces.released()[*p]).collect();
                let product: f64 = row
                    .iter()
                    .enumerate()
                    .map(|(i, p)| probability(i, *p))
                    .product();
                let text = pieces.detokenize(&tokens);
                merged += usize::from(exact.contains_key(&text));
                *exact.entry(text).or_default() += product;
            }
            for (text, expected) in exact {
                let found = spelling.ln_probability(&text, count, |i, p| probability(i, p).ln());
                assert!(
                    (found.exp() / expected - 1.0).abs() < 1e-12,
                    "'{text}' of {count}: {}, not {expected}",
                    found.exp()
                );
            }
            for text in ["a  a", "a ", " a", "x", "aaaaa"] {
                let found = spelling.ln_probability(text, count, |i, p| probability(i, p).ln());
                assert_eq!(found, f64::NEG_INFINITY, "'{text}' of {count}");
            }
        }
        assert!(merged > 100, "only {merged} rows shared a text");
    }
}
