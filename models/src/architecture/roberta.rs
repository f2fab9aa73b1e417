//! The masked language model of RoBERTa (Liu et al. 2019): decode(norm(gelu(dense(h)))).

use std::sync::Arc;

use serde_json::Value;
use teda_core::Result;

use super::bert;
use super::loader::{Loader, parse};
use crate::matrix::linear::Linear;
use crate::transformer::{Head, Masked, Words};

/// # Errors
/// If the configuration or a tensor does not fit.
pub(super) fn masked(loader: &Loader<'_>, config: &Value) -> Result<Masked> {
    let config: bert::Config = parse(config)?;
    let hidden = config.hidden_size;
    // A token's position is pad_token_id + 1 plus the number of tokens before it.
    let offset = config.pad_token_id as usize + 1;
    let encoder = bert::encoder(&loader.below("roberta"), &config, offset)?;
    let head = loader.below("lm_head");
    let words = match &encoder.embeddings.words {
        Words::Table(words) if !head.has("decoder.weight") => words.clone(),
        _ => head.floats("decoder.weight", &[config.vocab_size, hidden])?,
    };
    let bias = head.floats("bias", &[config.vocab_size])?;
    Ok(Masked {
        encoder,
        pad: config.pad_token_id,
        head: Head {
            dense: head.linear("dense", hidden, hidden, 1.0)?,
            norm: head.layer_norm("layer_norm", hidden, config.layer_norm_eps)?,
            decoder: Arc::new(Linear::new(
                loader.backend,
                hidden,
                words,
                Some(bias.clone()),
            )?),
            bias,
        },
    })
}
