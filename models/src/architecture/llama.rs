//! Llama (Touvron et al. 2023) and Qwen3 decoders: pre-norm by RMSNorm, rotary positions, gated
//! feed-forward network, grouped heads; Qwen3 normalises each head's queries and keys.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use teda_core::{Error, Result};

use super::loader::{Loader, check_shape, parse};
use super::rope;
use crate::matrix::activation::Activation;
use crate::matrix::linear::Linear;
use crate::matrix::rotary::Rotary;
use crate::transformer::attention::{Mask, Projections, SelfAttention};
use crate::transformer::memory::Shape;
use crate::transformer::{Block, Decoder, Embeddings, Feed, Stack, Sublayer, Words};

/// The part of `config.json` that Llama's relatives share.
#[derive(Debug, Deserialize)]
pub(super) struct Config {
    pub(super) vocab_size: usize,
    pub(super) hidden_size: usize,
    pub(super) num_hidden_layers: usize,
    pub(super) num_attention_heads: usize,
    pub(super) num_key_value_heads: Option<usize>,
    pub(super) head_dim: Option<usize>,
    pub(super) intermediate_size: usize,
    pub(super) rms_norm_eps: f32,
    pub(super) max_position_embeddings: usize,
    pub(super) rope_theta: Option<f64>,
    #[serde(default)]
    pub(super) rope_scaling: Value,
    /// Newer configurations keep both here.
    #[serde(default)]
    pub(super) rope_parameters: Value,
    #[serde(default)]
    tie_word_embeddings: bool,
    #[serde(default = "silu")]
    hidden_act: Activation,
}

fn silu() -> Activation {
    Activation::Silu
}

impl Config {
    pub(super) fn width(&self) -> usize {
        self.head_dim
            .unwrap_or(self.hidden_size / self.num_attention_heads)
    }

    pub(super) fn stored_heads(&self) -> usize {
        self.num_key_value_heads.unwrap_or(self.num_attention_heads)
    }

    pub(super) fn shape(&self) -> Shape {
        Shape {
            layers: self.num_hidden_layers,
            heads: self.stored_heads(),
            width: self.width(),
        }
    }

    pub(super) fn check(&self) -> Result<()> {
        check_shape(
            self.num_attention_heads,
            self.stored_heads(),
            &[
                ("num_attention_heads", self.num_attention_heads),
                ("num_key_value_heads", self.stored_heads()),
                ("hidden_size", self.hidden_size),
                ("intermediate_size", self.intermediate_size),
                ("num_hidden_layers", self.num_hidden_layers),
                ("vocab_size", self.vocab_size),
                ("max_position_embeddings", self.max_position_embeddings),
            ],
        )?;
        let width = self.width();
        // Positions rotate a head's numbers in pairs.
        if width == 0 || !width.is_multiple_of(2) {
            return Err(Error::failed(format!(
                "config.json: heads are {width} wide: it must be an even number above 0"
            )));
        }
        if self.num_attention_heads.checked_mul(width).is_none() {
            return Err(Error::failed(format!(
                "config.json: {} heads of {width} are too many to count",
                self.num_attention_heads
            )));
        }
        Ok(())
    }
}

/// # Errors
/// If the configuration or a tensor does not fit.
pub(super) fn decoder(loader: &Loader<'_>, config: &Value, head_norms: bool) -> Result<Decoder> {
    let config: Config = parse(config)?;
    config.check()?;
    let theta = config.rope_parameters["rope_theta"]
        .as_f64()
        .or(config.rope_theta)
        .unwrap_or(10_000.0);
    let settings = if config.rope_parameters.is_object() {
        &config.rope_parameters
    } else {
        &config.rope_scaling
    };
    let mut frequencies = rope::frequencies(theta, config.width(), settings)?;
    if loader.has("rope_factors") {
        let factors = loader.floats("rope_factors", &[frequencies.len()])?;
        frequencies
            .iter_mut()
            .zip(factors)
            .for_each(|(f, by)| *f /= by);
    }
    let rotary = rope::table(&frequencies, config.max_position_embeddings)?;
    let body = loader.below("model");
    let blocks = (0..config.num_hidden_layers).map(|index| {
        let loader = body.below(&format!("layers.{index}"));
        block(&loader, &config, &rotary, head_norms)
    });
    let hidden = config.hidden_size;
    let tied = config.tie_word_embeddings || !loader.has("lm_head.weight");
    let (words, head) = words_and_head(loader, config.vocab_size, hidden, tied)?;
    Ok(Decoder {
        backend: loader.backend.clone(),
        embeddings: Embeddings {
            backend: loader.backend.clone(),
            words,
            hidden,
            scale: 1.0,
            positions: None,
            norm: None,
        },
        stack: Stack {
            blocks: blocks.collect::<Result<_>>()?,
            last: Some(body.rms_norm("norm", hidden, config.rms_norm_eps, 0.0, 1.0)?),
        },
        head,
        head_scale: 1.0,
        shape: config.shape(),
        longest: config.max_position_embeddings,
    })
}

/// Embedding table and head, which are the same if they are tied.
pub(super) fn words_and_head(
    loader: &Loader<'_>,
    vocabulary: usize,
    hidden: usize,
    tied: bool,
) -> Result<(Words, Arc<Linear>)> {
    let words = loader.floats("model.embed_tokens.weight", &[vocabulary, hidden])?;
    if tied {
        let head = Arc::new(Linear::new(loader.backend, hidden, words, None)?);
        return Ok((Words::Tied(head.clone()), head));
    }
    let head = Arc::new(loader.linear("lm_head", hidden, vocabulary, 1.0)?);
    Ok((Words::Table(words), head))
}

fn block(
    loader: &Loader<'_>,
    config: &Config,
    rotary: &Arc<Rotary>,
    head_norms: bool,
) -> Result<Block> {
    let (hidden, wide, width) = (config.hidden_size, config.intermediate_size, config.width());
    let (queries, stored) = (
        config.num_attention_heads * width,
        config.stored_heads() * width,
    );
    let scale = 1.0 / (width as f32).sqrt();
    // A normalised query takes the scores' scale from its norm.
    let (query_scale, query_norm, key_norm) = if head_norms {
        let norm = |name, scale| loader.rms_norm(name, width, config.rms_norm_eps, 0.0, scale);
        (
            1.0,
            Some(norm("self_attn.q_norm", scale)?),
            Some(norm("self_attn.k_norm", 1.0)?),
        )
    } else {
        (scale, None, None)
    };
    let norm = |name| loader.rms_norm(name, hidden, config.rms_norm_eps, 0.0, 1.0);
    Ok(Block {
        attention: Sublayer {
            before: Some(norm("input_layernorm")?),
            inner: SelfAttention {
                projections: Projections {
                    heads: config.num_attention_heads,
                    query: loader.linear("self_attn.q_proj", hidden, queries, query_scale)?,
                    key: loader.linear("self_attn.k_proj", hidden, stored, 1.0)?,
                    value: loader.linear("self_attn.v_proj", hidden, stored, 1.0)?,
                    output: loader.linear("self_attn.o_proj", queries, hidden, 1.0)?,
                },
                query_norm,
                key_norm,
                rotary: Some(rotary.clone()),
                relative: None,
                mask: Mask::Causal,
            },
            after: None,
            last: None,
        },
        cross: None,
        feed: Sublayer {
            before: Some(norm("post_attention_layernorm")?),
            inner: Feed {
                up: loader.side_by_side(["mlp.gate_proj", "mlp.up_proj"], hidden, wide)?,
                activation: config.hidden_act,
                gated: true,
                down: loader.linear("mlp.down_proj", wide, hidden, 1.0)?,
            },
            after: None,
            last: None,
        },
    })
}
