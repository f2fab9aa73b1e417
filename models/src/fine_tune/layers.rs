//! The layers of a transformer as compositions of operations that have gradients. States are `[tokens × width]`.
//!
//! candle's own fused softmax, LayerNorm and the like have none: a model that used them would train without a word, and
//! leave what is below them as it is.

use candle_core::{D, Result, Tensor};

use crate::kernel::activation::Activation;

/// y = x Wᵀ + b.
pub(super) struct Linear {
    /// `[outputs × inputs]`
    pub(super) weight: Tensor,
    /// `[outputs]`
    pub(super) bias: Tensor,
}

impl Linear {
    /// `[rows × inputs]` → `[rows × outputs]`.
    pub(super) fn of(&self, x: &Tensor) -> Result<Tensor> {
        x.matmul(&self.weight.t()?)?.broadcast_add(&self.bias)
    }
}

/// LayerNorm: (x − mean) / √(variance + ε) · w + b along the last dimension.
pub(super) struct Norm {
    pub(super) weight: Tensor,
    pub(super) bias: Tensor,
    pub(super) epsilon: f64,
}

impl Norm {
    /// `[rows × width]` → `[rows × width]`.
    pub(super) fn of(&self, x: &Tensor) -> Result<Tensor> {
        let centred = x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?;
        let deviation = (centred.sqr()?.mean_keepdim(D::Minus1)? + self.epsilon)?.sqrt()?;
        centred
            .broadcast_div(&deviation)?
            .broadcast_mul(&self.weight)?
            .broadcast_add(&self.bias)
    }
}

/// Softmax along the last dimension. The maximum is a constant: what it takes away it takes from all.
pub(super) fn softmax(x: &Tensor) -> Result<Tensor> {
    let largest = x.max_keepdim(D::Minus1)?.detach();
    let weights = x.broadcast_sub(&largest)?.exp()?;
    let total = weights.sum_keepdim(D::Minus1)?;
    weights.broadcast_div(&total)
}

/// Two layers with an activation between them.
pub(super) struct Feed {
    pub(super) up: Linear,
    pub(super) activation: Activation,
    pub(super) down: Linear,
}

impl Feed {
    pub(super) fn of(&self, x: &Tensor) -> Result<Tensor> {
        self.down.of(&self.activation.on_tensor(&self.up.of(x)?)?)
    }
}
