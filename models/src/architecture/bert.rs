//! BERT and RoBERTa encoders (Devlin et al. 2019; Liu et al. 2019): post-norm, learned positions.

use std::sync::Arc;

use serde::Deserialize;
use teda_core::{Error, Result};

use super::loader::{Loader, check_shape};
use crate::matrix::activation::Activation;
use crate::transformer::attention::{Mask, Projections, SelfAttention};
use crate::transformer::memory::Shape;
use crate::transformer::relative::RelativeBias;
use crate::transformer::{Block, Embeddings, Encoder, Feed, Stack, Sublayer, Words};

/// The part of `config.json` that is used.
#[derive(Debug, Deserialize)]
pub(super) struct Config {
    pub(super) vocab_size: usize,
    pub(super) hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    hidden_act: Activation,
    max_position_embeddings: usize,
    pub(super) layer_norm_eps: f32,
    #[serde(default)]
    pub(super) pad_token_id: u32,
    #[serde(default = "one")]
    type_vocab_size: usize,
    #[serde(default)]
    position_embedding_type: Option<String>,
}

fn one() -> usize {
    1
}

/// The encoder whose first position is entry `offset` of the table.
///
/// # Errors
/// If a tensor is missing or has another shape than the configuration says.
pub(super) fn encoder(loader: &Loader<'_>, config: &Config, offset: usize) -> Result<Encoder> {
    let hidden = config.hidden_size;
    check_shape(
        hidden,
        config.num_attention_heads,
        &[
            ("num_hidden_layers", config.num_hidden_layers),
            ("vocab_size", config.vocab_size),
            ("intermediate_size", config.intermediate_size),
            ("type_vocab_size", config.type_vocab_size),
        ],
    )?;
    if let Some(kind) = config.position_embedding_type.as_deref()
        && kind != "absolute"
    {
        return Err(Error::failed(format!(
            "config.json: position_embedding_type is '{kind}', only 'absolute' is supported"
        )));
    }
    let longest = config
        .max_position_embeddings
        .checked_sub(offset)
        .filter(|longest| *longest > 0)
        .ok_or_else(|| {
            Error::failed(format!(
                "config.json: max_position_embeddings {} leaves no position after {offset}",
                config.max_position_embeddings
            ))
        })?;
    let layer = Layer {
        hidden,
        wide: config.intermediate_size,
        heads: config.num_attention_heads,
        epsilon: config.layer_norm_eps,
        activation: config.hidden_act,
        attention: [
            "attention.self.query",
            "attention.self.key",
            "attention.self.value",
            "attention.output.dense",
            "attention.output.LayerNorm",
        ],
        relative: None,
    };
    let embeddings = loader.below("embeddings");
    Ok(Encoder {
        backend: loader.backend.clone(),
        embeddings: Embeddings {
            backend: loader.backend.clone(),
            words: Words::Table(
                embeddings.floats("word_embeddings.weight", &[config.vocab_size, hidden])?,
            ),
            hidden,
            scale: 1.0,
            positions: Some(positions(&embeddings, config, offset)?),
            norm: Some(embeddings.layer_norm("LayerNorm", hidden, config.layer_norm_eps)?),
        },
        stack: Stack {
            blocks: (0..config.num_hidden_layers)
                .map(|index| layer.load(&loader.below(&format!("encoder.layer.{index}"))))
                .collect::<Result<_>>()?,
            last: None,
        },
        shape: Shape {
            layers: config.num_hidden_layers,
            heads: config.num_attention_heads,
            width: hidden / config.num_attention_heads,
        },
        vocabulary: config.vocab_size,
        longest,
    })
}

/// Sums of position and first token-type vectors, from the first position on.
fn positions(embeddings: &Loader<'_>, config: &Config, offset: usize) -> Result<Vec<f32>> {
    let hidden = config.hidden_size;
    let mut positions = embeddings.floats(
        "position_embeddings.weight",
        &[config.max_position_embeddings, hidden],
    )?;
    positions.drain(..offset * hidden);
    let types = embeddings.floats(
        "token_type_embeddings.weight",
        &[config.type_vocab_size, hidden],
    )?;
    for position in positions.chunks_exact_mut(hidden) {
        for (x, t) in position.iter_mut().zip(&types) {
            *x += t;
        }
    }
    Ok(positions)
}

/// The common parts of BERT's layers and those of its relatives.
pub(super) struct Layer {
    pub(super) hidden: usize,
    pub(super) wide: usize,
    pub(super) heads: usize,
    pub(super) epsilon: f32,
    pub(super) activation: Activation,
    /// Names of query, key, value, output and norm of the attention.
    pub(super) attention: [&'static str; 5],
    pub(super) relative: Option<Arc<RelativeBias>>,
}

impl Layer {
    /// Builds the layer from its tensors.
    ///
    /// # Errors
    /// If a tensor is missing or has another shape.
    pub(super) fn load(&self, loader: &Loader<'_>) -> Result<Block> {
        let scale = 1.0 / ((self.hidden / self.heads) as f32).sqrt();
        let norm = |name: &str| loader.layer_norm(name, self.hidden, self.epsilon).map(Some);
        let square = |name: &str, scale| loader.linear(name, self.hidden, self.hidden, scale);
        let [query, key, value, output, attention_norm] = self.attention;
        Ok(Block {
            attention: Sublayer {
                before: None,
                inner: SelfAttention {
                    projections: Projections {
                        heads: self.heads,
                        query: square(query, scale)?,
                        key: square(key, 1.0)?,
                        value: square(value, 1.0)?,
                        output: square(output, 1.0)?,
                    },
                    query_norm: None,
                    key_norm: None,
                    rotary: None,
                    relative: self.relative.clone(),
                    mask: Mask::All,
                },
                after: None,
                last: norm(attention_norm)?,
            },
            cross: None,
            feed: Sublayer {
                before: None,
                inner: Feed {
                    up: loader.linear("intermediate.dense", self.hidden, self.wide, 1.0)?,
                    activation: self.activation,
                    gated: false,
                    down: loader.linear("output.dense", self.wide, self.hidden, 1.0)?,
                },
                after: None,
                last: norm("output.LayerNorm")?,
            },
        })
    }
}
