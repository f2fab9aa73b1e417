//! A checkpoint of an encoder, opened to be fine-tuned.

use teda_core::{Error, Result, Seed};
use tokenizers::{Tokenizer, TruncationParams};

use super::model::{Model, Shape};
use super::parameters::Parameters;
use crate::checkpoint::{Checkpoint, Tensors, encode};

/// Most tokens that are read of a text, as in BERT.
const LONGEST: usize = 512;
/// The standard deviation of a new head's weights, where the configuration names none.
const DEVIATION: f64 = 0.02;

/// A pretrained encoder: BERT, RoBERTa, or DeBERTa-v2 or -v3.
pub struct Pretrained {
    pub(super) name: String,
    shape: Shape,
    tensors: Box<dyn Tensors>,
    prefix: &'static str,
    tokenizer: Tokenizer,
    deviation: f64,
    /// What short texts of a part are filled up with.
    pub(super) pad: u32,
    /// Word vectors, `[vocabulary × hidden]`.
    words: Vec<f32>,
    longest: usize,
}

impl Pretrained {
    /// The encoder of an opened checkpoint.
    ///
    /// # Errors
    /// Failed, if it is another kind of model or its files do not fit together.
    pub fn new(checkpoint: Checkpoint) -> Result<Self> {
        let name = checkpoint.name.clone();
        Self::of(checkpoint).map_err(|e| e.context(format!("model '{name}'")))
    }

    fn of(checkpoint: Checkpoint) -> Result<Self> {
        let config = &checkpoint.config;
        let shape = Shape::of(config)?;
        let longest = shape.longest()?.min(LONGEST);
        let tensors = checkpoint.tensors;
        let table = |prefix: &str| format!("{prefix}embeddings.word_embeddings.weight");
        let below = tensors.shape(&table(shape.prefix())).is_some();
        let prefix = if below { shape.prefix() } else { "" };
        let hidden = shape.hidden();
        let vocabulary = match tensors.shape(&table(prefix)).as_deref() {
            Some([vocabulary, _]) => *vocabulary,
            _ => config["vocab_size"].as_u64().unwrap_or_default() as usize,
        };
        let words = tensors.floats(&table(prefix), &[vocabulary, hidden])?;
        let pad = config["pad_token_id"].as_u64().unwrap_or_default();
        let pad = u32::try_from(pad)
            .ok()
            .filter(|pad| (*pad as usize) < vocabulary)
            .ok_or_else(|| {
                Error::failed(format!(
                    "config.json: pad_token_id is {pad}, outside the vocabulary of {vocabulary}"
                ))
            })?;
        let mut tokenizer = checkpoint.tokenizer;
        let special = encode(&tokenizer, "", true)?.len();
        if special == 0 {
            return Err(Error::failed(
                "tokenizer.json puts no token of its own before a text, and the head reads that of the first one",
            ));
        }
        if longest <= special {
            return Err(Error::failed(format!(
                "it reads {longest} tokens of a text, and {special} of them are its own"
            )));
        }
        tokenizer
            .with_truncation(Some(TruncationParams {
                max_length: longest,
                ..Default::default()
            }))
            .map_err(|e| Error::failed(e.to_string()))?;
        Ok(Self {
            name: checkpoint.name,
            deviation: config["initializer_range"].as_f64().unwrap_or(DEVIATION),
            shape,
            tensors,
            prefix,
            tokenizer,
            pad,
            words,
            longest,
        })
    }

    /// Most tokens that it reads of a text, its own included.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Numbers in a state.
    pub(super) fn hidden(&self) -> usize {
        self.shape.hidden()
    }

    /// The name of the word vectors in a file.
    pub(super) fn table(&self) -> String {
        format!("{}embeddings.word_embeddings.weight", self.prefix)
    }

    /// The tokens of a text, cut at the longest.
    ///
    /// # Errors
    /// If the tokenizer fails, or a token has no vector.
    pub(super) fn tokens(&self, text: &str) -> Result<Vec<u32>> {
        let tokens = encode(&self.tokenizer, text, true)?;
        let vocabulary = self.words.len() / self.hidden();
        match tokens.iter().find(|token| **token as usize >= vocabulary) {
            None => Ok(tokens),
            Some(token) => Err(Error::failed(format!(
                "tokenizer.json gives token {token}, outside the vocabulary of {vocabulary}"
            ))),
        }
    }

    /// The vector of a token.
    pub(super) fn word(&self, token: u32) -> &[f32] {
        &self.words[token as usize * self.hidden()..][..self.hidden()]
    }

    /// Where parameters are read from; those of a new head are drawn from `seed`.
    pub(super) fn parameters(&self, seed: Seed) -> Parameters<'_> {
        Parameters::of(&*self.tensors, seed, self.deviation)
    }

    /// The model above the word vectors.
    ///
    /// # Errors
    /// If a parameter is missing or has another shape.
    pub(super) fn build(&self, classes: usize, from: &mut Parameters<'_>) -> Result<Model> {
        self.shape.build(self.prefix, classes, from)
    }
}
