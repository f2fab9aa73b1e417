//! The Gemma 3 decoder (Gemma Team 2025): Llama's parts with norms on both sides of every sublayer, RMSNorm by 1 +
//! weight, scaled embeddings, and layers with a sliding window and their own rotary base.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use teda_core::{Error, Result};

use super::llama::{self, words_and_head};
use super::loader::{Loader, parse};
use super::rope;
use crate::matrix::activation::Activation;
use crate::matrix::rotary::Rotary;
use crate::transformer::attention::{Mask, Projections, SelfAttention};
use crate::transformer::{Block, Decoder, Embeddings, Feed, Stack, Sublayer};

#[derive(Debug, Deserialize)]
struct Config {
    #[serde(flatten)]
    shared: llama::Config,
    query_pre_attn_scalar: f32,
    sliding_window: usize,
    #[serde(default = "gelu")]
    hidden_activation: Activation,
    /// `sliding_attention` or `full_attention` by layer.
    layer_types: Option<Vec<String>>,
    /// Otherwise, every n-th layer sees all, with this n.
    sliding_window_pattern: Option<usize>,
    rope_local_base_freq: Option<f64>,
}

fn gelu() -> Activation {
    Activation::GeluNew
}

impl Config {
    fn is_local(&self, layer: usize) -> bool {
        match &self.layer_types {
            Some(types) => types.get(layer).is_some_and(|t| t == "sliding_attention"),
            None => !(layer + 1).is_multiple_of(self.sliding_window_pattern.unwrap_or(6)),
        }
    }

    /// The rotary table of one kind of layer.
    fn rotary(&self, local: bool) -> Result<Arc<Rotary>> {
        let shared = &self.shared;
        let name = if local {
            "sliding_attention"
        } else {
            "full_attention"
        };
        let nested = &shared.rope_parameters[name];
        let (classic, scaling) = if local {
            (self.rope_local_base_freq.unwrap_or(10_000.0), &Value::Null)
        } else {
            (shared.rope_theta.unwrap_or(1e6), &shared.rope_scaling)
        };
        let theta = nested["rope_theta"].as_f64().unwrap_or(classic);
        let settings = if nested.is_object() { nested } else { scaling };
        let frequencies = rope::frequencies(theta, shared.width(), settings)?;
        rope::table(&frequencies, shared.max_position_embeddings)
    }
}

/// # Errors
/// If the configuration or a tensor does not fit.
pub(super) fn decoder(loader: &Loader<'_>, config: &Value) -> Result<Decoder> {
    let config: Config = parse(config)?;
    let shared = &config.shared;
    shared.check()?;
    let scale = config.query_pre_attn_scalar;
    if !(scale.is_finite() && scale > 0.0) {
        return Err(Error::failed(format!(
            "config.json: query_pre_attn_scalar is {scale}: it must be a finite number above 0"
        )));
    }
    for (name, value) in [
        ("sliding_window", config.sliding_window),
        (
            "sliding_window_pattern",
            config.sliding_window_pattern.unwrap_or(6),
        ),
    ] {
        if value == 0 {
            return Err(Error::failed(format!("config.json: {name} is 0")));
        }
    }
    let (local, global) = (config.rotary(true)?, config.rotary(false)?);
    let body = loader.below("model");
    let blocks = (0..shared.num_hidden_layers).map(|index| {
        let (rotary, mask) = if config.is_local(index) {
            (&local, Mask::Window(config.sliding_window))
        } else {
            (&global, Mask::Causal)
        };
        let loader = body.below(&format!("layers.{index}"));
        block(&loader, &config, rotary, mask)
    });
    let hidden = shared.hidden_size;
    let tied = !loader.has("lm_head.weight");
    let (words, head) = words_and_head(loader, shared.vocab_size, hidden, tied)?;
    Ok(Decoder {
        backend: loader.backend.clone(),
        embeddings: Embeddings {
            backend: loader.backend.clone(),
            words,
            hidden,
            scale: (hidden as f32).sqrt(),
            positions: None,
            norm: None,
        },
        stack: Stack {
            blocks: blocks.collect::<Result<_>>()?,
            last: Some(body.rms_norm("norm", hidden, shared.rms_norm_eps, 1.0, 1.0)?),
        },
        head,
        head_scale: 1.0,
        shape: shared.shape(),
        longest: shared.max_position_embeddings,
    })
}

fn block(loader: &Loader<'_>, config: &Config, rotary: &Arc<Rotary>, mask: Mask) -> Result<Block> {
    let shared = &config.shared;
    let (hidden, wide, width) = (shared.hidden_size, shared.intermediate_size, shared.width());
    let heads = shared.num_attention_heads;
    let (queries, stored) = (heads * width, shared.stored_heads() * width);
    let epsilon = shared.rms_norm_eps;
    let norm = |name| loader.rms_norm(name, hidden, epsilon, 1.0, 1.0).map(Some);
    let scale = 1.0 / config.query_pre_attn_scalar.sqrt();
    Ok(Block {
        attention: Sublayer {
            before: norm("input_layernorm")?,
            inner: SelfAttention {
                projections: Projections {
                    heads,
                    query: loader.linear("self_attn.q_proj", hidden, queries, 1.0)?,
                    key: loader.linear("self_attn.k_proj", hidden, stored, 1.0)?,
                    value: loader.linear("self_attn.v_proj", hidden, stored, 1.0)?,
                    output: loader.linear("self_attn.o_proj", queries, hidden, 1.0)?,
                },
                query_norm: Some(loader.rms_norm(
                    "self_attn.q_norm",
                    width,
                    epsilon,
                    1.0,
                    scale,
                )?),
                key_norm: Some(loader.rms_norm("self_attn.k_norm", width, epsilon, 1.0, 1.0)?),
                rotary: Some(rotary.clone()),
                relative: None,
                mask,
            },
            after: norm("post_attention_layernorm")?,
            last: None,
        },
        cross: None,
        feed: Sublayer {
            before: norm("pre_feedforward_layernorm")?,
            inner: Feed {
                up: loader.side_by_side(["mlp.gate_proj", "mlp.up_proj"], hidden, wide)?,
                activation: config.hidden_activation,
                gated: true,
                down: loader.linear("mlp.down_proj", wide, hidden, 1.0)?,
            },
            after: norm("post_feedforward_layernorm")?,
            last: None,
        },
    })
}
