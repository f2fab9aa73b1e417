//! Matrices for transformers: in main memory, computed by the crate's own kernels, or candle tensors on another
//! device.
//!
//! Every operation has both implementations in one file, and tests compare them: the kernels are fast and give the
//! same bits in any batch (decision 5), candle's operations run wherever candle does (cargo features `cuda` and
//! `metal`, experimental: no graphics processor has run them yet).

pub(crate) mod activation;
pub(crate) mod attention;
pub(crate) mod linear;
pub(crate) mod norm;
pub(crate) mod rotary;

use candle_core::{Device, Tensor};
use teda_core::{Error, Result};

use crate::kernel;

/// Where a model is computed.
#[derive(Debug, Clone)]
pub enum Backend {
    /// The crate's own kernels, on the processor.
    Kernels,
    /// candle's operations on a device.
    Candle(Device),
}

impl Backend {
    /// A graphics processor if candle was built for one and finds it, otherwise the kernels.
    #[must_use]
    pub fn best() -> Self {
        let device = Device::cuda_if_available(0)
            .ok()
            .filter(|device| !device.is_cpu())
            .or_else(|| Device::new_metal(0).ok());
        device.map_or(Self::Kernels, Self::Candle)
    }

    /// Name for a manifest: `cpu`, `cuda` or `metal`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Candle(device) if device.is_cuda() => "cuda",
            Self::Candle(device) if device.is_metal() => "metal",
            Self::Kernels | Self::Candle(_) => "cpu",
        }
    }

    /// The matrix with `columns` columns and these values, row by row.
    pub(crate) fn matrix(&self, values: Vec<f32>, columns: usize) -> Result<Matrix> {
        match self {
            Self::Kernels => Ok(Matrix::Host { values, columns }),
            Self::Candle(device) => Ok(Matrix::Device(tensor(values, columns, device)?)),
        }
    }
}

/// A matrix `[rows × columns]` of `f32`.
pub(crate) enum Matrix {
    Host { values: Vec<f32>, columns: usize },
    Device(Tensor),
}

impl Matrix {
    /// The values, row by row.
    pub(crate) fn into_values(self) -> Result<Vec<f32>> {
        match self {
            Self::Host { values, .. } => Ok(values),
            Self::Device(tensor) => tensor
                .flatten_all()
                .and_then(|t| t.to_vec1())
                .map_err(failed),
        }
    }

    pub(crate) fn copy(&self) -> Result<Self> {
        match self {
            Self::Host { values, columns } => Ok(Self::Host {
                values: values.clone(),
                columns: *columns,
            }),
            Self::Device(tensor) => tensor.copy().map(Self::Device).map_err(failed),
        }
    }

    /// The sum of two matrices of the same shape.
    pub(crate) fn plus(mut self, other: &Self) -> Result<Self> {
        match (&mut self, other) {
            (Self::Host { values, .. }, Self::Host { values: other, .. }) => {
                for (x, y) in values.iter_mut().zip(other) {
                    *x += y;
                }
                Ok(self)
            }
            (Self::Device(a), Self::Device(b)) => Ok(Self::Device((&*a + b).map_err(failed)?)),
            _ => Err(mixed()),
        }
    }

    /// Every value multiplied by `factor`.
    pub(crate) fn times(self, factor: f32) -> Result<Self> {
        if factor == 1.0 {
            return Ok(self);
        }
        match self {
            Self::Host {
                mut values,
                columns,
            } => {
                values.iter_mut().for_each(|x| *x *= factor);
                Ok(Self::Host { values, columns })
            }
            Self::Device(tensor) => tensor
                .affine(f64::from(factor), 0.0)
                .map(Self::Device)
                .map_err(failed),
        }
    }

    /// Some rows, in the order given.
    pub(crate) fn select(&self, rows: &[usize]) -> Result<Self> {
        match self {
            Self::Host { values, columns } => {
                let mut selected = Vec::with_capacity(rows.len() * columns);
                for row in rows {
                    selected.extend_from_slice(&values[row * columns..][..*columns]);
                }
                Ok(Self::Host {
                    values: selected,
                    columns: *columns,
                })
            }
            Self::Device(tensor) => {
                let rows: Vec<u32> = rows.iter().map(|row| *row as u32).collect();
                Tensor::new(rows, tensor.device())
                    .and_then(|rows| tensor.index_select(&rows, 0))
                    .map(Self::Device)
                    .map_err(failed)
            }
        }
    }
}

pub(crate) fn tensor(values: Vec<f32>, columns: usize, device: &Device) -> Result<Tensor> {
    let rows = values.len() / columns;
    Tensor::from_vec(values, (rows, columns), device).map_err(failed)
}

pub(crate) fn failed(error: candle_core::Error) -> Error {
    Error::failed(format!("the model's device: {error}"))
}

/// Returns `values`, which a model computed, if they are finite.
///
/// # Errors
/// If one is not finite: drawing from them would be meaningless.
pub(crate) fn finite(what: &str, values: Vec<f32>) -> Result<Vec<f32>> {
    if kernel::math::all_finite(&values) {
        return Ok(values);
    }
    Err(Error::failed(format!(
        "the model's {what} are not all finite numbers: its weights or its configuration are damaged"
    )))
}

/// The error for parts of one model on different devices, which never happens.
pub(crate) fn mixed() -> Error {
    Error::failed("a model's matrices are on different devices")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const BOTH: [Backend; 2] = [Backend::Kernels, Backend::Candle(Device::Cpu)];

    pub(crate) fn numbers(count: usize, shift: usize) -> Vec<f32> {
        (0..count)
            .map(|i| (((i + shift) * 7919) % 1009) as f32 / 500.0 - 1.0)
            .collect()
    }

    /// Asserts that the results of `run` on both backends agree.
    pub(crate) fn agree(run: impl Fn(&Backend) -> Result<Matrix>) {
        let [ours, candle] = BOTH.map(|backend| run(&backend).unwrap().into_values().unwrap());
        assert_eq!(ours.len(), candle.len());
        for (i, (a, b)) in ours.iter().zip(&candle).enumerate() {
            assert!((a - b).abs() < 2e-5, "value {i}: {a} and {b}");
        }
    }

    #[test]
    fn sums_and_selections_agree() {
        agree(|backend| {
            let a = backend.matrix(numbers(21, 0), 7)?;
            let b = backend.matrix(numbers(21, 5), 7)?;
            a.plus(&b)?.select(&[2, 0, 2])
        });
    }
}
