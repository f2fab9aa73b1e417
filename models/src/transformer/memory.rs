//! Keys and values of all layers.

use teda_core::Result;

use crate::kernel::keys_values::KeysValues;
use crate::matrix::Backend;
use crate::matrix::attention::Stored;

/// Room for the keys and values of a number of tokens.
pub(crate) struct Memory {
    layers: Vec<Stored>,
}

/// What a layer stores per token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    pub(crate) width: usize,
}

impl Shape {
    /// Bytes that `slots` tokens take in all layers.
    pub(crate) fn bytes(self, slots: usize) -> usize {
        self.layers * KeysValues::bytes(self.heads, self.width, slots)
    }
}

impl Memory {
    /// Empty room for `slots` tokens in every layer.
    pub(crate) fn new(backend: &Backend, shape: Shape, slots: usize) -> Result<Self> {
        let layers = (0..shape.layers)
            .map(|_| Stored::new(backend, shape.heads, shape.width, slots))
            .collect::<Result<_>>()?;
        Ok(Self { layers })
    }

    /// Room that all layers use in turn: for passes that are never continued.
    pub(crate) fn scratch(backend: &Backend, shape: Shape, slots: usize) -> Result<Self> {
        Self::new(backend, Shape { layers: 1, ..shape }, slots)
    }

    /// Copies `count` slots of every layer starting at `from` to those starting at `to`; both are multiples of 32.
    pub(crate) fn copy(&mut self, from: usize, to: usize, count: usize) -> Result<()> {
        self.layers
            .iter_mut()
            .try_for_each(|layer| layer.copy(from, to, count))
    }

    pub(crate) fn layer(&self, index: usize) -> &Stored {
        &self.layers[index % self.layers.len()]
    }

    pub(crate) fn layer_mut(&mut self, index: usize) -> &mut Stored {
        let index = index % self.layers.len();
        &mut self.layers[index]
    }
}

/// A common beginning of many rows, computed and stored once.
pub(crate) struct Prefix {
    pub(crate) tokens: Vec<u32>,
    pub(crate) memory: Memory,
}
