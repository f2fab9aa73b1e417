//! The GPT-2 decoder (Radford et al. 2019): pre-norm by LayerNorm, learned positions.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use teda_core::Result;

use super::loader::{Loader, check_shape, parse};
use crate::matrix::activation::Activation;
use crate::matrix::linear::Linear;
use crate::transformer::attention::{Mask, Projections, SelfAttention};
use crate::transformer::memory::Shape;
use crate::transformer::{Block, Decoder, Embeddings, Feed, Stack, Sublayer, Words};

#[derive(Debug, Deserialize)]
struct Config {
    vocab_size: usize,
    n_embd: usize,
    n_layer: usize,
    n_head: usize,
    n_inner: Option<usize>,
    n_positions: usize,
    activation_function: Activation,
    layer_norm_epsilon: f32,
}

impl Config {
    fn wide(&self) -> usize {
        self.n_inner.unwrap_or(self.n_embd.saturating_mul(4))
    }
}

/// # Errors
/// If the configuration or a tensor does not fit.
pub(super) fn decoder(loader: &Loader<'_>, config: &Value) -> Result<Decoder> {
    let config: Config = parse(config)?;
    let hidden = config.n_embd;
    check_shape(
        hidden,
        config.n_head,
        &[
            ("n_layer", config.n_layer),
            ("vocab_size", config.vocab_size),
            ("n_positions", config.n_positions),
            ("n_inner", config.wide()),
        ],
    )?;
    let loader = loader.below_if("transformer", "wte.weight");
    let words = loader.floats("wte.weight", &[config.vocab_size, hidden])?;
    let head = Arc::new(Linear::new(loader.backend, hidden, words, None)?);
    let blocks =
        (0..config.n_layer).map(|index| block(&loader.below(&format!("h.{index}")), &config));
    Ok(Decoder {
        backend: loader.backend.clone(),
        embeddings: Embeddings {
            backend: loader.backend.clone(),
            words: Words::Tied(head.clone()),
            hidden,
            scale: 1.0,
            positions: Some(loader.floats("wpe.weight", &[config.n_positions, hidden])?),
            norm: None,
        },
        stack: Stack {
            blocks: blocks.collect::<Result<_>>()?,
            last: Some(loader.layer_norm("ln_f", hidden, config.layer_norm_epsilon)?),
        },
        head,
        head_scale: 1.0,
        shape: Shape {
            layers: config.n_layer,
            heads: config.n_head,
            width: hidden / config.n_head,
        },
        longest: config.n_positions,
    })
}

fn block(loader: &Loader<'_>, config: &Config) -> Result<Block> {
    let hidden = config.n_embd;
    let wide = config.wide();
    let scale = 1.0 / ((hidden / config.n_head) as f32).sqrt();
    let mut qkv = parts(loader, "attn.c_attn", hidden, 3 * hidden, 3)?.into_iter();
    let mut next = |scale: f32| {
        let (mut weight, mut bias) = qkv.next().expect("three parts were asked for");
        weight.iter_mut().chain(&mut bias).for_each(|x| *x *= scale);
        Linear::new(loader.backend, hidden, weight, Some(bias))
    };
    let (query, key, value) = (next(scale)?, next(1.0)?, next(1.0)?);
    let whole = |name: &str, inputs: usize, outputs: usize| {
        let (weight, bias) = parts(loader, name, inputs, outputs, 1)?.remove(0);
        Linear::new(loader.backend, inputs, weight, Some(bias))
    };
    let norm = |name| loader.layer_norm(name, hidden, config.layer_norm_epsilon);
    Ok(Block {
        attention: Sublayer {
            before: Some(norm("ln_1")?),
            inner: SelfAttention {
                projections: Projections {
                    heads: config.n_head,
                    query,
                    key,
                    value,
                    output: whole("attn.c_proj", hidden, hidden)?,
                },
                query_norm: None,
                key_norm: None,
                rotary: None,
                relative: None,
                mask: Mask::Causal,
            },
            after: None,
            last: None,
        },
        cross: None,
        feed: Sublayer {
            before: Some(norm("ln_2")?),
            inner: Feed {
                up: whole("mlp.c_fc", hidden, wide)?,
                activation: config.activation_function,
                gated: false,
                down: whole("mlp.c_proj", wide, hidden)?,
            },
            after: None,
            last: None,
        },
    })
}

/// Weights and bias of a layer that is stored as `[inputs × outputs]`, with its outputs cut into `count` equal parts:
/// `[outputs / count × inputs]` each.
fn parts(
    loader: &Loader<'_>,
    name: &str,
    inputs: usize,
    outputs: usize,
    count: usize,
) -> Result<Vec<(Vec<f32>, Vec<f32>)>> {
    let stored = loader.floats(&format!("{name}.weight"), &[inputs, outputs])?;
    let bias = loader.floats(&format!("{name}.bias"), &[outputs])?;
    let weight: Vec<f32> = (0..outputs)
        .flat_map(|o| stored.iter().skip(o).step_by(outputs).copied())
        .collect();
    let part = outputs / count;
    Ok(weight
        .chunks_exact(part * inputs)
        .zip(bias.chunks_exact(part))
        .map(|(weight, bias)| (weight.to_vec(), bias.to_vec()))
        .collect())
}
