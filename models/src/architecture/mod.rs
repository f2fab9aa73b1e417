//! The architectures by the `model_type` of a configuration: one file each, which builds the parts of
//! [`crate::transformer`] from a checkpoint's tensors.

mod bart;
mod bert;
mod gemma3;
mod gpt2;
mod llama;
mod loader;
mod mpnet;
mod roberta;
mod rope;
mod t5;

use teda_core::{Error, Result};

use crate::checkpoint::{Checkpoint, Tensors};
use crate::matrix::Backend;
use crate::transformer::{Decoder, Encoder, Masked, SourceSide};
use loader::{Loader, parse};

const ENCODERS: &[&str] = &["bert", "mpnet"];
const DECODERS: &[&str] = &["llama", "qwen3", "gemma3_text", "gpt2", "t5", "bart"];

/// The sentence encoder's transformer in `checkpoint`.
///
/// # Errors
/// Failed, if it is another kind of model or its files do not fit together.
pub(crate) fn encoder(checkpoint: &Checkpoint, backend: &Backend) -> Result<Encoder> {
    let loader = Loader::new(&*checkpoint.tensors, backend);
    match model_type(checkpoint) {
        "bert" => parse(&checkpoint.config).and_then(|config: bert::Config| {
            let loader = loader.below_if("bert", "embeddings.word_embeddings.weight");
            bert::encoder(&loader, &config, 0)
        }),
        "mpnet" => mpnet::encoder(&loader, &checkpoint.config),
        other => Err(wrong_kind(other, "a sentence encoder", ENCODERS)),
    }
    .map_err(|e| e.context(format!("model '{}'", checkpoint.name)))
}

/// The language model in `checkpoint`, and its source side if it has one.
///
/// # Errors
/// Failed, if it is another kind of model or its files do not fit together.
pub(crate) fn decoder(
    checkpoint: &Checkpoint,
    backend: &Backend,
) -> Result<(Decoder, Option<SourceSide>)> {
    let loader = Loader::new(&*checkpoint.tensors, backend);
    let config = &checkpoint.config;
    let with_source = |(decoder, source)| (decoder, Some(source));
    match model_type(checkpoint) {
        "llama" => llama::decoder(&loader, config, false).map(|decoder| (decoder, None)),
        "qwen3" => llama::decoder(&loader, config, true).map(|decoder| (decoder, None)),
        "gemma3_text" => gemma3::decoder(&loader, config).map(|decoder| (decoder, None)),
        "gpt2" => gpt2::decoder(&loader, config).map(|decoder| (decoder, None)),
        "t5" => t5::decoder(&loader, config).map(with_source),
        "bart" => bart::decoder(&loader, config).map(with_source),
        other => Err(wrong_kind(
            other,
            "a language model that generates",
            DECODERS,
        )),
    }
    .map_err(|e| e.context(format!("model '{}'", checkpoint.name)))
}

/// Whether a configuration is a masked language model's.
pub(crate) fn is_masked(config: &serde_json::Value) -> bool {
    config["model_type"] == "roberta"
}

/// Builds the masked language model from its tensors.
///
/// # Errors
/// Failed, if the configuration is of another kind or does not fit the tensors.
pub(crate) fn masked(
    tensors: &dyn Tensors,
    config: &serde_json::Value,
    backend: &Backend,
) -> Result<Masked> {
    match config["model_type"].as_str().unwrap_or_default() {
        "roberta" => roberta::masked(&Loader::new(tensors, backend), config),
        other => Err(wrong_kind(other, "a masked language model", &["roberta"])),
    }
}

fn model_type(checkpoint: &Checkpoint) -> &str {
    checkpoint.config["model_type"].as_str().unwrap_or_default()
}

fn wrong_kind(found: &str, wanted: &str, known: &[&str]) -> Error {
    Error::failed(format!(
        "config.json: model_type '{found}' is not {wanted}; known: {}",
        known.join(", ")
    ))
}
