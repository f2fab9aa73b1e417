//! An encoder with a head that predicts the token at a position.

use std::sync::Arc;

use teda_core::Result;

use super::encoder::check_tokens;
use super::{Encoder, Words};
use crate::matrix::Matrix;
use crate::matrix::activation::Activation;
use crate::matrix::linear::Linear;
use crate::matrix::norm::Norm;

/// A masked language model's transformer.
pub(crate) struct Masked {
    pub(crate) encoder: Encoder,
    /// The token used only to fill up rows.
    pub(crate) pad: u32,
    pub(crate) head: Head,
}

/// decode(norm(gelu(dense(h)))).
pub(crate) struct Head {
    pub(crate) dense: Linear,
    pub(crate) norm: Norm,
    pub(crate) decoder: Arc<Linear>,
    /// The decoder's bias over the whole vocabulary, from which a restricted one is taken.
    pub(crate) bias: Vec<f32>,
}

impl Masked {
    /// The same model with a decoder for only `tokens`.
    ///
    /// # Errors
    /// If a token is outside the vocabulary.
    pub(crate) fn restricted_to(mut self, tokens: &[u32]) -> Result<Self> {
        check_tokens(tokens, self.encoder.vocabulary)?;
        let bias = tokens.iter().map(|t| self.head.bias[*t as usize]).collect();
        let hidden = self.encoder.embeddings.hidden;
        let words = match &self.encoder.embeddings.words {
            Words::Tied(head) => head.weights(tokens)?,
            Words::Table(words) => tokens
                .iter()
                .flat_map(|token| &words[*token as usize * hidden..][..hidden])
                .copied()
                .collect(),
        };
        let backend = &self.encoder.backend;
        self.head.decoder = Arc::new(Linear::new(backend, hidden, words, Some(bias))?);
        Ok(self)
    }
}

impl Head {
    /// The logits of states after the last layer.
    pub(crate) fn logits(&self, states: &Matrix) -> Result<Matrix> {
        self.decoder.apply(&self.features(states)?)
    }

    /// What the decoder reads of states after the last layer.
    pub(crate) fn features(&self, states: &Matrix) -> Result<Matrix> {
        let dense = self.dense.apply(states)?;
        // RoBERTa's head uses gelu whatever the layers' activation is.
        self.norm.apply(Activation::Gelu.of(dense)?)
    }
}
