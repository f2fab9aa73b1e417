//! From tokens to the first layer's input.

use std::sync::Arc;

use teda_core::Result;

use crate::matrix::linear::Linear;
use crate::matrix::norm::Norm;
use crate::matrix::{Backend, Matrix};

/// The vectors of the vocabulary.
pub(crate) enum Words {
    /// `[vocabulary × hidden]`.
    Table(Vec<f32>),
    /// The weights of the language-model head.
    Tied(Arc<Linear>),
}

/// scale · word + position, normalised if the architecture does so.
pub(crate) struct Embeddings {
    pub(crate) backend: Backend,
    pub(crate) words: Words,
    pub(crate) hidden: usize,
    pub(crate) scale: f32,
    /// Learned vectors by position, from the first on: `[positions × hidden]`.
    pub(crate) positions: Option<Vec<f32>>,
    pub(crate) norm: Option<Norm>,
}

impl Embeddings {
    /// `[tokens × hidden]`; tokens and positions are within the model's limits.
    pub(crate) fn apply(&self, tokens: &[u32], positions: &[usize]) -> Result<Matrix> {
        let mut values = match &self.words {
            Words::Tied(head) => head.weights(tokens)?,
            Words::Table(words) => {
                let mut values = Vec::with_capacity(tokens.len() * self.hidden);
                for token in tokens {
                    values
                        .extend_from_slice(&words[*token as usize * self.hidden..][..self.hidden]);
                }
                values
            }
        };
        if self.scale != 1.0 {
            values.iter_mut().for_each(|x| *x *= self.scale);
        }
        if let Some(table) = &self.positions {
            for (row, position) in values.chunks_exact_mut(self.hidden).zip(positions) {
                let vector = &table[position * self.hidden..][..self.hidden];
                for (x, p) in row.iter_mut().zip(vector) {
                    *x += p;
                }
            }
        }
        let x = self.backend.matrix(values, self.hidden)?;
        match &self.norm {
            Some(norm) => norm.apply(x),
            None => Ok(x),
        }
    }
}
