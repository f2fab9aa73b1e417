//! Texts as rows of tokens, and parts of a batch that are computed together.

use std::collections::HashMap;

use candle_core::{Device, Result, Tensor};

/// Most tokens of a part, pads included, unless one text alone has more: bounds the memory of a step.
pub(super) const TOKENS: usize = 512;

/// Added to the scores of pads: e to this power is 0.
const NEVER: f32 = -1e30;

/// Some texts, filled up to the longest of them.
pub(super) struct Part {
    pub(super) texts: usize,
    /// Tokens of the longest text.
    pub(super) longest: usize,
    /// `[texts × longest]`
    pub(super) ids: Vec<u32>,
    /// 0 for tokens and −10³⁰ for pads, `[1 × texts × 1 × longest]`; none where no text has pads.
    pub(super) mask: Option<Tensor>,
}

impl Part {
    /// The part with these rows, at least one, each with a token at least.
    pub(super) fn new(rows: &[&[u32]], pad: u32) -> Result<Self> {
        let longest = rows.iter().map(|row| row.len()).max().unwrap_or(0);
        let mut ids = Vec::with_capacity(rows.len() * longest);
        let mut mask = Vec::with_capacity(rows.len() * longest);
        for row in rows {
            ids.extend_from_slice(row);
            ids.resize(ids.len() + longest - row.len(), pad);
            mask.resize(mask.len() + row.len(), 0.0);
            mask.resize(mask.len() + longest - row.len(), NEVER);
        }
        let masked = mask.iter().any(|x| *x != 0.0);
        let mask =
            masked.then(|| Tensor::from_vec(mask, (1, rows.len(), 1, longest), &Device::Cpu));
        Ok(Self {
            texts: rows.len(),
            longest,
            ids,
            mask: mask.transpose()?,
        })
    }

    /// `[heads × texts·longest × width]` → `[heads × texts × longest × width]`.
    pub(super) fn by_text(&self, x: &Tensor) -> Result<Tensor> {
        let (heads, _, width) = x.dims3()?;
        x.reshape((heads, self.texts, self.longest, width))
    }

    /// The states of the first token of each text, `[texts × hidden]`, of those of all tokens.
    pub(super) fn first(&self, states: &Tensor) -> Result<Tensor> {
        states
            .reshape((self.texts, self.longest, ()))?
            .narrow(1, 0, 1)?
            .squeeze(1)?
            .contiguous()
    }
}

/// Divides rows into parts of similar length, by indices: the shortest first, each part with at most `tokens` tokens,
/// pads included, or one row.
pub(super) fn parts(rows: &[&[u32]], tokens: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|row| rows[*row].len());
    let mut parts: Vec<Vec<usize>> = Vec::new();
    for row in order {
        match parts.last_mut() {
            Some(part) if (part.len() + 1) * rows[row].len() <= tokens => part.push(row),
            _ => parts.push(vec![row]),
        }
    }
    parts
}

/// The tokens that some texts have, each with its place among them.
pub(super) struct Vocabulary {
    /// Sorted.
    pub(super) tokens: Vec<u32>,
    places: HashMap<u32, u32>,
}

impl Vocabulary {
    pub(super) fn of(rows: &[Vec<u32>], pad: u32) -> Self {
        let mut tokens: Vec<u32> = rows.iter().flatten().copied().chain([pad]).collect();
        tokens.sort_unstable();
        tokens.dedup();
        let places = tokens.iter().copied().zip(0..).collect();
        Self { tokens, places }
    }

    /// The place of a token, if a text has it.
    pub(super) fn place(&self, token: u32) -> Option<u32> {
        self.places.get(&token).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_hold_every_row_once_and_are_bounded() {
        let lengths = [9, 2, 40, 3, 3, 3, 10];
        let rows: Vec<Vec<u32>> = lengths.iter().map(|n| vec![7; *n]).collect();
        let rows: Vec<&[u32]> = rows.iter().map(Vec::as_slice).collect();
        assert_eq!(parts(&rows, 20), [vec![1, 3, 4, 5], vec![0, 6], vec![2]]);
        assert!(parts(&[], 20).is_empty());
        let part = Part::new(&[rows[1], rows[3]], 1).unwrap();
        assert_eq!(part.ids, [7, 7, 1, 7, 7, 7]);
        let mask = part.mask.unwrap().flatten_all().unwrap();
        assert_eq!(
            mask.to_vec1::<f32>().unwrap(),
            [0.0, 0.0, NEVER, 0.0, 0.0, 0.0]
        );
        assert!(Part::new(&[rows[3], rows[4]], 1).unwrap().mask.is_none());
    }
}
