//! Self-attention over a part of a batch: heads apart, softmax, heads together.

use candle_core::{Result, Tensor};

use super::coins::Coins;
use super::layers::{Linear, softmax};
use super::rows::Part;

/// The projections of self-attention.
pub(super) struct Projections {
    pub(super) heads: usize,
    pub(super) query: Linear,
    pub(super) key: Linear,
    pub(super) value: Linear,
    /// The share of attention that is dropped in training.
    pub(super) dropout: f64,
}

impl Projections {
    /// `layer`'s output with the heads apart: `[heads × texts·longest × width]`.
    pub(super) fn apart(&self, layer: &Linear, x: &Tensor) -> Result<Tensor> {
        let (rows, _) = x.dims2()?;
        layer
            .of(x)?
            .reshape((rows, self.heads, ()))?
            .transpose(0, 1)?
            .contiguous()
    }

    /// What the tokens of each text see of each other, `[texts·longest × hidden]`, for scores
    /// `[heads × texts × longest × longest]`.
    pub(super) fn see(
        &self,
        x: &Tensor,
        scores: &Tensor,
        part: &Part,
        coins: &mut Coins,
    ) -> Result<Tensor> {
        let shares = match &part.mask {
            None => softmax(scores)?,
            Some(mask) => softmax(&scores.broadcast_add(mask)?)?,
        };
        let shares = coins.dropout(&shares, self.dropout)?;
        let values = part.by_text(&self.apart(&self.value, x)?)?;
        let rows = part.texts * part.longest;
        shares
            .matmul(&values)?
            .reshape((self.heads, rows, ()))?
            .transpose(0, 1)?
            .contiguous()?
            .reshape((rows, ()))
    }
}
