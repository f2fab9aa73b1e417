//! Builds a transformer's parts from named tensors.

use teda_core::{Error, Result};

use crate::checkpoint::Tensors;
use crate::matrix::Backend;
use crate::matrix::linear::Linear;
use crate::matrix::norm::Norm;

/// Tensors below a prefix, and where the parts are to be computed.
pub(super) struct Loader<'a> {
    pub(super) tensors: &'a dyn Tensors,
    pub(super) backend: &'a Backend,
    prefix: String,
}

impl<'a> Loader<'a> {
    pub(super) fn new(tensors: &'a dyn Tensors, backend: &'a Backend) -> Self {
        Self {
            tensors,
            backend,
            prefix: String::new(),
        }
    }

    /// The loader for the tensors below `name`.
    pub(super) fn below(&self, name: &str) -> Self {
        Self {
            prefix: format!("{}{name}.", self.prefix),
            ..*self
        }
    }

    /// The loader below `name` if `tensor` exists there, otherwise this one: the same model is stored with and without
    /// the name of its body.
    pub(super) fn below_if(&self, name: &str, tensor: &str) -> Self {
        let below = self.below(name);
        if below.has(tensor) {
            return below;
        }
        Self {
            prefix: self.prefix.clone(),
            ..*self
        }
    }

    pub(super) fn has(&self, tensor: &str) -> bool {
        self.tensors.shape(&self.name(tensor)).is_some()
    }

    fn name(&self, tensor: &str) -> String {
        format!("{}{tensor}", self.prefix)
    }

    /// A tensor's values, row by row.
    pub(super) fn floats(&self, tensor: &str, shape: &[usize]) -> Result<Vec<f32>> {
        self.tensors.floats(&self.name(tensor), shape)
    }

    /// The layer y = x Wᵀ + b of `name`.weight `[outputs × inputs]` and, if present, `name`.bias, both multiplied by
    /// `scale`.
    pub(super) fn linear(
        &self,
        name: &str,
        inputs: usize,
        outputs: usize,
        scale: f32,
    ) -> Result<Linear> {
        let mut weight = self.floats(&format!("{name}.weight"), &[outputs, inputs])?;
        let bias = format!("{name}.bias");
        let mut bias = if self.has(&bias) {
            Some(self.floats(&bias, &[outputs])?)
        } else {
            None
        };
        if scale != 1.0 {
            for x in weight.iter_mut().chain(bias.iter_mut().flatten()) {
                *x *= scale;
            }
        }
        Linear::new(self.backend, inputs, weight, bias)
    }

    /// Two layers without bias side by side, `[first | second]`, with `outputs` outputs each.
    pub(super) fn side_by_side(
        &self,
        names: [&str; 2],
        inputs: usize,
        outputs: usize,
    ) -> Result<Linear> {
        let [first, second] = names.map(|name| format!("{name}.weight"));
        let mut weight = self.floats(&first, &[outputs, inputs])?;
        weight.extend(self.floats(&second, &[outputs, inputs])?);
        Linear::new(self.backend, inputs, weight, None)
    }

    /// LayerNorm.
    pub(super) fn layer_norm(&self, name: &str, width: usize, epsilon: f32) -> Result<Norm> {
        check_epsilon(epsilon)?;
        let weight = self.floats(&format!("{name}.weight"), &[width])?;
        let bias = self.floats(&format!("{name}.bias"), &[width])?;
        Ok(Norm::new(weight, Some(bias), epsilon))
    }

    /// RMSNorm, with `shift` added to its weights and the result multiplied by `scale`.
    pub(super) fn rms_norm(
        &self,
        name: &str,
        width: usize,
        epsilon: f32,
        shift: f32,
        scale: f32,
    ) -> Result<Norm> {
        check_epsilon(epsilon)?;
        let mut weight = self.floats(&format!("{name}.weight"), &[width])?;
        weight.iter_mut().for_each(|w| *w = (*w + shift) * scale);
        Ok(Norm::new(weight, None, epsilon))
    }
}

/// Parses a configuration into its own structure.
///
/// # Errors
/// If a field is missing or has another type.
pub(super) fn parse<T: serde::de::DeserializeOwned>(config: &serde_json::Value) -> Result<T> {
    serde_json::from_value(config.clone())
        .map_err(|e| Error::failed(format!("config.json is not one of this architecture: {e}")))
}

/// # Errors
/// If the value that a norm adds under its root is negative or not a number.
fn check_epsilon(epsilon: f32) -> Result<()> {
    if epsilon.is_finite() && epsilon >= 0.0 {
        return Ok(());
    }
    Err(Error::failed(format!(
        "config.json: the norms' epsilon is {epsilon}: it must be a finite number and at least 0"
    )))
}

/// # Errors
/// If this many buckets cannot distinguish distances up to the farthest.
pub(super) fn check_buckets(buckets: usize, farthest: usize) -> Result<()> {
    if buckets >= 4 && farthest > buckets / 2 {
        return Ok(());
    }
    Err(Error::failed(format!(
        "config.json: {buckets} buckets for relative positions up to a distance of {farthest}: at least 4, and no more than twice the distance, are needed"
    )))
}

/// # Errors
/// If a model's first token, configured as `name`, is outside its vocabulary.
pub(super) fn check_start(name: &str, token: u32, vocabulary: usize) -> Result<()> {
    if (token as usize) < vocabulary {
        return Ok(());
    }
    Err(Error::failed(format!(
        "config.json: {name} is {token}, outside the vocabulary of {vocabulary}"
    )))
}

/// # Errors
/// If a number is 0 or `heads` does not divide `hidden`.
pub(super) fn check_shape(hidden: usize, heads: usize, others: &[(&str, usize)]) -> Result<()> {
    let zero = others.iter().find(|(_, value)| *value == 0);
    if let Some((name, _)) = zero {
        return Err(Error::failed(format!("config.json: {name} is 0")));
    }
    if heads == 0 || hidden == 0 || !hidden.is_multiple_of(heads) {
        return Err(Error::failed(format!(
            "config.json: a width of {hidden} is not a multiple of {heads} heads"
        )));
    }
    Ok(())
}
