//! The models whose weights ship in the binary: a sentence encoder and an infilling model.

mod encoder;
mod infill;

use std::io::Cursor;

use sha2::{Digest, Sha256};
use teda_core::digest::hexadecimal;
use teda_core::{Error, Result};
use tokenizers::Tokenizer;

use crate::architecture;
use crate::checkpoint::Safetensors;
use crate::matrix::Backend;

pub use encoder::StaticEncoder;
pub use infill::{Infill, Options};

/// The shipped files of one model, as messages and manifests call them.
struct File {
    name: &'static str,
    content: &'static [u8],
}

impl File {
    fn tensors(&self) -> Result<Safetensors> {
        Safetensors::of(self.name, Cursor::new(self.content))
    }
}

/// A shipped file by its path below `builtin/`.
macro_rules! shipped {
    ($path:literal) => {
        File {
            name: concat!("builtin/", $path),
            content: include_bytes!(concat!("../../builtin/", $path)),
        }
    };
}

static ENCODER_WEIGHTS: File = shipped!("encoder/model.safetensors");
static ENCODER_TOKENIZER: File = shipped!("encoder/tokenizer.json");
static INFILL_WEIGHTS: File = shipped!("infill/model.safetensors");
static INFILL_CONFIG: File = shipped!("infill/config.json");
static INFILL_TOKENIZER: File = shipped!("infill/tokenizer.json");

/// The built-in sentence encoder.
///
/// # Errors
/// Where the shipped files do not fit together, which a test rules out.
pub fn encoder() -> Result<StaticEncoder> {
    StaticEncoder::load(
        ENCODER_WEIGHTS.name,
        &ENCODER_WEIGHTS.tensors()?,
        tokenizer(&ENCODER_TOKENIZER)?,
    )
}

/// The built-in infilling model.
///
/// # Errors
/// [`Error::Usage`] where `options` are out of range; [`Error::Failed`] where the shipped files do
/// not fit together, which a test rules out.
pub fn infill(options: Options) -> Result<Infill> {
    let config = serde_json::from_slice(INFILL_CONFIG.content)
        .map_err(|e| Error::failed(format!("{}: not JSON: {e}", INFILL_CONFIG.name)))?;
    let model = architecture::masked(&INFILL_WEIGHTS.tensors()?, &config, &Backend::Kernels)?;
    Infill::new(model, tokenizer(&INFILL_TOKENIZER)?, options)
}

/// Name and SHA-256 (hexadecimal) of every shipped file, for a run's manifest.
#[must_use]
pub fn digests() -> Vec<(&'static str, String)> {
    [
        &ENCODER_WEIGHTS,
        &ENCODER_TOKENIZER,
        &INFILL_WEIGHTS,
        &INFILL_CONFIG,
        &INFILL_TOKENIZER,
    ]
    .map(|file| (file.name, hexadecimal(&Sha256::digest(file.content))))
    .into()
}

fn tokenizer(file: &File) -> Result<Tokenizer> {
    Tokenizer::from_bytes(file.content)
        .map_err(|e| Error::failed(format!("{}: not a tokenizer: {e}", file.name)))
}
