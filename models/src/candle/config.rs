//! The part of a Hugging Face `config.json` that a RoBERTa model needs.

use serde::Deserialize;
use teda_core::{Error, Result};

use crate::kernel::activation::Activation;

/// Shapes and constants of a RoBERTa model, by their names in `config.json`.
#[derive(Debug, Deserialize)]
pub(super) struct Config {
    pub(super) vocab_size: usize,
    pub(super) hidden_size: usize,
    pub(super) num_hidden_layers: usize,
    pub(super) num_attention_heads: usize,
    pub(super) intermediate_size: usize,
    pub(super) hidden_act: Activation,
    pub(super) max_position_embeddings: usize,
    pub(super) layer_norm_eps: f32,
    pub(super) pad_token_id: u32,
    #[serde(default = "one")]
    pub(super) type_vocab_size: usize,
    #[serde(default = "yes")]
    tie_word_embeddings: bool,
    #[serde(default = "absolute")]
    position_embedding_type: String,
}

fn one() -> usize {
    1
}

fn yes() -> bool {
    true
}

fn absolute() -> String {
    "absolute".to_owned()
}

impl Config {
    /// Reads and checks `json`, which messages call `file`.
    ///
    /// # Errors
    /// Where a field is missing or the values make no RoBERTa model that is supported here.
    pub(super) fn parse(file: &str, json: &[u8]) -> Result<Self> {
        let config: Self = serde_json::from_slice(json)
            .map_err(|e| Error::failed(format!("{file}: not a RoBERTa configuration: {e}")))?;
        config.problem().map_or(Ok(config), |problem| {
            Err(Error::failed(format!("{file}: {problem}")))
        })
    }

    fn problem(&self) -> Option<String> {
        let heads = self.num_attention_heads;
        if heads == 0 || self.hidden_size == 0 || !self.hidden_size.is_multiple_of(heads) {
            return Some(format!(
                "hidden_size {} is no multiple of num_attention_heads {heads}",
                self.hidden_size
            ));
        }
        for (name, value) in [
            ("num_hidden_layers", self.num_hidden_layers),
            ("vocab_size", self.vocab_size),
            ("intermediate_size", self.intermediate_size),
            ("type_vocab_size", self.type_vocab_size),
        ] {
            if value == 0 {
                return Some(format!("{name} is 0"));
            }
        }
        if self.max_position_embeddings <= self.pad_token_id as usize + 1 {
            return Some(format!(
                "max_position_embeddings {} leaves no position after pad_token_id {}",
                self.max_position_embeddings, self.pad_token_id
            ));
        }
        if !self.tie_word_embeddings {
            return Some("tie_word_embeddings is false, only tied decoders are supported".into());
        }
        if self.position_embedding_type != "absolute" {
            return Some(format!(
                "position_embedding_type is '{}', only 'absolute' is supported",
                self.position_embedding_type
            ));
        }
        None
    }
}
