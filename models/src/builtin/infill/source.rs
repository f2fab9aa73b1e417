//! A text split into units and tokenised, ready for masking.

use std::collections::HashMap;

use teda_core::Result;
use tokenizers::Tokenizer;

use super::units::{self, Unit};
use crate::checkpoint::encode;

/// Tokens of units seen before.
pub(super) type Cache<'a> = HashMap<Unit<'a>, Vec<u32>>;

/// A text ready for masking.
pub(super) struct Source<'a> {
    pub(super) text: &'a str,
    pub(super) units: Vec<Unit<'a>>,
    /// Indices of the maskable units; only of the masks if the text has any.
    pub(super) maskable: Vec<usize>,
    /// Whether the text marks by masks which words are to be drawn.
    pub(super) marked: bool,
    /// Tokens of all units, one after the other.
    pieces: Vec<u32>,
    /// Where each unit ends in `pieces`.
    ends: Vec<usize>,
}

impl<'a> Source<'a> {
    /// Splits `text` and tokenises each unit separately, with a space before it if it comes first or after white
    /// space.
    ///
    /// # Errors
    /// If the tokenizer fails.
    pub(super) fn read(
        tokenizer: &Tokenizer,
        text: &'a str,
        cache: &mut Cache<'a>,
    ) -> Result<Self> {
        let mut source = Self {
            text,
            units: units::split(text),
            maskable: Vec::new(),
            marked: false,
            pieces: Vec::new(),
            ends: Vec::new(),
        };
        source.marked = source.units.iter().any(Unit::mask);
        for (index, unit) in source.units.iter().enumerate() {
            if !cache.contains_key(unit) {
                cache.insert(*unit, tokenize(tokenizer, unit)?);
            }
            source.pieces.extend_from_slice(&cache[unit]);
            source.ends.push(source.pieces.len());
            if unit.mask() || (unit.maskable() && !source.marked) {
                source.maskable.push(index);
            }
        }
        Ok(source)
    }

    /// The tokens of a unit.
    pub(super) fn pieces(&self, unit: usize) -> &[u32] {
        let start = unit.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.pieces[start..self.ends[unit]]
    }

    /// Number of tokens.
    pub(super) fn length(&self) -> usize {
        self.pieces.len()
    }
}

fn tokenize(tokenizer: &Tokenizer, unit: &Unit<'_>) -> Result<Vec<u32>> {
    let space = if unit.spaced { " " } else { "" };
    encode(tokenizer, &format!("{space}{}", unit.text), false)
        .map_err(|e| e.context(format!("tokenising '{}'", unit.text)))
}
