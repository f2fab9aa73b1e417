//! Sentence encoders: a transformer, and a vector for the whole text from those of its tokens.

use ndarray::{Array2, Axis};
use rayon::prelude::*;
use teda_core::{Encoder, Error, Result, TokenEncoder, TokenVectors};
use tokenizers::{Tokenizer, TruncationParams};

use crate::architecture;
use crate::checkpoint::{Checkpoint, Pooling, encode};
use crate::kernel::math::all_finite;
use crate::matrix::Backend;
use crate::transformer;

/// Texts per task: enough for the products to be wide, few enough for their activations to stay in the caches.
const TASK: usize = 32;

/// A sentence encoder (Reimers and Gurevych 2019). Of a text longer than the model's window only the beginning counts.
/// One task uses one thread, and tasks run side by side.
pub struct SentenceEncoder {
    name: String,
    encoder: transformer::Encoder,
    tokenizer: Tokenizer,
    /// The model's own tokens, which stand around every text.
    special: Vec<u32>,
    pooling: Pooling,
}

impl SentenceEncoder {
    /// The encoder of an opened checkpoint.
    ///
    /// # Errors
    /// Failed, if it is another kind of model or its files do not fit together.
    pub fn load(checkpoint: Checkpoint) -> Result<Self> {
        Self::on(checkpoint, &Backend::best())
    }

    /// Like [`SentenceEncoder::load`], on a given backend.
    ///
    /// # Errors
    /// Same as [`SentenceEncoder::load`].
    pub fn on(checkpoint: Checkpoint, backend: &Backend) -> Result<Self> {
        let encoder = architecture::encoder(&checkpoint, backend)?;
        let window = checkpoint.window.unwrap_or(usize::MAX).min(encoder.longest);
        let mut tokenizer = checkpoint.tokenizer;
        let special = encode(&tokenizer, "", true)?;
        if window <= special.len() {
            return Err(Error::failed(format!(
                "model '{}': it reads {window} tokens of a text, and {} of them are its own",
                checkpoint.name,
                special.len()
            )));
        }
        tokenizer
            .with_truncation(Some(TruncationParams {
                max_length: window,
                ..Default::default()
            }))
            .map_err(|e| Error::failed(format!("model '{}': {e}", checkpoint.name)))?;
        Ok(Self {
            name: checkpoint.name,
            encoder,
            tokenizer,
            special,
            pooling: checkpoint.pooling,
        })
    }

    /// The last layer's states for token sequences, all sequences one after the other, `[tokens × hidden]`.
    ///
    /// # Errors
    /// If a sequence is empty, too long or holds an unknown token.
    pub fn hidden_states(&self, rows: &[&[u32]]) -> Result<Array2<f32>> {
        let asked = rows
            .iter()
            .map(|row| (*row, (0..row.len()).collect()))
            .collect();
        let values = self.encoder.run(asked)?.into_values()?;
        let hidden = self.dimension();
        Ok(
            Array2::from_shape_vec((values.len() / hidden, hidden), values)
                .expect("states are whole rows"),
        )
    }

    fn task(&self, texts: &[&str], vectors: &mut [f32]) -> Result<()> {
        let rows: Vec<Vec<u32>> = texts
            .iter()
            .map(|text| encode(&self.tokenizer, text, true))
            .collect::<Result<_>>()?;
        // A tokenizer without special tokens gives no row for an empty text: its vector stays 0.
        let (places, rows): (Vec<usize>, Vec<&[u32]>) = rows
            .iter()
            .enumerate()
            .filter(|(_, row)| !row.is_empty())
            .map(|(place, row)| (place, &row[..]))
            .unzip();
        let states = self.hidden_states(&rows)?;
        let mut states = states.rows().into_iter();
        for (place, row) in places.into_iter().zip(rows) {
            let vector = &mut vectors[place * self.dimension()..][..self.dimension()];
            for (index, state) in states.by_ref().take(row.len()).enumerate() {
                if self.pooling == Pooling::Mean || index == 0 {
                    vector.iter_mut().zip(state).for_each(|(x, y)| *x += y);
                }
            }
            normalise(vector);
            if !all_finite(vector) {
                return Err(Error::failed(
                    "its vector of a text is not all finite numbers: its weights or its configuration are damaged",
                ));
            }
        }
        Ok(())
    }
}

/// Divides by the Euclidean norm (a mean's divisor cancels); 0 stays 0.
fn normalise(vector: &mut [f32]) {
    let square: f64 = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    if square > 0.0 {
        let scale = (1.0 / square.sqrt()) as f32;
        vector.iter_mut().for_each(|x| *x *= scale);
    }
}

impl Encoder for SentenceEncoder {
    fn encode(&self, texts: &[&str]) -> Result<Array2<f32>> {
        let dimension = self.dimension();
        let mut vectors = vec![0.0; texts.len() * dimension];
        vectors
            .par_chunks_mut(TASK * dimension)
            .zip(texts.par_chunks(TASK))
            .try_for_each(|(vectors, texts)| self.task(texts, vectors))
            .map_err(|e| e.context(format!("model '{}'", self.name)))?;
        Ok(Array2::from_shape_vec((texts.len(), dimension), vectors)
            .expect("one vector a text was allocated"))
    }

    fn dimension(&self) -> usize {
        self.encoder.embeddings.hidden
    }

    fn token_encoder(&self) -> Option<&dyn TokenEncoder> {
        Some(self)
    }
}

impl TokenEncoder for SentenceEncoder {
    fn token_vectors(&self, texts: &[&str]) -> Result<Vec<TokenVectors>> {
        let task = |texts: &[&str]| -> Result<Vec<TokenVectors>> {
            let rows: Vec<Vec<u32>> = texts
                .iter()
                .map(|text| encode(&self.tokenizer, text.trim(), true))
                .collect::<Result<_>>()?;
            let full: Vec<&[u32]> = rows
                .iter()
                .map(Vec::as_slice)
                .filter(|row| !row.is_empty())
                .collect();
            let states = self.hidden_states(&full)?;
            let mut first = 0;
            let vectors = |row: &Vec<u32>| {
                let place = first..first + row.len();
                first = place.end;
                TokenVectors {
                    vectors: states.slice_axis(Axis(0), place.into()).to_owned(),
                    special: row
                        .iter()
                        .map(|token| self.special.contains(token))
                        .collect(),
                }
            };
            Ok(rows.iter().map(vectors).collect())
        };
        let tasks: Vec<Vec<TokenVectors>> = texts
            .par_chunks(TASK)
            .map(task)
            .collect::<Result<_>>()
            .map_err(|e| e.context(format!("model '{}'", self.name)))?;
        Ok(tasks.into_iter().flatten().collect())
    }
}
