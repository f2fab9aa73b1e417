//! BART (Lewis et al. 2020): post-norm, learned positions, an encoder and a decoder.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use teda_core::Result;

use super::loader::{Loader, check_shape, check_start, parse};
use crate::matrix::activation::Activation;
use crate::matrix::linear::Linear;
use crate::transformer::attention::{CrossAttention, Mask, Projections, SelfAttention};
use crate::transformer::memory::Shape;
use crate::transformer::{
    Block, Decoder, Embeddings, Encoder, Feed, SourceSide, Stack, Sublayer, Words,
};

/// The first two rows of a position table are never used.
const OFFSET: usize = 2;
/// Fixed by the architecture.
const EPSILON: f32 = 1e-5;

#[derive(Debug, Deserialize)]
struct Config {
    vocab_size: usize,
    d_model: usize,
    encoder_layers: usize,
    decoder_layers: usize,
    encoder_attention_heads: usize,
    decoder_attention_heads: usize,
    encoder_ffn_dim: usize,
    decoder_ffn_dim: usize,
    activation_function: Activation,
    max_position_embeddings: usize,
    #[serde(default)]
    scale_embedding: bool,
    #[serde(default = "two")]
    decoder_start_token_id: u32,
}

fn two() -> u32 {
    2
}

/// The differences between encoder and decoder.
struct Side {
    layers: usize,
    heads: usize,
    wide: usize,
    decodes: bool,
}

/// # Errors
/// If the configuration or a tensor does not fit.
pub(super) fn decoder(loader: &Loader<'_>, config: &Value) -> Result<(Decoder, SourceSide)> {
    let config: Config = parse(config)?;
    let hidden = config.d_model;
    let sides = [
        Side {
            layers: config.encoder_layers,
            heads: config.encoder_attention_heads,
            wide: config.encoder_ffn_dim,
            decodes: false,
        },
        Side {
            layers: config.decoder_layers,
            heads: config.decoder_attention_heads,
            wide: config.decoder_ffn_dim,
            decodes: true,
        },
    ];
    for side in &sides {
        check_shape(
            hidden,
            side.heads,
            &[
                ("layers", side.layers),
                ("ffn_dim", side.wide),
                ("vocab_size", config.vocab_size),
                ("max_position_embeddings", config.max_position_embeddings),
            ],
        )?;
    }
    let start = config.decoder_start_token_id;
    check_start("decoder_start_token_id", start, config.vocab_size)?;
    let body = loader.below_if("model", "shared.weight");
    let words = body.floats("shared.weight", &[config.vocab_size, hidden])?;
    let bias = if loader.has("final_logits_bias") {
        Some(loader.floats("final_logits_bias", &[1, config.vocab_size])?)
    } else {
        None
    };
    let head = Arc::new(Linear::new(loader.backend, hidden, words, bias)?);
    let part = |name: &str, side: &Side| -> Result<(Embeddings, Stack, Shape)> {
        let loader = body.below(name);
        Ok((
            embeddings(&loader, &config, &head)?,
            stack(&loader, &config, side)?,
            Shape {
                layers: side.layers,
                heads: side.heads,
                width: hidden / side.heads,
            },
        ))
    };
    let backend = || loader.backend.clone();
    let (source_embeddings, source_stack, source_shape) = part("encoder", &sides[0])?;
    let (embeddings, stack, shape) = part("decoder", &sides[1])?;
    let source = SourceSide {
        encoder: Encoder {
            backend: backend(),
            embeddings: source_embeddings,
            stack: source_stack,
            shape: source_shape,
            vocabulary: config.vocab_size,
            longest: config.max_position_embeddings,
        },
        start: config.decoder_start_token_id,
    };
    let decoder = Decoder {
        backend: backend(),
        embeddings,
        stack,
        head,
        head_scale: 1.0,
        shape,
        longest: config.max_position_embeddings,
    };
    Ok((decoder, source))
}

fn embeddings(loader: &Loader<'_>, config: &Config, words: &Arc<Linear>) -> Result<Embeddings> {
    let hidden = config.d_model;
    let mut positions = loader.floats(
        "embed_positions.weight",
        &[
            config.max_position_embeddings.saturating_add(OFFSET),
            hidden,
        ],
    )?;
    positions.drain(..OFFSET * hidden);
    Ok(Embeddings {
        backend: loader.backend.clone(),
        words: Words::Tied(words.clone()),
        hidden,
        scale: if config.scale_embedding {
            (hidden as f32).sqrt()
        } else {
            1.0
        },
        positions: Some(positions),
        norm: Some(loader.layer_norm("layernorm_embedding", hidden, EPSILON)?),
    })
}

fn stack(loader: &Loader<'_>, config: &Config, side: &Side) -> Result<Stack> {
    Ok(Stack {
        blocks: (0..side.layers)
            .map(|index| block(&loader.below(&format!("layers.{index}")), config, side))
            .collect::<Result<_>>()?,
        last: None,
    })
}

fn projections(loader: &Loader<'_>, hidden: usize, heads: usize) -> Result<Projections> {
    let scale = 1.0 / ((hidden / heads) as f32).sqrt();
    Ok(Projections {
        heads,
        query: loader.linear("q_proj", hidden, hidden, scale)?,
        key: loader.linear("k_proj", hidden, hidden, 1.0)?,
        value: loader.linear("v_proj", hidden, hidden, 1.0)?,
        output: loader.linear("out_proj", hidden, hidden, 1.0)?,
    })
}

fn block(loader: &Loader<'_>, config: &Config, side: &Side) -> Result<Block> {
    let hidden = config.d_model;
    let norm = |name: &str| loader.layer_norm(name, hidden, EPSILON).map(Some);
    let cross = if side.decodes {
        let inner = projections(&loader.below("encoder_attn"), hidden, side.heads)?;
        Some(Sublayer {
            before: None,
            inner: CrossAttention(inner),
            after: None,
            last: norm("encoder_attn_layer_norm")?,
        })
    } else {
        None
    };
    Ok(Block {
        attention: Sublayer {
            before: None,
            inner: SelfAttention {
                projections: projections(&loader.below("self_attn"), hidden, side.heads)?,
                query_norm: None,
                key_norm: None,
                rotary: None,
                relative: None,
                mask: if side.decodes {
                    Mask::Causal
                } else {
                    Mask::All
                },
            },
            after: None,
            last: norm("self_attn_layer_norm")?,
        },
        cross,
        feed: Sublayer {
            before: None,
            inner: Feed {
                up: loader.linear("fc1", hidden, side.wide, 1.0)?,
                activation: config.activation_function,
                gated: false,
                down: loader.linear("fc2", side.wide, hidden, 1.0)?,
            },
            after: None,
            last: norm("final_layer_norm")?,
        },
    })
}
