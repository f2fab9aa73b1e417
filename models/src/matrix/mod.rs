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

use std::str::FromStr;
use std::{fmt, result};

use candle_core::{Device, Tensor};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use teda_bf16::{Instructions, Products};
use teda_core::{Error, Result};

use crate::kernel;

/// The numbers that a model's linear layers multiply. Everything else is `f32`: sums, norms, attention.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Precision {
    /// Single precision.
    #[default]
    F32,
    /// bfloat16, by these instructions: half the memory, more speed, and bits that are theirs.
    Bf16(Instructions),
}

impl Precision {
    fn named(name: &str) -> Option<Self> {
        if name == "f32" {
            return Some(Self::F32);
        }
        let mut all = Instructions::ALL.into_iter();
        all.find(|instructions| instructions.name() == name)
            .map(Self::Bf16)
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::Bf16(instructions) => instructions.name(),
        })
    }
}

/// As [`Display`](fmt::Display) writes it; `bf16` stands for the fastest instructions of this processor.
impl FromStr for Precision {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "bf16" {
            let products = Products::detect().ok_or_else(|| lacking("bf16"))?;
            return Ok(Self::Bf16(products.instructions()));
        }
        let [first, second] = Instructions::ALL.map(Instructions::name);
        let known = ["f32", "bf16", first, second];
        Self::named(text).ok_or_else(|| Error::unknown("precision", text, &known))
    }
}

impl Serialize for Precision {
    fn serialize<S: Serializer>(&self, serializer: S) -> result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Runs are read wherever they were made. `bf16` is what those say that were made before there was more than one kind of
/// instructions.
impl<'de> Deserialize<'de> for Precision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> result::Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        if name == "bf16" {
            return Ok(Self::Bf16(Instructions::Avx512Bf16));
        }
        Self::named(&name).ok_or_else(|| de::Error::custom(format!("no such precision: {name:?}")))
    }
}

fn lacking(wanted: &str) -> Error {
    let have: Vec<String> = Instructions::ALL
        .into_iter()
        .filter_map(Products::of)
        .map(|products| format!("--precision {}, ", products.instructions().name()))
        .collect();
    Error::usage(format!(
        "this processor has no instructions for products in {wanted}: take {}--precision f32, or, for a run that was made with them, a machine that has them",
        have.concat()
    ))
}

/// Where a model is computed.
#[derive(Debug, Clone)]
pub enum Backend {
    /// The crate's own kernels, on the processor; the linear layers in bfloat16 if these are to be multiplied.
    Kernels(Option<Products>),
    /// candle's operations on a device.
    Candle(Device),
}

impl Backend {
    /// The kernels in single precision.
    pub const F32: Self = Self::Kernels(None);

    /// A graphics processor if candle was built for one and finds it, otherwise the kernels in single precision.
    #[must_use]
    pub fn best() -> Self {
        let device = Device::cuda_if_available(0)
            .ok()
            .filter(|device| !device.is_cpu())
            .or_else(|| Device::new_metal(0).ok());
        device.map_or(Self::F32, Self::Candle)
    }

    /// The best one for a precision: [`Backend::best`], or the kernels with products of bfloat16.
    ///
    /// # Errors
    /// Usage, if this processor lacks the instructions.
    pub fn of(precision: Precision) -> Result<Self> {
        match precision {
            Precision::F32 => Ok(Self::best()),
            Precision::Bf16(instructions) => match Products::of(instructions) {
                Some(products) => Ok(Self::Kernels(Some(products))),
                None => Err(lacking(instructions.name())),
            },
        }
    }

    /// The same on the processor, where small models are faster.
    pub(crate) fn on_processor(&self) -> Self {
        match self {
            Self::Kernels(products) => Self::Kernels(*products),
            Self::Candle(_) => Self::F32,
        }
    }

    /// Name for a manifest: `cpu`, `cuda` or `metal`; the instructions that multiply where results depend on these.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Candle(device) if device.is_cuda() => "cuda".to_owned(),
            Self::Candle(device) if device.is_metal() => "metal".to_owned(),
            Self::Kernels(Some(products)) => format!("cpu, {}", products.instructions().name()),
            Self::Kernels(None) | Self::Candle(_) => "cpu".to_owned(),
        }
    }

    /// The matrix with `columns` columns and these values, row by row.
    pub(crate) fn matrix(&self, values: Vec<f32>, columns: usize) -> Result<Matrix> {
        match self {
            Self::Kernels(_) => Ok(Matrix::Host { values, columns }),
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

    pub(crate) const BOTH: [Backend; 2] = [Backend::F32, Backend::Candle(Device::Cpu)];

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
