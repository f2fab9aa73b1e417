//! Activation functions, plain and gated.

use candle_core::Tensor;
use teda_core::Result;

pub(crate) use crate::kernel::activation::Activation;

use super::{Matrix, failed};

impl Activation {
    /// f(x).
    pub(crate) fn of(self, x: Matrix) -> Result<Matrix> {
        match x {
            Matrix::Host {
                mut values,
                columns,
            } => {
                self.apply(&mut values);
                Ok(Matrix::Host { values, columns })
            }
            Matrix::Device(x) => self.on_tensor(&x).map(Matrix::Device).map_err(failed),
        }
    }

    /// f(gate)·up for rows `[gate | up]`.
    pub(crate) fn gated(self, x: Matrix) -> Result<Matrix> {
        match x {
            Matrix::Host { values, columns } => Ok(Matrix::Host {
                values: self.apply_gated(&values, columns / 2),
                columns: columns / 2,
            }),
            Matrix::Device(x) => x
                .chunk(2, 1)
                .and_then(|parts| self.on_tensor(&parts[0])? * &parts[1])
                .map(Matrix::Device)
                .map_err(failed),
        }
    }

    /// f(x) by operations that have gradients.
    pub(crate) fn on_tensor(self, x: &Tensor) -> candle_core::Result<Tensor> {
        match self {
            Self::Relu => x.relu(),
            Self::Gelu => x.gelu_erf(),
            Self::GeluNew => x.gelu(),
            Self::Silu => x.silu(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{agree, numbers};
    use super::*;

    #[test]
    fn both_backends_agree() {
        for kind in [
            Activation::Relu,
            Activation::Gelu,
            Activation::GeluNew,
            Activation::Silu,
        ] {
            agree(|backend| kind.of(backend.matrix(numbers(60, 0), 20)?));
            agree(|backend| kind.gated(backend.matrix(numbers(60, 0), 20)?));
        }
    }
}
