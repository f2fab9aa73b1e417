//! LSTM autoencoders, as ADePT's (Krishna et al. 2021).
//!
//! # Definition
//! A text is read token by token: (h, c) = LSTM(e(t), (h, c)) from zeros, with token vectors e. Its latent is the last
//! (h, c), one after the other. A text is written from a latent by a second LSTM that starts from it, with the first
//! token `<s>`, and then always the likeliest token before: logits = E·tanh(D·h + d) + b, E being the token vectors.
//! It ends with `</s>` or after `max_length` tokens. With `reads_backwards` a text is read from its end, `</s>`, to its
//! first token: what is written first was then read last (Sutskever et al. 2014).
//!
//! An LSTM's step (Hochreiter and Schmidhuber 1997) is i, f, g, o = W·[x; h] + b, c ← σ(f)·c + σ(i)·tanh(g),
//! h ← σ(o)·tanh(c), as PyTorch's.
//!
//! # Files
//! `config.json` (`model_type` "lstm-autoencoder"), `tokenizer.json`, and safetensors with PyTorch's names: `embeddings`,
//! `encoder` and `decoder` (`weight_ih_l0`, …), `dense`, `bias`. One call uses one thread for some texts at a time.

use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;
use serde::Deserialize;
use teda_core::{Autoencoder, Error, Result};
use tokenizers::Tokenizer;

use crate::checkpoint::{Checkpoint, Tensors, decode, encode};
use crate::kernel::linear::Linear;
use crate::kernel::math::{all_finite, exp};

/// Texts per task: enough for the products to be wide.
const TASK: usize = 32;

/// The name in `config.json`.
const MODEL_TYPE: &str = "lstm-autoencoder";

#[derive(Debug, Clone, Deserialize)]
struct Config {
    vocab_size: usize,
    embedding_size: usize,
    hidden_size: usize,
    /// Tokens that are read and written at most, `</s>` included.
    max_length: usize,
    #[serde(default)]
    reads_backwards: bool,
    bos_token_id: u32,
    eos_token_id: u32,
}

/// An autoencoder of two LSTMs.
pub struct LstmAutoencoder {
    name: String,
    config: Config,
    tokenizer: Tokenizer,
    /// Token vectors, `[vocabulary × embedding]`.
    embeddings: Vec<f32>,
    encoder: Cell,
    decoder: Cell,
    dense: Linear,
    output: Linear,
}

/// One LSTM.
struct Cell {
    hidden: usize,
    /// `[x; h]` → `[i; f; g; o]`.
    gates: Linear,
}

/// The states of some texts, `[texts × hidden]` each.
struct Memory {
    h: Vec<f32>,
    c: Vec<f32>,
}

impl LstmAutoencoder {
    /// The model of an opened checkpoint.
    ///
    /// # Errors
    /// Failed, if it is another kind of model or its files do not fit together.
    pub fn load(checkpoint: Checkpoint) -> Result<Self> {
        let name = checkpoint.name.clone();
        Self::of(
            &name,
            &*checkpoint.tensors,
            &checkpoint.config,
            checkpoint.tokenizer,
        )
        .map_err(|e| e.context(format!("model '{name}'")))
    }

    /// Whether `checkpoint` is such a model.
    #[must_use]
    pub fn fits(checkpoint: &Checkpoint) -> bool {
        checkpoint.config["model_type"] == MODEL_TYPE
    }

    /// Builds the model from its parts; `name` is its name in messages.
    ///
    /// # Errors
    /// Failed, if the configuration is of another kind or does not fit tensors and tokenizer.
    pub(crate) fn of(
        name: &str,
        tensors: &dyn Tensors,
        config: &serde_json::Value,
        tokenizer: Tokenizer,
    ) -> Result<Self> {
        if config["model_type"] != MODEL_TYPE {
            return Err(Error::failed(format!(
                "config.json: model_type {} is not '{MODEL_TYPE}'",
                config["model_type"]
            )));
        }
        let config: Config = serde_json::from_value(config.clone())
            .map_err(|e| Error::failed(format!("config.json: {e}")))?;
        let Config {
            vocab_size,
            embedding_size: width,
            hidden_size: hidden,
            ..
        } = config;
        if [vocab_size, width, hidden, config.max_length].contains(&0) {
            return Err(Error::failed("config.json: a size is 0"));
        }
        if tokenizer.get_vocab_size(true) > vocab_size
            || config.bos_token_id.max(config.eos_token_id) as usize >= vocab_size
        {
            return Err(Error::failed(format!(
                "config.json: a tokenizer of {} tokens and the special tokens {} and {} do not fit vocab_size {vocab_size}",
                tokenizer.get_vocab_size(true),
                config.bos_token_id,
                config.eos_token_id
            )));
        }
        let embeddings = tensors.floats("embeddings.weight", &[vocab_size, width])?;
        let dense = tensors.floats("dense.weight", &[width, hidden])?;
        let dense_bias = tensors.floats("dense.bias", &[width])?;
        let bias = tensors.floats("bias", &[vocab_size])?;
        Ok(Self {
            encoder: Cell::new(tensors, "encoder", width, hidden)?,
            decoder: Cell::new(tensors, "decoder", width, hidden)?,
            dense: Linear::new(None, hidden, dense.chunks_exact(hidden), &dense_bias),
            output: Linear::new(None, width, embeddings.chunks_exact(width), &bias),
            name: name.to_owned(),
            config,
            tokenizer,
            embeddings,
        })
    }

    fn embedding(&self, token: u32) -> &[f32] {
        let width = self.config.embedding_size;
        &self.embeddings[token as usize * width..][..width]
    }

    /// The tokens of a text and `</s>`, in the order in which they are read.
    fn tokens(&self, text: &str) -> Result<Vec<u32>> {
        let mut tokens = encode(&self.tokenizer, text, false)?;
        tokens.truncate(self.config.max_length - 1);
        tokens.push(self.config.eos_token_id);
        if self.config.reads_backwards {
            tokens.reverse();
        }
        Ok(tokens)
    }

    /// The latents of some texts, `[texts × 2·hidden]`.
    fn read(&self, texts: &[&str]) -> Result<Vec<f32>> {
        let rows: Vec<Vec<u32>> = texts
            .iter()
            .map(|text| self.tokens(text))
            .collect::<Result<_>>()?;
        // The longest first: those that are still being read are then the first ones.
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|row| std::cmp::Reverse(rows[*row].len()));
        let mut memory = Memory::zeros(rows.len() * self.config.hidden_size);
        for step in 0.. {
            let tokens: Vec<u32> = order
                .iter()
                .map_while(|row| rows[*row].get(step).copied())
                .collect();
            if tokens.is_empty() {
                break;
            }
            let inputs: Vec<&[f32]> = tokens.iter().map(|token| self.embedding(*token)).collect();
            self.encoder.step(&inputs, &mut memory);
        }
        let hidden = self.config.hidden_size;
        let mut latents = vec![0.0; rows.len() * 2 * hidden];
        for (place, row) in order.into_iter().enumerate() {
            let latent = &mut latents[row * 2 * hidden..][..2 * hidden];
            latent[..hidden].copy_from_slice(&memory.h[place * hidden..][..hidden]);
            latent[hidden..].copy_from_slice(&memory.c[place * hidden..][..hidden]);
        }
        Ok(latents)
    }

    /// The texts written from some latents, row by row.
    fn write(&self, latents: &[f32]) -> Result<Vec<String>> {
        let hidden = self.config.hidden_size;
        let mut memory = Memory::zeros(0);
        for latent in latents.chunks_exact(2 * hidden) {
            memory.h.extend_from_slice(&latent[..hidden]);
            memory.c.extend_from_slice(&latent[hidden..]);
        }
        let count = memory.h.len() / hidden;
        let mut made: Vec<Vec<u32>> = vec![Vec::new(); count];
        let mut last = vec![self.config.bos_token_id; count];
        for _ in 0..self.config.max_length {
            let inputs: Vec<&[f32]> = last.iter().map(|token| self.embedding(*token)).collect();
            self.decoder.step(&inputs, &mut memory);
            let mut dense = self.dense.apply(&memory.h);
            dense.iter_mut().for_each(|x| *x = tanh(*x));
            let logits = self.output.apply(&dense);
            if !all_finite(&logits) {
                return Err(Error::failed(format!(
                    "model '{}': its logits are not all finite numbers: its weights or its configuration are damaged",
                    self.name
                )));
            }
            for ((row, last), logits) in made
                .iter_mut()
                .zip(&mut last)
                .zip(logits.chunks_exact(self.config.vocab_size))
            {
                *last = likeliest(logits);
                row.push(*last);
            }
        }
        let text = |mut tokens: Vec<u32>| {
            let end = tokens
                .iter()
                .position(|token| *token == self.config.eos_token_id);
            tokens.truncate(end.unwrap_or(tokens.len()));
            Ok(decode(&self.tokenizer, &tokens)?.trim().to_owned())
        };
        made.into_iter().map(text).collect()
    }
}

/// The first of the tokens with the highest logit.
fn likeliest(logits: &[f32]) -> u32 {
    let mut best = 0;
    for (token, logit) in logits.iter().enumerate() {
        if *logit > logits[best] {
            best = token;
        }
    }
    best as u32
}

impl Cell {
    fn new(tensors: &dyn Tensors, name: &str, width: usize, hidden: usize) -> Result<Self> {
        let part = |part: &str, columns: usize| {
            tensors.floats(&format!("{name}.weight_{part}_l0"), &[4 * hidden, columns])
        };
        let bias = |part: &str| tensors.floats(&format!("{name}.bias_{part}_l0"), &[4 * hidden]);
        let (input, state) = (part("ih", width)?, part("hh", hidden)?);
        let rows: Vec<f32> = input
            .chunks_exact(width)
            .zip(state.chunks_exact(hidden))
            .flat_map(|(input, state)| [input, state].concat())
            .collect();
        let biases = bias("ih")?.into_iter().zip(bias("hh")?);
        let biases: Vec<f32> = biases.map(|(input, state)| input + state).collect();
        let inputs = width + hidden;
        Ok(Self {
            hidden,
            gates: Linear::new(None, inputs, rows.chunks_exact(inputs), &biases),
        })
    }

    /// One step of the first texts of `memory`, one for each input.
    fn step(&self, inputs: &[&[f32]], memory: &mut Memory) {
        let hidden = self.hidden;
        let states = memory.h.chunks_exact(hidden);
        let rows: Vec<f32> = inputs
            .iter()
            .zip(states)
            .flat_map(|(x, h)| [x, h].concat())
            .collect();
        let gates = self.gates.apply(&rows);
        let states = memory
            .h
            .chunks_exact_mut(hidden)
            .zip(memory.c.chunks_exact_mut(hidden));
        for (gates, (h, c)) in gates.chunks_exact(4 * hidden).zip(states) {
            for (place, (h, c)) in h.iter_mut().zip(c).enumerate() {
                let [i, f, g, o] = std::array::from_fn(|gate| gates[gate * hidden + place]);
                *c = sigmoid(f) * *c + sigmoid(i) * tanh(g);
                *h = sigmoid(o) * tanh(*c);
            }
        }
    }
}

impl Memory {
    fn zeros(numbers: usize) -> Self {
        Self {
            h: vec![0.0; numbers],
            c: vec![0.0; numbers],
        }
    }
}

/// 1 / (1 + e^−x).
fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + exp((-x).min(88.0)))
}

/// 2σ(2x) − 1.
fn tanh(x: f32) -> f32 {
    2.0 * sigmoid(2.0 * x) - 1.0
}

impl Autoencoder for LstmAutoencoder {
    fn dimension(&self) -> usize {
        2 * self.config.hidden_size
    }

    fn encode(&self, texts: &[&str]) -> Result<Array2<f32>> {
        let parts: Vec<Vec<f32>> = texts
            .par_chunks(TASK)
            .map(|texts| self.read(texts))
            .collect::<Result<_>>()?;
        let shape = (texts.len(), self.dimension());
        Ok(Array2::from_shape_vec(shape, parts.concat()).expect("a text has one latent"))
    }

    fn decode(&self, latents: ArrayView2<'_, f32>) -> Result<Vec<String>> {
        if latents.ncols() != self.dimension() {
            return Err(Error::failed(format!(
                "model '{}': latents of {} numbers, not of {}",
                self.name,
                latents.ncols(),
                self.dimension()
            )));
        }
        let numbers: Vec<f32> = latents.iter().copied().collect();
        let parts: Vec<Vec<String>> = numbers
            .par_chunks(TASK * self.dimension())
            .map(|latents| self.write(latents))
            .collect::<Result<_>>()?;
        Ok(parts.concat())
    }
}
