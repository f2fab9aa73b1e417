//! The tokens that show a gap to a model.

use sha2::{Digest, Sha256};
use teda_core::{Error, Gap, Result};
use tokenizers::Tokenizer;

use crate::checkpoint::encode;
use crate::masked::Row;

/// The shortest window in which a text and its copy with a gap have a few tokens each.
pub(super) const SHORTEST_WINDOW: usize = 24;

/// Special tokens of the model.
pub(super) struct Special {
    begin: u32,
    end: u32,
    mask: u32,
}

impl Special {
    /// # Errors
    /// Failed, if the tokenizer lacks one.
    pub(super) fn of(tokenizer: &Tokenizer) -> Result<Self> {
        let token = |token: &str| {
            tokenizer.token_to_id(token).ok_or_else(|| {
                Error::failed(format!(
                    "the tokenizer has no token '{token}': it is not of RoBERTa's kind"
                ))
            })
        };
        Ok(Self {
            begin: token("<s>")?,
            end: token("</s>")?,
            mask: token("<mask>")?,
        })
    }
}

/// A gap as the model reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct GapRow {
    pub(super) tokens: Vec<u32>,
    /// The mask's place among them.
    mask: [usize; 1],
}

/// What a row is kept by.
pub(super) type Key = [u8; 32];

impl GapRow {
    /// The row of `gap` for a model that takes `window` tokens.
    ///
    /// # Errors
    /// If the tokenizer fails.
    pub(super) fn new(
        tokenizer: &Tokenizer,
        special: &Special,
        window: usize,
        gap: &Gap<'_>,
    ) -> Result<Self> {
        let tokens = |text: &str| match text.trim() {
            "" => Ok(Vec::new()),
            text => encode(tokenizer, &format!(" {text}"), false),
        };
        let whole = tokens(gap.whole)?;
        let mut masked = tokens(gap.before)?;
        let place = masked.len();
        masked.push(special.mask);
        masked.extend(tokens(gap.after)?);
        // The same tokens of both: the two differ only in the gap.
        let kept = around(place, masked.len(), (window - 8) / 2);
        let whole = &whole[kept.start.min(whole.len())..kept.end.min(whole.len())];
        let mut row = vec![special.begin];
        row.extend_from_slice(whole);
        row.extend([special.end, special.end]);
        let mask = [row.len() + place - kept.start];
        row.extend_from_slice(&masked[kept]);
        row.push(special.end);
        Ok(Self { tokens: row, mask })
    }

    /// The row with its question: what is at the mask?
    pub(super) fn asked(&self) -> Row<'_> {
        Row {
            tokens: &self.tokens,
            asked: &self.mask,
        }
    }

    pub(super) fn key(&self) -> Key {
        let mut digest = Sha256::new().chain_update((self.mask[0] as u64).to_le_bytes());
        for token in &self.tokens {
            digest.update(token.to_le_bytes());
        }
        digest.finalize().into()
    }
}

/// The part of `length` tokens around `place` that has at most `most` of them: half on either side, or more on one
/// side where the other ends.
fn around(place: usize, length: usize, most: usize) -> std::ops::Range<usize> {
    if length <= most {
        return 0..length;
    }
    let half = most / 2;
    let start = place.saturating_sub(half).min(length - 2 * half);
    start..start + 2 * half
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_contains_its_place_and_is_full() {
        assert_eq!(around(3, 10, 10), 0..10);
        for most in [4, 5, 9] {
            for place in 0..10 {
                let window = around(place, 10, most);
                assert!(window.contains(&place) && window.end <= 10, "{window:?}");
                assert_eq!(window.len(), most / 2 * 2);
            }
        }
        assert_eq!(around(5, 10, 4), 3..7);
    }
}
