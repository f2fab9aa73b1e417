//! The tensors of one safetensors file, checked against the shapes that a model expects.

use candle_core::safetensors::SliceSafetensors;
use candle_core::{DType, Device, Tensor};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use teda_core::{Error, Result};

/// A parsed file; tensors are converted when asked for.
pub(crate) struct Weights<'a> {
    file: &'a str,
    tensors: SliceSafetensors<'a>,
}

impl<'a> Weights<'a> {
    /// Reads the header of `bytes`, which messages call `file`.
    ///
    /// # Errors
    /// Where `bytes` is no complete safetensors file.
    pub(crate) fn parse(file: &'a str, bytes: &'a [u8]) -> Result<Self> {
        let tensors = SliceSafetensors::new(bytes)
            .map_err(|e| Error::failed(format!("{file}: not a complete safetensors file: {e}")))?;
        Ok(Self { file, tensors })
    }

    /// A tensor of any floating-point type as `f32`, row by row.
    ///
    /// # Errors
    /// Where it is missing, has another shape or is not a number type that candle reads.
    pub(crate) fn floats(&self, tensor: &str, shape: &[usize]) -> Result<Vec<f32>> {
        self.view(tensor, shape)?;
        self.tensors
            .load(tensor, &Device::Cpu)
            .and_then(|t| t.to_dtype(DType::F32))
            .and_then(|t| t.flatten_all())
            .and_then(|t: Tensor| t.to_vec1())
            .map_err(|e| Error::failed(format!("{}: tensor '{tensor}': {e}", self.file)))
    }

    /// An 8-bit integer tensor, row by row.
    ///
    /// # Errors
    /// Where it is missing or has another shape or type.
    pub(crate) fn bytes(&self, tensor: &str, shape: &[usize]) -> Result<Vec<i8>> {
        // candle has no signed 8-bit type.
        let view = self.view(tensor, shape)?;
        if view.dtype() != Dtype::I8 {
            return Err(Error::failed(format!(
                "{}: tensor '{tensor}' has type {:?}, expected I8",
                self.file,
                view.dtype()
            )));
        }
        Ok(view.data().iter().map(|byte| byte.cast_signed()).collect())
    }

    fn view(&self, tensor: &str, shape: &[usize]) -> Result<TensorView<'_>> {
        let view = self.tensors.get(tensor).map_err(|_| {
            Error::failed(format!(
                "{}: tensor '{tensor}' of shape {shape:?} is missing",
                self.file
            ))
        })?;
        if view.shape() != shape {
            return Err(Error::failed(format!(
                "{}: tensor '{tensor}' has shape {:?}, expected {shape:?}",
                self.file,
                view.shape()
            )));
        }
        Ok(view)
    }
}
