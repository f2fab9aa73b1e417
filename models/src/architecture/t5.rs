//! T5 and FLAN-T5 (Raffel et al. 2020): pre-norm by RMSNorm, unscaled scores with relative position
//! biases, an encoder and a decoder.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use teda_core::{Error, Result};

use super::loader::{Loader, check_buckets, check_shape, check_start, parse};
use crate::matrix::activation::Activation;
use crate::matrix::linear::Linear;
use crate::transformer::attention::{CrossAttention, Mask, Projections, SelfAttention};
use crate::transformer::memory::Shape;
use crate::transformer::relative::RelativeBias;
use crate::transformer::{
    Block, Decoder, Embeddings, Encoder, Feed, SourceSide, Stack, Sublayer, Words,
};

/// Relative positions are unbounded; a limit keeps a request's memory bounded.
const LONGEST: usize = 4096;

#[derive(Debug, Deserialize)]
struct Config {
    vocab_size: usize,
    d_model: usize,
    d_kv: usize,
    d_ff: usize,
    num_layers: usize,
    num_decoder_layers: Option<usize>,
    num_heads: usize,
    relative_attention_num_buckets: usize,
    #[serde(default = "farthest")]
    relative_attention_max_distance: usize,
    layer_norm_epsilon: f32,
    /// `relu`, `gated-gelu` or `gated-silu`.
    feed_forward_proj: String,
    #[serde(default = "tied")]
    tie_word_embeddings: bool,
    /// The field by which newer configurations say that the head reads scaled states; they always say "tied".
    scale_decoder_outputs: Option<bool>,
    #[serde(default)]
    decoder_start_token_id: u32,
}

fn farthest() -> usize {
    128
}

fn tied() -> bool {
    true
}

impl Config {
    fn activation(&self) -> Result<(Activation, bool)> {
        match self.feed_forward_proj.as_str() {
            "relu" => Ok((Activation::Relu, false)),
            // transformers uses the approximation for "gated-gelu".
            "gated-gelu" => Ok((Activation::GeluNew, true)),
            "gated-silu" => Ok((Activation::Silu, true)),
            other => Err(Error::failed(format!(
                "config.json: feed_forward_proj '{other}' is not supported; known: relu, gated-gelu, gated-silu"
            ))),
        }
    }

    fn shape(&self, layers: usize) -> Shape {
        Shape {
            layers,
            heads: self.num_heads,
            width: self.d_kv,
        }
    }
}

/// # Errors
/// If the configuration or a tensor does not fit.
pub(super) fn decoder(loader: &Loader<'_>, config: &Value) -> Result<(Decoder, SourceSide)> {
    let config: Config = parse(config)?;
    let hidden = config.d_model;
    let layers = config.num_decoder_layers.unwrap_or(config.num_layers);
    check_shape(
        config.num_heads.saturating_mul(config.d_kv),
        config.num_heads,
        &[
            ("num_layers", config.num_layers),
            ("num_decoder_layers", layers),
            ("vocab_size", config.vocab_size),
            ("d_model", hidden),
            ("d_ff", config.d_ff),
        ],
    )?;
    check_buckets(
        config.relative_attention_num_buckets,
        config.relative_attention_max_distance,
    )?;
    let start = config.decoder_start_token_id;
    check_start("decoder_start_token_id", start, config.vocab_size)?;
    let name = if loader.has("shared.weight") {
        "shared.weight"
    } else {
        "encoder.embed_tokens.weight"
    };
    let words = loader.floats(name, &[config.vocab_size, hidden])?;
    let source = stack(&loader.below("encoder"), &config, config.num_layers, false)?;
    let stack = stack(&loader.below("decoder"), &config, layers, true)?;
    let embeddings = |words| Embeddings {
        backend: loader.backend.clone(),
        words,
        hidden,
        scale: 1.0,
        positions: None,
        norm: None,
    };
    let head = if loader.has("lm_head.weight") {
        loader.linear("lm_head", hidden, config.vocab_size, 1.0)?
    } else {
        Linear::new(loader.backend, hidden, words.clone(), None)?
    };
    // A tied head reads states scaled by 1/√d.
    let scaled = config
        .scale_decoder_outputs
        .unwrap_or(config.tie_word_embeddings);
    let head_scale = if scaled {
        1.0 / (hidden as f32).sqrt()
    } else {
        1.0
    };
    let source = SourceSide {
        encoder: Encoder {
            backend: loader.backend.clone(),
            embeddings: embeddings(Words::Table(words.clone())),
            stack: source,
            shape: config.shape(config.num_layers),
            vocabulary: config.vocab_size,
            longest: LONGEST,
        },
        start: config.decoder_start_token_id,
    };
    let decoder = Decoder {
        backend: loader.backend.clone(),
        embeddings: embeddings(Words::Table(words)),
        stack,
        head: Arc::new(head),
        head_scale,
        shape: config.shape(layers),
        longest: LONGEST,
    };
    Ok((decoder, source))
}

fn stack(loader: &Loader<'_>, config: &Config, layers: usize, decodes: bool) -> Result<Stack> {
    let table = loader.floats(
        "block.0.layer.0.SelfAttention.relative_attention_bias.weight",
        &[config.relative_attention_num_buckets, config.num_heads],
    )?;
    let relative = Arc::new(RelativeBias::new(
        table,
        config.num_heads,
        !decodes,
        config.relative_attention_max_distance,
    ));
    let blocks = (0..layers).map(|index| {
        let loader = loader.below(&format!("block.{index}"));
        block(&loader, config, &relative, decodes)
    });
    Ok(Stack {
        blocks: blocks.collect::<Result<_>>()?,
        last: Some(norm(loader, config, "final_layer_norm")?),
    })
}

fn norm(loader: &Loader<'_>, config: &Config, name: &str) -> Result<crate::matrix::norm::Norm> {
    loader.rms_norm(name, config.d_model, config.layer_norm_epsilon, 0.0, 1.0)
}

fn projections(loader: &Loader<'_>, config: &Config) -> Result<Projections> {
    let (hidden, inner) = (config.d_model, config.num_heads * config.d_kv);
    Ok(Projections {
        heads: config.num_heads,
        query: loader.linear("q", hidden, inner, 1.0)?,
        key: loader.linear("k", hidden, inner, 1.0)?,
        value: loader.linear("v", hidden, inner, 1.0)?,
        output: loader.linear("o", inner, hidden, 1.0)?,
    })
}

fn block(
    loader: &Loader<'_>,
    config: &Config,
    relative: &Arc<RelativeBias>,
    decodes: bool,
) -> Result<Block> {
    let pre_norm = |layer: &str| norm(loader, config, &format!("{layer}.layer_norm")).map(Some);
    let (mask, feed) = if decodes {
        (Mask::Causal, "layer.2")
    } else {
        (Mask::All, "layer.1")
    };
    let cross = if decodes {
        let inner = projections(&loader.below("layer.1.EncDecAttention"), config)?;
        Some(Sublayer {
            before: pre_norm("layer.1")?,
            inner: CrossAttention(inner),
            after: None,
            last: None,
        })
    } else {
        None
    };
    let (activation, gated) = config.activation()?;
    let dense = loader.below(&format!("{feed}.DenseReluDense"));
    let (hidden, wide) = (config.d_model, config.d_ff);
    Ok(Block {
        attention: Sublayer {
            before: pre_norm("layer.0")?,
            inner: SelfAttention {
                projections: projections(&loader.below("layer.0.SelfAttention"), config)?,
                query_norm: None,
                key_norm: None,
                rotary: None,
                relative: Some(relative.clone()),
                mask,
            },
            after: None,
            last: None,
        },
        cross,
        feed: Sublayer {
            before: pre_norm(feed)?,
            inner: Feed {
                up: if gated {
                    dense.side_by_side(["wi_0", "wi_1"], hidden, wide)?
                } else {
                    dense.linear("wi", hidden, wide, 1.0)?
                },
                activation,
                gated,
                down: dense.linear("wo", wide, hidden, 1.0)?,
            },
            after: None,
            last: None,
        },
    })
}
