//! The interface through which an architecture reads its weights.

use candle_core::{DType, Device, Tensor};
use teda_core::{Error, Result};

/// The named tensors of a model, under the hub's names.
pub(crate) trait Tensors: Send + Sync {
    /// The shape of a tensor; `None` if there is no such tensor.
    fn shape(&self, tensor: &str) -> Option<Vec<usize>>;

    /// A tensor of any floating-point type as `f32`, row by row.
    ///
    /// # Errors
    /// If it is missing, has another shape or cannot be read; the message names file and tensor.
    fn floats(&self, tensor: &str, shape: &[usize]) -> Result<Vec<f32>>;

    /// The name of the file in messages.
    fn file(&self) -> String;
}

/// Checks a tensor's shape.
///
/// # Errors
/// If it is missing or has another shape.
pub(super) fn check(tensors: &dyn Tensors, tensor: &str, shape: &[usize]) -> Result<()> {
    match tensors.shape(tensor) {
        None => Err(Error::failed(format!(
            "{}: tensor '{tensor}' of shape {shape:?} is missing",
            tensors.file()
        ))),
        Some(found) if found != shape => Err(Error::failed(format!(
            "{}: tensor '{tensor}' has shape {found:?}, expected {shape:?}",
            tensors.file()
        ))),
        Some(_) => Ok(()),
    }
}

/// The message of an error of candle, without the calls that led to it.
pub(super) fn plain(error: &candle_core::Error) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}

/// The values of raw little-endian bytes.
pub(super) fn convert(
    bytes: &[u8],
    dtype: DType,
    shape: &[usize],
) -> candle_core::Result<Vec<f32>> {
    Tensor::from_raw_buffer(bytes, dtype, shape, &Device::Cpu)?
        .to_dtype(DType::F32)?
        .flatten_all()?
        .to_vec1()
}
