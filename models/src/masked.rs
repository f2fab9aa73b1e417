//! Masked language models.
//!
//! # Definition
//! A bidirectional encoder with the head decode(norm(gelu(dense(h)))) (Liu et al. 2019). A row's result has the same
//! bits in any batch, and head and last layer run only at the requested positions. One call uses one thread; callers
//! run several calls side by side.
//!
//! # Deviations
//! Pad tokens inside a row are dropped, which is equivalent to an attention mask and position numbers that skip pads.

use std::ops::Range;

use ndarray::Array2;
use serde_json::Value;
use teda_core::{Error, Result, State};

use crate::architecture;
use crate::checkpoint::{Checkpoint, Tensors};
use crate::matrix::{Backend, Matrix, finite};
use crate::transformer::Masked;

/// One row of a batch.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// Token ids, including special tokens.
    pub tokens: &'a [u32],
    /// Indices into `tokens` whose output is requested.
    pub asked: &'a [usize],
}

/// A masked language model.
pub struct MaskedLm {
    name: String,
    masked: Masked,
}

impl MaskedLm {
    /// The model of an opened checkpoint.
    ///
    /// # Errors
    /// Failed, if it is another kind of model or its files do not fit together.
    pub fn load(checkpoint: &Checkpoint) -> Result<Self> {
        Self::on(checkpoint, &Backend::best())
    }

    /// Like [`MaskedLm::load`], on a given backend.
    ///
    /// # Errors
    /// Same as [`MaskedLm::load`].
    pub fn on(checkpoint: &Checkpoint, backend: &Backend) -> Result<Self> {
        let name = &checkpoint.name;
        let made = Self::of(name, &*checkpoint.tensors, &checkpoint.config, backend);
        made.map_err(|e| e.context(format!("model '{name}'")))
    }

    /// Builds the model from its tensors; `name` is its name in messages.
    ///
    /// # Errors
    /// Failed, if the configuration is of another kind or does not fit the tensors.
    pub(crate) fn of(
        name: &str,
        tensors: &dyn Tensors,
        config: &Value,
        backend: &Backend,
    ) -> Result<Self> {
        Ok(Self {
            name: name.to_owned(),
            masked: architecture::masked(tensors, config, backend)?,
        })
    }

    /// Whether `checkpoint` is a masked language model, which fills gaps but does not continue texts.
    #[must_use]
    pub fn fits(checkpoint: &Checkpoint) -> bool {
        architecture::is_masked(&checkpoint.config)
    }

    /// The same model with a decoder for only `tokens`: column j of the logits is `tokens[j]`.
    ///
    /// # Errors
    /// If a token is outside the vocabulary.
    pub fn restricted_to(self, tokens: &[u32]) -> Result<Self> {
        let masked = self.masked.restricted_to(tokens)?;
        Ok(Self { masked, ..self })
    }

    /// Number of tokens in the vocabulary.
    #[must_use]
    pub fn vocabulary(&self) -> usize {
        self.masked.encoder.vocabulary
    }

    /// Numbers in a hidden state.
    #[must_use]
    pub fn hidden(&self) -> usize {
        self.masked.encoder.embeddings.hidden
    }

    /// Most tokens that a row may have, not counting pads.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.masked.encoder.longest
    }

    /// Hidden states after the last layer, `[asked × hidden]`: the requested positions of the first row, then of the
    /// second, and so on.
    ///
    /// # Errors
    /// If a row is empty or too long, a token is outside the vocabulary, or a requested position is outside its row or
    /// a pad.
    pub fn hidden_states(&self, rows: &[Row<'_>]) -> Result<Array2<f32>> {
        let states = self.states(rows)?.into_values()?;
        Ok(array(states, self.hidden()))
    }

    /// Logits, `[asked × vocabulary]`, in the order of [`MaskedLm::hidden_states`].
    ///
    /// # Errors
    /// Same as [`MaskedLm::hidden_states`].
    pub fn logits(&self, rows: &[Row<'_>]) -> Result<Array2<f32>> {
        let head = &self.masked.head;
        let logits = head.logits(&self.states(rows)?)?.into_values()?;
        let logits =
            finite("logits", logits).map_err(|e| e.context(format!("model '{}'", self.name)))?;
        Ok(array(logits, head.decoder.outputs()))
    }

    /// norm(gelu(dense(h))), `[asked × hidden]`, in the order of [`MaskedLm::hidden_states`]: what logits are a linear
    /// function of.
    ///
    /// # Errors
    /// Same as [`MaskedLm::hidden_states`].
    pub fn features(&self, rows: &[Row<'_>]) -> Result<Array2<f32>> {
        let features = self.masked.head.features(&self.states(rows)?)?;
        Ok(array(
            features.into_values()?,
            self.masked.encoder.embeddings.hidden,
        ))
    }

    /// The logits of `tokens` for each of `features`, `[features × tokens]`.
    ///
    /// # Errors
    /// If a logit is not finite.
    pub fn decode(&self, features: &[&State], tokens: Range<usize>) -> Result<Vec<f32>> {
        let features = features.iter().flat_map(|state| &state[..]).copied();
        let features: Vec<f32> = features.collect();
        let logits = self.masked.head.decoder.apply_some(&features, tokens)?;
        finite("logits", logits).map_err(|e| e.context(format!("model '{}'", self.name)))
    }

    fn states(&self, rows: &[Row<'_>]) -> Result<Matrix> {
        let rows: Vec<(Vec<u32>, Vec<usize>)> = rows
            .iter()
            .enumerate()
            .map(|(index, row)| {
                self.without_pads(row)
                    .map_err(|e| e.context(format!("row {index}")))
            })
            .collect::<Result<_>>()?;
        let rows = rows
            .iter()
            .map(|(tokens, asked)| (&tokens[..], asked.clone()))
            .collect();
        self.masked.encoder.run(rows)
    }

    fn without_pads(&self, row: &Row<'_>) -> Result<(Vec<u32>, Vec<usize>)> {
        let mut tokens = Vec::with_capacity(row.tokens.len());
        // Where each token went; `None` for a pad.
        let places: Vec<Option<usize>> = row
            .tokens
            .iter()
            .map(|token| {
                let kept = *token != self.masked.pad;
                let place = kept.then_some(tokens.len());
                tokens.extend(kept.then_some(*token));
                place
            })
            .collect();
        let asked = row
            .asked
            .iter()
            .map(|position| {
                places.get(*position).copied().flatten().ok_or_else(|| {
                    Error::failed(format!(
                        "position {position} is a pad or outside the row of {}",
                        row.tokens.len()
                    ))
                })
            })
            .collect::<Result<_>>()?;
        Ok((tokens, asked))
    }
}

fn array(values: Vec<f32>, columns: usize) -> Array2<f32> {
    let rows = values.len().checked_div(columns).unwrap_or(0);
    Array2::from_shape_vec((rows, columns), values).expect("an operation fills whole rows")
}
