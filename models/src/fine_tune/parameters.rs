//! The parameters of a model that is trained: read from a checkpoint, made where it has none, and kept after training.

use std::collections::BTreeMap;

use candle_core::{Device, Tensor, Var};
use teda_core::{Error, Result, Seed};

use super::coins::normal;
use super::layers::{Linear, Norm};
use crate::checkpoint::Tensors;
use crate::matrix::failed;

/// Trained parameters by their names; operations on them keep no history.
pub(super) type Trained = BTreeMap<String, Tensor>;

/// Where parameters come from.
enum Source<'a> {
    /// A checkpoint. What it lacks of a head is drawn from N(0, `deviation`²), biases are 0.
    Checkpoint {
        tensors: &'a dyn Tensors,
        seed: Seed,
        deviation: f64,
    },
    Trained(&'a Trained),
}

/// Gives a model its parameters, and notes which it took.
pub(super) struct Parameters<'a> {
    source: Source<'a>,
    taken: Vec<(String, Var)>,
}

impl<'a> Parameters<'a> {
    /// Those of a checkpoint, to be trained.
    pub(super) fn of(tensors: &'a dyn Tensors, seed: Seed, deviation: f64) -> Self {
        Self {
            source: Source::Checkpoint {
                tensors,
                seed,
                deviation,
            },
            taken: Vec::new(),
        }
    }

    /// Those that were trained.
    pub(super) fn trained(trained: &'a Trained) -> Self {
        Self {
            source: Source::Trained(trained),
            taken: Vec::new(),
        }
    }

    /// What the model took, in that order, to be trained.
    pub(super) fn taken(self) -> Vec<(String, Var)> {
        self.taken
    }

    /// The parameter `name`, which the checkpoint must have, maybe under its `old` name.
    fn named(&mut self, name: String, old: Option<String>, shape: &[usize]) -> Result<Tensor> {
        let values = match &self.source {
            Source::Trained(trained) => return Ok(trained[&name].clone()),
            Source::Checkpoint { tensors, .. } => {
                let old = old.filter(|_| tensors.shape(&name).is_none());
                let old = old.filter(|old| tensors.shape(old).is_some());
                tensors.floats(old.as_ref().unwrap_or(&name), shape)?
            }
        };
        self.keep(name, values, shape)
    }

    /// The parameter `name`; where the checkpoint has none of this shape, `make` does.
    fn made(
        &mut self,
        name: String,
        shape: &[usize],
        make: impl FnOnce(Seed, f64) -> Vec<f32>,
    ) -> Result<Tensor> {
        let values = match &self.source {
            Source::Trained(trained) => return Ok(trained[&name].clone()),
            Source::Checkpoint {
                tensors,
                seed,
                deviation,
            } => match tensors.shape(&name) {
                Some(found) if found == shape => tensors.floats(&name, shape)?,
                _ => make(seed.named(&name), *deviation),
            },
        };
        self.keep(name, values, shape)
    }

    /// A parameter with these values.
    pub(super) fn keep(
        &mut self,
        name: String,
        values: Vec<f32>,
        shape: &[usize],
    ) -> Result<Tensor> {
        if !values.iter().all(|x| x.is_finite()) {
            return Err(Error::failed(format!(
                "tensor '{name}' holds numbers that are not finite: the weights are damaged"
            )));
        }
        let var = Var::from_vec(values, shape, &Device::Cpu).map_err(failed)?;
        let tensor = var.as_tensor().clone();
        self.taken.push((name, var));
        Ok(tensor)
    }

    /// A table `[rows × columns]`.
    pub(super) fn table(&mut self, name: &str, rows: usize, columns: usize) -> Result<Tensor> {
        self.named(format!("{name}.weight"), None, &[rows, columns])
    }

    /// A layer y = x Wᵀ + b.
    pub(super) fn linear(&mut self, name: &str, inputs: usize, outputs: usize) -> Result<Linear> {
        Ok(Linear {
            weight: self.named(format!("{name}.weight"), None, &[outputs, inputs])?,
            bias: self.named(format!("{name}.bias"), None, &[outputs])?,
        })
    }

    /// A layer of the head, which a checkpoint that was trained for another purpose does not have.
    pub(super) fn head(&mut self, name: &str, inputs: usize, outputs: usize) -> Result<Linear> {
        let weight = |seed, deviation| normal(seed, inputs * outputs, deviation);
        let bias = |_, _| vec![0.0; outputs];
        Ok(Linear {
            weight: self.made(format!("{name}.weight"), &[outputs, inputs], weight)?,
            bias: self.made(format!("{name}.bias"), &[outputs], bias)?,
        })
    }

    /// LayerNorm; files that were converted from TensorFlow call its parameters gamma and beta.
    pub(super) fn norm(&mut self, name: &str, width: usize, epsilon: f64) -> Result<Norm> {
        if !epsilon.is_finite() || epsilon < 0.0 {
            return Err(Error::failed(format!(
                "config.json: layer_norm_eps is {epsilon}: it must be a finite number and at least 0"
            )));
        }
        let mut of = |new: &str, old: &str| {
            self.named(
                format!("{name}.{new}"),
                Some(format!("{name}.{old}")),
                &[width],
            )
        };
        Ok(Norm {
            weight: of("weight", "gamma")?,
            bias: of("bias", "beta")?,
            epsilon,
        })
    }
}
