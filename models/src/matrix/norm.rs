//! LayerNorm and RMSNorm over rows, or over equal parts of each row.

use candle_core::{Device, Tensor};
use teda_core::Result;

use super::{Matrix, failed};
use crate::kernel;

/// LayerNorm with a bias, RMSNorm without.
pub(crate) struct Norm(pub(crate) kernel::normalise::Norm);

impl Norm {
    pub(crate) fn new(weight: Vec<f32>, bias: Option<Vec<f32>>, epsilon: f32) -> Self {
        Self(kernel::normalise::Norm {
            weight,
            bias,
            epsilon,
        })
    }

    /// Normalises every row, or every head of each row if the norm is as wide as a head.
    pub(crate) fn apply(&self, x: Matrix) -> Result<Matrix> {
        match x {
            Matrix::Host {
                mut values,
                columns,
            } => {
                self.0.apply(&mut values);
                Ok(Matrix::Host { values, columns })
            }
            Matrix::Device(x) => self.on_device(&x).map(Matrix::Device).map_err(failed),
        }
    }

    fn on_device(&self, x: &Tensor) -> candle_core::Result<Tensor> {
        let on = |values: &[f32], device: &Device| Tensor::new(values, device);
        let parts = x.reshape(((), self.0.weight.len()))?;
        let weight = on(&self.0.weight, x.device())?;
        let y = match &self.0.bias {
            Some(bias) => {
                let bias = on(bias, x.device())?;
                candle_nn::ops::layer_norm(&parts, &weight, &bias, self.0.epsilon)?
            }
            None => candle_nn::ops::rms_norm(&parts, &weight, self.0.epsilon)?,
        };
        y.reshape(x.shape())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{agree, numbers};
    use super::*;

    #[test]
    fn both_backends_agree() {
        for bias in [None, Some(numbers(8, 4))] {
            let norm = Norm::new(numbers(8, 1), bias, 1e-5);
            agree(|backend| norm.apply(backend.matrix(numbers(5 * 24, 0), 24)?));
        }
    }
}
