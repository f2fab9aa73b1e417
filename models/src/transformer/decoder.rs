//! A decoder with a language-model head, and with an encoder before it if it has sources.

use std::sync::Arc;

use teda_core::Result;

use super::attention::Sources;
use super::encoder::Encoder;
use super::memory::{Memory, Shape};
use super::{Embeddings, Pass, Stack};
use crate::matrix::linear::Linear;
use crate::matrix::{Backend, Matrix, finite};

/// Embeddings, layers whose tokens see those before them, and the head.
pub(crate) struct Decoder {
    pub(crate) backend: Backend,
    pub(crate) embeddings: Embeddings,
    pub(crate) stack: Stack,
    pub(crate) head: Arc<Linear>,
    /// Multiplied with the states before the head.
    pub(crate) head_scale: f32,
    pub(crate) shape: Shape,
    /// Most tokens that a row may have.
    pub(crate) longest: usize,
}

/// The part of a model that reads sources.
pub(crate) struct SourceSide {
    pub(crate) encoder: Encoder,
    /// The token that every continuation begins with.
    pub(crate) start: u32,
}

impl Decoder {
    pub(crate) fn vocabulary(&self) -> usize {
        self.head.outputs()
    }

    /// The states at the requested tokens, `[asked × hidden]`, ready for the head.
    pub(crate) fn states(
        &self,
        tokens: &[u32],
        pass: &Pass<'_>,
        memory: &mut Memory,
        sources: Option<&Sources<'_>>,
    ) -> Result<Matrix> {
        let x = self.embeddings.apply(tokens, &pass.positions)?;
        self.stack.run(x, pass, memory, sources)
    }

    /// Logits `[rows × vocabulary]` of states.
    ///
    /// # Errors
    /// If one is not finite.
    pub(crate) fn logits(&self, states: Matrix) -> Result<Vec<f32>> {
        let states = states.times(self.head_scale)?;
        finite("logits", self.head.apply(&states)?.into_values()?)
    }
}
