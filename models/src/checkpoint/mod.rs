//! A model's files: weights, configuration and tokenizer, from a directory in the hub's layout or a
//! single GGUF file.

mod chat;
mod gguf;
mod safetensors;
mod spm;
mod tensors;
mod tokenizer;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use teda_core::{Error, Result};
use tokenizers::Tokenizer;

pub(crate) use chat::Chat;
pub(crate) use safetensors::Safetensors;
pub(crate) use tensors::Tensors;
pub(crate) use tokenizer::{decode, decode_all, encode};

/// Most bytes in a settings file; the longest are the indices of very large models, some 10 MB.
const LONGEST_SETTINGS: u64 = 16 << 20;
/// Most bytes in a tokenizer; those of 250,000 pieces take some 30 MB.
const LONGEST_TOKENIZER: u64 = 128 << 20;

/// How a sentence encoder's vector is computed from those of its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pooling {
    Mean,
    First,
}

/// A model that can be loaded.
pub struct Checkpoint {
    pub(crate) name: String,
    /// `config.json`, or its equivalent from a GGUF file.
    pub(crate) config: Value,
    pub(crate) tensors: Box<dyn Tensors>,
    pub(crate) tokenizer: Tokenizer,
    pub(crate) chat: Option<Chat>,
    /// Tokens that end a text.
    pub(crate) ends: BTreeSet<u32>,
    /// Most tokens that a model reads of a text, if the files state it (sentence encoders).
    pub(crate) window: Option<usize>,
    pub(crate) pooling: Pooling,
}

impl Checkpoint {
    /// Opens the model at `path`, a directory with `config.json`, `tokenizer.json` and safetensors, or a `.gguf` file;
    /// `name` is its name in messages.
    ///
    /// # Errors
    /// Failed, if a file is missing, incomplete or invalid; the message names it.
    pub fn open(name: &str, path: &Path) -> Result<Self> {
        let opened = if path.is_dir() {
            Self::of_directory(name, path)
        } else {
            gguf::open(name, path)
        };
        let mut checkpoint = opened.map_err(|e| e.context(format!("model '{name}'")))?;
        // A tokenizer file may contain its model's batch settings; a text is never cut or padded here.
        checkpoint
            .tokenizer
            .with_truncation(None)
            .map_err(|e| Error::failed(format!("model '{name}': {e}")))?
            .with_padding(None);
        Ok(checkpoint)
    }

    /// The tokens of `text`, with or without the special tokens that the model expects around it.
    ///
    /// # Errors
    /// If the tokenizer fails.
    pub fn encode(&self, text: &str, special: bool) -> Result<Vec<u32>> {
        encode(&self.tokenizer, text, special).map_err(|e| self.named(e))
    }

    /// The text of `tokens`, without special ones.
    ///
    /// # Errors
    /// If the tokenizer fails.
    pub fn decode(&self, tokens: &[u32]) -> Result<String> {
        decode(&self.tokenizer, tokens).map_err(|e| self.named(e))
    }

    fn named(&self, error: Error) -> Error {
        error.context(format!("model '{}'", self.name))
    }

    fn of_directory(name: &str, directory: &Path) -> Result<Self> {
        let config = json(&directory.join("config.json"))?.ok_or_else(|| {
            Error::failed(format!(
                "{}: there is no config.json, so this is not a model in the hub's layout",
                directory.display()
            ))
        })?;
        let file = directory.join("tokenizer.json");
        let bytes = read(&file, LONGEST_TOKENIZER)?
            .ok_or_else(|| Error::failed(format!("{}: there is no such file", file.display())))?;
        let tokenizer = tokenizer::read(&file.display().to_string(), &bytes)?;
        let generation = json(&directory.join("generation_config.json"))?;
        let ends = generation
            .iter()
            .chain([&config])
            .flat_map(|settings| tokens(&settings["eos_token_id"]))
            .collect();
        let pooling = json(&directory.join("1_Pooling").join("config.json"))?.unwrap_or_default();
        let first = pooling["pooling_mode_cls_token"].as_bool() == Some(true);
        let sentence = json(&directory.join("sentence_bert_config.json"))?;
        Ok(Self {
            name: name.to_owned(),
            tensors: Box::new(Safetensors::of_directory(directory)?),
            chat: Chat::of_directory(directory)?,
            window: sentence.and_then(|s| Some(s["max_seq_length"].as_u64()? as usize)),
            pooling: if first { Pooling::First } else { Pooling::Mean },
            config,
            tokenizer,
            ends,
        })
    }
}

/// A token or a list of them.
fn tokens(value: &Value) -> Vec<u32> {
    let all = value
        .as_array()
        .map_or(std::slice::from_ref(value), Vec::as_slice);
    all.iter()
        .filter_map(|token| u32::try_from(token.as_u64()?).ok())
        .collect()
}

/// The content of a file with at most `longest` bytes; `None` if there is no such file.
fn read(path: &Path, longest: u64) -> Result<Option<Vec<u8>>> {
    let failed = |e: std::io::Error| Error::failed(format!("cannot read {}: {e}", path.display()));
    let length = match fs::metadata(path) {
        // Something other than a file, such as a pipe, may make its reader wait forever.
        Ok(found) if found.is_file() => found.len(),
        Ok(_) => {
            return Err(Error::failed(format!(
                "cannot read {}: it is not a file",
                path.display()
            )));
        }
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(failed(e)),
    };
    if length > longest {
        return Err(Error::failed(format!(
            "{}: it has {length} bytes; no model's has more than {longest}",
            path.display()
        )));
    }
    fs::read(path).map(Some).map_err(failed)
}

/// A JSON file's content; `None` if there is no such file.
fn json(path: &Path) -> Result<Option<Value>> {
    read(path, LONGEST_SETTINGS)?
        .map(|bytes| {
            serde_json::from_slice(&bytes)
                .map_err(|e| Error::failed(format!("{}: not JSON: {e}", path.display())))
        })
        .transpose()
}
