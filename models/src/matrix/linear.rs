//! The linear layer y = x Wᵀ + b.

use std::ops::Range;

use candle_core::{Device, Tensor};
use teda_core::Result;

use super::{Backend, Matrix, failed, mixed, tensor};
use crate::kernel;

/// A linear layer, `[rows × inputs]` → `[rows × outputs]`.
pub(crate) enum Linear {
    Packed(kernel::linear::Linear),
    /// Wᵀ `[inputs × outputs]` and b `[1 × outputs]`.
    Tensors(Tensor, Tensor),
}

impl Linear {
    /// A layer with `weight` `[outputs × inputs]`, row by row, and `bias` `[outputs]`, 0 if absent.
    pub(crate) fn new(
        backend: &Backend,
        inputs: usize,
        weight: Vec<f32>,
        bias: Option<Vec<f32>>,
    ) -> Result<Self> {
        let outputs = weight.len() / inputs;
        let bias = bias.unwrap_or_else(|| vec![0.0; outputs]);
        match backend {
            Backend::Kernels(bf16) => Ok(Self::Packed(kernel::linear::Linear::new(
                *bf16,
                inputs,
                weight.chunks_exact(inputs),
                &bias,
            ))),
            Backend::Candle(device) => {
                // Transposed once, so that every product reads it in order.
                let weight = tensor(weight, inputs, device)?;
                let weight = weight.t().and_then(|t| t.contiguous()).map_err(failed)?;
                Ok(Self::Tensors(weight, tensor(bias, outputs, device)?))
            }
        }
    }

    pub(crate) fn outputs(&self) -> usize {
        match self {
            Self::Packed(layer) => layer.outputs(),
            Self::Tensors(_, bias) => bias.elem_count(),
        }
    }

    pub(crate) fn apply(&self, x: &Matrix) -> Result<Matrix> {
        self.apply_by(kernel::linear::Linear::apply, x)
    }

    /// [`Linear::apply`] in less time where most of `x` is 0, as behind a ReLU.
    pub(crate) fn apply_sparse(&self, x: &Matrix) -> Result<Matrix> {
        self.apply_by(kernel::linear::Linear::apply_sparse, x)
    }

    fn apply_by(
        &self,
        packed: fn(&kernel::linear::Linear, &[f32]) -> Vec<f32>,
        x: &Matrix,
    ) -> Result<Matrix> {
        match (self, x) {
            (Self::Packed(layer), Matrix::Host { values, .. }) => Ok(Matrix::Host {
                values: packed(layer, values),
                columns: layer.outputs(),
            }),
            (Self::Tensors(weight, bias), Matrix::Device(x)) => x
                .matmul(weight)
                .and_then(|y| y.broadcast_add(bias))
                .map(Matrix::Device)
                .map_err(failed),
            _ => Err(mixed()),
        }
    }

    /// The outputs `wanted` alone, `[rows × wanted]`, for `x` `[rows × inputs]`.
    pub(crate) fn apply_some(&self, x: &[f32], wanted: Range<usize>) -> Result<Vec<f32>> {
        match self {
            Self::Packed(layer) => Ok(layer.apply_some(x, wanted)),
            Self::Tensors(weight, bias) => {
                let inputs = weight.dim(0).map_err(failed)?;
                let x = tensor(x.to_vec(), inputs, weight.device())?;
                let weight = weight.narrow(1, wanted.start, wanted.len());
                let bias = bias.narrow(1, wanted.start, wanted.len());
                weight
                    .and_then(|weight| x.matmul(&weight.contiguous()?)?.broadcast_add(&bias?))
                    .and_then(|y| y.flatten_all()?.to_vec1())
                    .map_err(failed)
            }
        }
    }

    /// The weights of some outputs, `[chosen × inputs]`: the rows of an embedding table that is tied
    /// to this layer.
    pub(crate) fn weights(&self, chosen: &[u32]) -> Result<Vec<f32>> {
        match self {
            Self::Packed(layer) => {
                let mut rows = vec![0.0; chosen.len() * layer.inputs()];
                for (row, output) in rows.chunks_exact_mut(layer.inputs()).zip(chosen) {
                    layer.add_weights(*output as usize, 1.0, row);
                }
                Ok(rows)
            }
            Self::Tensors(weight, _) => Tensor::new(chosen, weight.device())
                .and_then(|chosen| weight.index_select(&chosen, 1)?.t()?.flatten_all())
                .and_then(|rows| rows.to_device(&Device::Cpu)?.to_vec1())
                .map_err(failed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{agree, numbers};
    use super::*;

    #[test]
    fn both_backends_agree() {
        let layer = |backend: &Backend| {
            Linear::new(backend, 7, numbers(7 * 40, 3), Some(numbers(40, 1))).unwrap()
        };
        agree(|backend| layer(backend).apply(&backend.matrix(numbers(3 * 7, 2), 7)?));
        agree(|backend| layer(backend).apply_sparse(&backend.matrix(numbers(3 * 7, 2), 7)?));
        agree(|backend| backend.matrix(layer(backend).weights(&[39, 0, 5])?, 7));
        agree(|backend| backend.matrix(layer(backend).apply_some(&numbers(3 * 7, 2), 5..9)?, 4));
        let layer = layer(&Backend::F32);
        assert_eq!(layer.outputs(), 40);
        assert_eq!(layer.weights(&[1]).unwrap(), numbers(14, 3)[7..]);
    }
}
