//! The MPNet encoder (Song et al. 2020): BERT's layers with additional relative position biases.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use teda_core::{Error, Result};

use super::bert::Layer;
use super::loader::{Loader, check_buckets, check_shape, parse};
use crate::matrix::activation::Activation;
use crate::transformer::memory::Shape;
use crate::transformer::relative::RelativeBias;
use crate::transformer::{Embeddings, Encoder, Stack, Words};

/// The farthest distance with a bucket of its own; fixed by the architecture.
const FARTHEST: usize = 128;

#[derive(Debug, Deserialize)]
struct Config {
    vocab_size: usize,
    hidden_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    intermediate_size: usize,
    hidden_act: Activation,
    max_position_embeddings: usize,
    layer_norm_eps: f32,
    relative_attention_num_buckets: usize,
    #[serde(default = "one")]
    pad_token_id: usize,
}

fn one() -> usize {
    1
}

/// # Errors
/// If the configuration or a tensor does not fit.
pub(super) fn encoder(loader: &Loader<'_>, config: &Value) -> Result<Encoder> {
    let config: Config = parse(config)?;
    let (hidden, heads) = (config.hidden_size, config.num_attention_heads);
    check_shape(
        hidden,
        heads,
        &[
            ("num_hidden_layers", config.num_hidden_layers),
            ("vocab_size", config.vocab_size),
            ("intermediate_size", config.intermediate_size),
        ],
    )?;
    check_buckets(config.relative_attention_num_buckets, FARTHEST)?;
    let loader = loader.below_if("mpnet", "embeddings.word_embeddings.weight");
    let embeddings = loader.below("embeddings");
    let offset = config.pad_token_id.saturating_add(1);
    let mut positions = embeddings.floats(
        "position_embeddings.weight",
        &[config.max_position_embeddings, hidden],
    )?;
    if config.max_position_embeddings <= offset {
        return Err(Error::failed(format!(
            "config.json: max_position_embeddings {} leaves no position after {offset}",
            config.max_position_embeddings
        )));
    }
    positions.drain(..offset * hidden);
    let table = loader.floats(
        "encoder.relative_attention_bias.weight",
        &[config.relative_attention_num_buckets, heads],
    )?;
    let layer = Layer {
        hidden,
        wide: config.intermediate_size,
        heads,
        epsilon: config.layer_norm_eps,
        activation: config.hidden_act,
        attention: [
            "attention.attn.q",
            "attention.attn.k",
            "attention.attn.v",
            "attention.attn.o",
            "attention.LayerNorm",
        ],
        relative: Some(Arc::new(RelativeBias::new(table, heads, true, FARTHEST))),
    };
    let blocks = (0..config.num_hidden_layers)
        .map(|index| layer.load(&loader.below(&format!("encoder.layer.{index}"))));
    Ok(Encoder {
        backend: loader.backend.clone(),
        embeddings: Embeddings {
            backend: loader.backend.clone(),
            words: Words::Table(
                embeddings.floats("word_embeddings.weight", &[config.vocab_size, hidden])?,
            ),
            hidden,
            scale: 1.0,
            positions: Some(positions),
            norm: Some(embeddings.layer_norm("LayerNorm", hidden, config.layer_norm_eps)?),
        },
        stack: Stack {
            blocks: blocks.collect::<Result<_>>()?,
            last: None,
        },
        shape: Shape {
            layers: config.num_hidden_layers,
            heads,
            width: hidden / heads,
        },
        vocabulary: config.vocab_size,
        longest: config.max_position_embeddings - offset,
    })
}
