//! Building a RoBERTa model from its tensors.

use teda_core::Result;

use super::config::Config;
use super::roberta::{Head, Layer, Roberta};
use crate::kernel::linear::Linear;
use crate::kernel::normalise::LayerNorm;
use crate::weights::Weights;

/// Builds the parts of a model from its tensors.
pub(super) struct Loader<'a> {
    pub(super) weights: Weights<'a>,
    pub(super) config: Config,
}

impl Loader<'_> {
    /// The whole model.
    ///
    /// # Errors
    /// Where a tensor is missing or has another shape than the configuration says.
    pub(super) fn model(&self) -> Result<Roberta> {
        let Config {
            vocab_size,
            hidden_size,
            ..
        } = self.config;
        let words = self.weights.floats(
            "roberta.embeddings.word_embeddings.weight",
            &[vocab_size, hidden_size],
        )?;
        Ok(Roberta {
            positions: self.positions()?,
            norm: self.norm("roberta.embeddings.LayerNorm")?,
            layers: (0..self.config.num_hidden_layers)
                .map(|index| self.layer(index))
                .collect::<Result<_>>()?,
            head: self.head(&words)?,
            hidden: hidden_size,
            pad: self.config.pad_token_id,
            words,
        })
    }

    fn positions(&self) -> Result<Vec<f32>> {
        let hidden = self.config.hidden_size;
        let types = self.weights.floats(
            "roberta.embeddings.token_type_embeddings.weight",
            &[self.config.type_vocab_size, hidden],
        )?;
        let mut positions = self.weights.floats(
            "roberta.embeddings.position_embeddings.weight",
            &[self.config.max_position_embeddings, hidden],
        )?;
        positions.drain(..(self.config.pad_token_id as usize + 1) * hidden);
        for position in positions.chunks_exact_mut(hidden) {
            for (x, t) in position.iter_mut().zip(&types) {
                *x += t;
            }
        }
        Ok(positions)
    }

    fn layer(&self, index: usize) -> Result<Layer> {
        let Config {
            hidden_size: hidden,
            intermediate_size: wide,
            num_attention_heads: heads,
            ..
        } = self.config;
        let name = |part: &str| format!("roberta.encoder.layer.{index}.{part}");
        let (mut query, mut query_bias) =
            self.tensors(&name("attention.self.query"), hidden, hidden)?;
        let scale = 1.0 / ((hidden / heads) as f32).sqrt();
        for x in query.iter_mut().chain(&mut query_bias) {
            *x *= scale;
        }
        let (mut key_value, mut bias) =
            self.tensors(&name("attention.self.key"), hidden, hidden)?;
        let (value, value_bias) = self.tensors(&name("attention.self.value"), hidden, hidden)?;
        key_value.extend(value);
        bias.extend(value_bias);
        Ok(Layer {
            heads,
            query: Linear::new(hidden, query.chunks_exact(hidden), &query_bias),
            key_value: Linear::new(hidden, key_value.chunks_exact(hidden), &bias),
            attention_output: self.linear(&name("attention.output.dense"), hidden, hidden)?,
            attention_norm: self.norm(&name("attention.output.LayerNorm"))?,
            intermediate: self.linear(&name("intermediate.dense"), hidden, wide)?,
            activation: self.config.hidden_act,
            output: self.linear(&name("output.dense"), wide, hidden)?,
            norm: self.norm(&name("output.LayerNorm"))?,
        })
    }

    fn head(&self, words: &[f32]) -> Result<Head> {
        let hidden = self.config.hidden_size;
        let bias = self
            .weights
            .floats("lm_head.bias", &[self.config.vocab_size])?;
        Ok(Head {
            dense: self.linear("lm_head.dense", hidden, hidden)?,
            norm: self.norm("lm_head.layer_norm")?,
            decoder: Linear::new(hidden, words.chunks_exact(hidden), &bias),
            bias,
        })
    }

    fn linear(&self, name: &str, inputs: usize, outputs: usize) -> Result<Linear> {
        let (weight, bias) = self.tensors(name, inputs, outputs)?;
        Ok(Linear::new(inputs, weight.chunks_exact(inputs), &bias))
    }

    fn tensors(&self, name: &str, inputs: usize, outputs: usize) -> Result<(Vec<f32>, Vec<f32>)> {
        Ok((
            self.weights
                .floats(&format!("{name}.weight"), &[outputs, inputs])?,
            self.weights.floats(&format!("{name}.bias"), &[outputs])?,
        ))
    }

    fn norm(&self, name: &str) -> Result<LayerNorm> {
        let shape = [self.config.hidden_size];
        Ok(LayerNorm {
            weight: self.weights.floats(&format!("{name}.weight"), &shape)?,
            bias: self.weights.floats(&format!("{name}.bias"), &shape)?,
            epsilon: self.config.layer_norm_eps,
        })
    }
}
