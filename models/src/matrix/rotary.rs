//! Rotary position embedding.

use candle_core::Tensor;
use teda_core::Result;

use super::{Matrix, failed, tensor};
use crate::kernel;

/// Rotates each head by its row's position.
pub(crate) struct Rotary {
    table: kernel::rotary::Rotary,
    half: usize,
}

impl Rotary {
    /// A table for `positions` positions and half as many frequencies as a head is wide.
    pub(crate) fn new(frequencies: &[f32], positions: usize) -> Self {
        Self {
            table: kernel::rotary::Rotary::new(frequencies, positions),
            half: frequencies.len(),
        }
    }

    /// `x` `[rows × heads·width]` with row i rotated by `positions[i]`.
    pub(crate) fn apply(&self, x: Matrix, positions: &[usize]) -> Result<Matrix> {
        match x {
            Matrix::Host {
                mut values,
                columns,
            } => {
                self.table.apply(&mut values, positions);
                Ok(Matrix::Host { values, columns })
            }
            Matrix::Device(x) => {
                let (cosines, sines) = self.table.rows(positions);
                let cosines = tensor(cosines, self.half, x.device())?;
                let sines = tensor(sines, self.half, x.device())?;
                turn(&x, &cosines, &sines)
                    .map(Matrix::Device)
                    .map_err(failed)
            }
        }
    }
}

fn turn(x: &Tensor, cosines: &Tensor, sines: &Tensor) -> candle_core::Result<Tensor> {
    let (rows, half) = cosines.dims2()?;
    let heads = x.dim(1)? / (2 * half);
    // candle takes [batch, heads, time, width].
    let by_head = x
        .reshape((1, rows, heads, 2 * half))?
        .transpose(1, 2)?
        .contiguous()?;
    candle_nn::rotary_emb::rope(&by_head, cosines, sines)?
        .transpose(1, 2)?
        .contiguous()?
        .reshape(x.shape())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{agree, numbers};
    use super::*;

    #[test]
    fn both_backends_agree() {
        let rotary = Rotary::new(&[1.0, 0.3, 0.01], 9);
        agree(|backend| rotary.apply(backend.matrix(numbers(3 * 12, 0), 12)?, &[8, 0, 3]));
    }
}
