//! The RoBERTa masked language model on the CPU.
//!
//! # Definition
//! Post-norm transformer encoder (Liu et al. 2019) with the masked-language-model head
//! decode(norm(gelu(dense(h)))), the decoder tied to the word embeddings. A token's position is
//! `pad_token_id + 1` plus the number of tokens before it.
//!
//! # How it runs
//! candle reads and converts the weights; the products run on the crate's own kernels, because
//! candle 0.11's matrix product is AVX2 only, may split work over threads at every product, and
//! changes a row's last bits with the padded length. A batch is ragged: its tokens form one
//! `[tokens × hidden]` matrix without padding, attention runs row by row, and a row's result has the
//! same bits in any batch. The last layer computes queries, feed-forward and head only at
//! the positions asked for. One call uses one thread; callers run several calls side by side.
//!
//! # Deviations
//! Pad tokens inside a row are dropped, which is what an attention mask and position numbers that
//! skip pads amount to.

use ndarray::Array2;
use teda_core::{Error, Result};

use super::batch::Batch;
use super::config::Config;
use super::loader::Loader;
use crate::kernel::activation::Activation;
use crate::kernel::attention::Attention;
use crate::kernel::linear::Linear;
use crate::kernel::normalise::LayerNorm;
use crate::weights::Weights;

/// One row of a batch.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// Token ids, special tokens included.
    pub tokens: &'a [u32],
    /// Indices into `tokens` whose output is asked for.
    pub asked: &'a [usize],
}

/// A RoBERTa masked language model.
pub struct Roberta {
    /// `[vocabulary × hidden]`.
    pub(super) words: Vec<f32>,
    /// Position and token-type embeddings added up, from the first position on: `[positions × hidden]`.
    pub(super) positions: Vec<f32>,
    pub(super) norm: LayerNorm,
    pub(super) layers: Vec<Layer>,
    pub(super) head: Head,
    pub(super) hidden: usize,
    pub(super) pad: u32,
}

pub(super) struct Layer {
    pub(super) heads: usize,
    pub(super) query: Linear,
    pub(super) key_value: Linear,
    pub(super) attention_output: Linear,
    pub(super) attention_norm: LayerNorm,
    pub(super) intermediate: Linear,
    pub(super) activation: Activation,
    pub(super) output: Linear,
    pub(super) norm: LayerNorm,
}

pub(super) struct Head {
    pub(super) dense: Linear,
    pub(super) norm: LayerNorm,
    pub(super) decoder: Linear,
    /// The decoder's bias over the whole vocabulary, from which a restricted one is cut.
    pub(super) bias: Vec<f32>,
}

impl Roberta {
    /// Loads a model from a safetensors file with Hugging Face's tensor names and its `config.json`.
    /// Messages call the files `name`/model.safetensors and `name`/config.json.
    ///
    /// # Errors
    /// Where a file is incomplete, a tensor is missing or has another shape than the configuration
    /// says, or the configuration is not supported; the message names file, tensor and shapes.
    pub fn load(name: &str, weights: &[u8], config: &[u8]) -> Result<Self> {
        let config = Config::parse(&format!("{name}/config.json"), config)?;
        let file = format!("{name}/model.safetensors");
        let loader = Loader {
            weights: Weights::parse(&file, weights)?,
            config,
        };
        loader.model()
    }

    /// The same model with a decoder for `tokens` alone: column j of the logits is `tokens[j]`.
    ///
    /// # Errors
    /// Where a token is outside the vocabulary.
    pub fn restricted_to(mut self, tokens: &[u32]) -> Result<Self> {
        if let Some(token) = tokens.iter().find(|t| **t as usize >= self.vocabulary()) {
            return Err(self.no_such_token(*token));
        }
        let bias: Vec<f32> = tokens.iter().map(|t| self.head.bias[*t as usize]).collect();
        let rows = tokens.iter().map(|token| self.word(*token));
        self.head.decoder = Linear::new(self.hidden, rows, &bias);
        Ok(self)
    }

    /// Number of tokens in the vocabulary.
    #[must_use]
    pub fn vocabulary(&self) -> usize {
        self.words.len() / self.hidden
    }

    /// The most tokens that a row may have, pads not counted.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.positions.len() / self.hidden
    }

    /// Hidden states after the last layer, `[asked × hidden]`: the asked positions of the first
    /// row, then of the second, and so on.
    ///
    /// # Errors
    /// Where a row is empty or too long, a token is outside the vocabulary, or a position asked for
    /// is outside its row or a pad.
    pub fn hidden_states(&self, rows: &[Row<'_>]) -> Result<Array2<f32>> {
        let batch = Batch::of(rows, self)?;
        let states = self.forward(&batch);
        Ok(matrix(states, self.hidden))
    }

    /// Logits, `[asked × vocabulary]`, in the order of [`Roberta::hidden_states`].
    ///
    /// # Errors
    /// Those of [`Roberta::hidden_states`].
    pub fn logits(&self, rows: &[Row<'_>]) -> Result<Array2<f32>> {
        let batch = Batch::of(rows, self)?;
        let states = self.forward(&batch);
        let logits = self.head.apply(&states);
        Ok(matrix(logits, self.head.decoder.outputs()))
    }

    fn forward(&self, batch: &Batch) -> Vec<f32> {
        let mut states = self.embed(batch);
        let (last, before) = self
            .layers
            .split_last()
            .expect("a checked configuration has layers");
        for layer in before {
            states = layer.apply(&states, &batch.ends, &states, &batch.ends);
        }
        let mut queries = Vec::with_capacity(batch.asked.len() * self.hidden);
        for token in &batch.asked {
            queries.extend_from_slice(&states[token * self.hidden..][..self.hidden]);
        }
        last.apply(&states, &batch.ends, &queries, &batch.asked_ends)
    }

    fn embed(&self, batch: &Batch) -> Vec<f32> {
        let mut states = Vec::with_capacity(batch.tokens.len() * self.hidden);
        let mut start = 0;
        for end in &batch.ends {
            let positions = self.positions.chunks_exact(self.hidden);
            for (token, position) in batch.tokens[start..*end].iter().zip(positions) {
                states.extend(self.word(*token).iter().zip(position).map(|(w, p)| w + p));
            }
            start = *end;
        }
        self.norm.apply(&mut states);
        states
    }

    fn word(&self, token: u32) -> &[f32] {
        &self.words[token as usize * self.hidden..][..self.hidden]
    }

    pub(super) fn no_such_token(&self, token: u32) -> Error {
        Error::failed(format!(
            "token {token} is outside the model's vocabulary of {}",
            self.vocabulary()
        ))
    }
}

fn matrix(values: Vec<f32>, columns: usize) -> Array2<f32> {
    let rows = values.len().checked_div(columns).unwrap_or(0);
    Array2::from_shape_vec((rows, columns), values).expect("a kernel fills whole rows")
}

impl Layer {
    /// The layer's output at the queries. Row i has the tokens `ends[i−1] … ends[i]` of `states`
    /// `[tokens × hidden]` and the queries `query_ends[i−1] … query_ends[i]` of `queries`
    /// `[asked × hidden]`.
    fn apply(
        &self,
        states: &[f32],
        ends: &[usize],
        queries: &[f32],
        query_ends: &[usize],
    ) -> Vec<f32> {
        let projected = self.query.apply(queries);
        let keys_values = self.key_value.apply(states);
        let mut attended = vec![0.0; queries.len()];
        let hidden = self.query.outputs();
        let (mut start, mut query_start) = (0, 0);
        for (end, query_end) in ends.iter().zip(query_ends) {
            let asked = query_start * hidden..query_end * hidden;
            Attention {
                queries: &projected[asked.clone()],
                keys_values: &keys_values[start * 2 * hidden..end * 2 * hidden],
                hidden,
                heads: self.heads,
                output: &mut attended[asked],
            }
            .run();
            (start, query_start) = (*end, *query_end);
        }
        let mut attended = self.attention_output.apply(&attended);
        self.attention_norm.apply_to_sum(&mut attended, queries);
        let mut wide = self.intermediate.apply(&attended);
        self.activation.apply(&mut wide);
        let mut output = self.output.apply(&wide);
        self.norm.apply_to_sum(&mut output, &attended);
        output
    }
}

impl Head {
    fn apply(&self, states: &[f32]) -> Vec<f32> {
        let mut dense = self.dense.apply(states);
        // RoBERTa's head has gelu whatever the layers' activation is.
        Activation::Gelu.apply(&mut dense);
        self.norm.apply(&mut dense);
        self.decoder.apply(&dense)
    }
}
