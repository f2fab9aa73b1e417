//! The models whose weights ship in the binary: a sentence encoder, an infilling model, a rewriter and an autoencoder.

mod encoder;
mod infill;

use std::collections::BTreeSet;
use std::io::Cursor;

use sha2::{Digest, Sha256};
use teda_core::digest::hexadecimal;
use teda_core::{Error, Result};
use tokenizers::Tokenizer;

use crate::autoencoder::LstmAutoencoder;
use crate::checkpoint::{Checkpoint, Pooling, Safetensors};
use crate::fill_mask::{self, FillMask};
use crate::fine_tune::Pretrained;
use crate::generate::{self, LocalModel};
use crate::masked::MaskedLm;
use crate::matrix::Backend;

pub use encoder::StaticEncoder;
pub use infill::{Infill, Options};

/// The shipped files of one model, with their names in messages and manifests.
struct File {
    name: &'static str,
    content: &'static [u8],
}

impl File {
    fn json(&self) -> Result<serde_json::Value> {
        serde_json::from_slice(self.content)
            .map_err(|e| Error::failed(format!("{}: not JSON: {e}", self.name)))
    }

    fn tensors(&self) -> Result<Safetensors> {
        Safetensors::of(self.name, Cursor::new(self.content))
    }
}

impl File {
    const fn new(name: &'static str, content: &'static [u8]) -> Self {
        Self { name, content }
    }
}

static ENCODER_WEIGHTS: File = File::new(
    "builtin/encoder/model.safetensors",
    teda_model_encoder::WEIGHTS,
);
static ENCODER_TOKENIZER: File = File::new(
    "builtin/encoder/tokenizer.json",
    teda_model_encoder::TOKENIZER,
);
static INFILL_WEIGHTS: File = File::new(
    "builtin/infill/model.safetensors",
    teda_model_infill::WEIGHTS,
);
static INFILL_CONFIG: File = File::new("builtin/infill/config.json", teda_model_infill::CONFIG);
static INFILL_TOKENIZER: File = File::new(
    "builtin/infill/tokenizer.json",
    teda_model_infill::TOKENIZER,
);
static REWRITER_WEIGHTS: File = File::new(
    "builtin/rewriter/model.safetensors",
    teda_model_rewriter::WEIGHTS,
);
static REWRITER_CONFIG: File =
    File::new("builtin/rewriter/config.json", teda_model_rewriter::CONFIG);
/// The rewriter reads and writes the infilling model's tokens.
static REWRITER_TOKENIZER: &File = &INFILL_TOKENIZER;
static AUTOENCODER_WEIGHTS: File = File::new(
    "builtin/autoencoder/model.safetensors",
    teda_model_autoencoder::WEIGHTS,
);
static AUTOENCODER_CONFIG: File = File::new(
    "builtin/autoencoder/config.json",
    teda_model_autoencoder::CONFIG,
);
/// So does the autoencoder.
static AUTOENCODER_TOKENIZER: &File = &INFILL_TOKENIZER;

/// The token that ends a text of the rewriter.
const REWRITER_END: u32 = 2;

/// μ and σ of the rewriter's logits, as measured by `teda models calibrate builtin`.
const REWRITER_LOGITS: (f64, f64) = (-2.844976, 2.466567);

/// μ and σ of the infilling model's logits at gaps, as measured by `teda models calibrate builtin-infill`.
const INFILL_LOGITS: (f64, f64) = (-5.225089, 2.527953);

/// The built-in sentence encoder.
///
/// # Errors
/// If the shipped files do not fit together, which a test rules out.
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
pub fn infill(options: Options, backend: &Backend) -> Result<Infill> {
    let config = INFILL_CONFIG.json()?;
    let tensors = INFILL_WEIGHTS.tensors()?;
    let model = MaskedLm::of("builtin", &tensors, &config, &backend.on_processor())?;
    Infill::new(model, tokenizer(&INFILL_TOKENIZER)?, options)
}

/// The infilling model as a masked language model that exposes its logits; `memory` bounds the states that are kept,
/// in bytes.
///
/// # Errors
/// If the shipped files do not fit together, which a test rules out.
pub fn fill_mask(memory: usize, backend: &Backend) -> Result<FillMask> {
    let config = INFILL_CONFIG.json()?;
    let tensors = INFILL_WEIGHTS.tensors()?;
    let model = MaskedLm::of("builtin", &tensors, &config, &backend.on_processor())?;
    let options = fill_mask::Options {
        memory,
        states: None,
        logit_moments: Some(INFILL_LOGITS),
    };
    FillMask::new(model, tokenizer(&INFILL_TOKENIZER)?, &options)
}

/// The infilling model as an encoder to be fine-tuned: RoBERTa's shape, 3 layers of width 192.
///
/// # Errors
/// If the shipped files do not fit together, which a test rules out.
pub fn pretrained() -> Result<Pretrained> {
    Pretrained::new(Checkpoint {
        name: "builtin".to_owned(),
        config: INFILL_CONFIG.json()?,
        tensors: Box::new(INFILL_WEIGHTS.tensors()?),
        tokenizer: tokenizer(&INFILL_TOKENIZER)?,
        chat: None,
        ends: BTreeSet::new(),
        window: None,
        pooling: Pooling::First,
    })
}

/// The built-in rewriter: a small encoder-decoder that repeats a text, in its own words as far as the draws allow. It
/// does not follow instructions. `memory` bounds its keys and values, in bytes.
///
/// # Errors
/// If the shipped files do not fit together, which a test rules out.
pub fn rewriter(memory: usize, backend: &Backend) -> Result<LocalModel> {
    let checkpoint = Checkpoint {
        name: "builtin".to_owned(),
        config: REWRITER_CONFIG.json()?,
        tensors: Box::new(REWRITER_WEIGHTS.tensors()?),
        tokenizer: tokenizer(REWRITER_TOKENIZER)?,
        chat: None,
        ends: BTreeSet::from([REWRITER_END]),
        window: None,
        pooling: Pooling::Mean,
    };
    let options = generate::Options {
        instructed: false,
        chat: false,
        memory,
        logit_moments: Some(REWRITER_LOGITS),
    };
    LocalModel::on(checkpoint, options, &backend.on_processor())
}

/// The built-in autoencoder: two small LSTMs that repeat a text of up to 19 pieces.
///
/// # Errors
/// If the shipped files do not fit together, which a test rules out.
pub fn autoencoder() -> Result<LstmAutoencoder> {
    LstmAutoencoder::of(
        AUTOENCODER_WEIGHTS.name,
        &AUTOENCODER_WEIGHTS.tensors()?,
        &AUTOENCODER_CONFIG.json()?,
        tokenizer(AUTOENCODER_TOKENIZER)?,
    )
}

/// The shipped models by kind, as [`digests`] lists their files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Model {
    /// [`encoder()`].
    Encoder,
    /// [`infill()`].
    Infill,
    /// [`rewriter()`].
    Rewriter,
    /// [`autoencoder()`].
    Autoencoder,
}

/// Name and SHA-256 (hexadecimal) of every file of a shipped model, for a run's manifest.
#[must_use]
pub fn digests(model: Model) -> Vec<(&'static str, String)> {
    let files: &[&File] = match model {
        Model::Encoder => &[&ENCODER_WEIGHTS, &ENCODER_TOKENIZER],
        Model::Infill => &[&INFILL_WEIGHTS, &INFILL_CONFIG, &INFILL_TOKENIZER],
        Model::Rewriter => &[&REWRITER_WEIGHTS, &REWRITER_CONFIG, REWRITER_TOKENIZER],
        Model::Autoencoder => &[
            &AUTOENCODER_WEIGHTS,
            &AUTOENCODER_CONFIG,
            AUTOENCODER_TOKENIZER,
        ],
    };
    files
        .iter()
        .map(|file| (file.name, hexadecimal(&Sha256::digest(file.content))))
        .collect()
}

fn tokenizer(file: &File) -> Result<Tokenizer> {
    Tokenizer::from_bytes(file.content)
        .map_err(|e| Error::failed(format!("{}: not a tokenizer: {e}", file.name)))
}
