//! An encoder and a decoder apart: texts to vectors, and vectors to texts.

use ndarray::{Array1, Array2, ArrayView2};
use rayon::prelude::*;
use teda_core::{BeamSearch, EncoderDecoder, Error, Result};

use super::LocalModel;
use super::beam::Searcher;
use crate::checkpoint::decode;
use crate::matrix::finite;
use crate::transformer::SourceSide;

/// Texts per task: their products are wide enough, and their activations small enough.
const TASK: usize = 16;

impl LocalModel {
    /// # Errors
    /// Failed, if it has no encoder; only models that have one are used by their halves.
    fn side(&self) -> Result<&SourceSide> {
        let side = self.source.as_ref();
        side.ok_or_else(|| self.named(Error::failed("it has no encoder")))
    }

    fn pad(&self) -> Result<u32> {
        self.pad.ok_or_else(|| {
            self.named(Error::usage(
                "its config.json names no pad_token_id, with which short texts are filled up: take another encoder-decoder, such as facebook/bart-base",
            ))
        })
    }

    /// Exactly `tokens` tokens of a text, and how many of them are its own: the special tokens that the model expects
    /// around a text stay where its last words are left out.
    fn exactly(&self, text: &str, tokens: usize) -> Result<(Vec<u32>, usize)> {
        let mut row = self.tokens(text, true)?;
        let own = self.tokens(text, false)?;
        if row.len() > tokens {
            let special = row.len().saturating_sub(own.len());
            let begins = |before: &usize| row[*before..].starts_with(&own);
            let before = (0..=special).find(begins).unwrap_or(0);
            let kept = before + tokens.saturating_sub(special);
            let after = row.len() - special.saturating_sub(before);
            row.drain(kept..after);
            row.truncate(tokens);
        }
        let seen = row.len().max(1);
        row.resize(tokens, self.pad()?);
        Ok((row, seen))
    }
}

impl EncoderDecoder for LocalModel {
    fn hidden(&self) -> usize {
        self.decoder.embeddings.hidden
    }

    fn encode(&self, texts: &[&str], tokens: usize) -> Result<Array2<f32>> {
        let side = self.side()?;
        let longest = side.encoder.longest;
        if tokens == 0 || tokens > longest {
            return Err(self.named(Error::usage(format!(
                "{tokens} tokens of a text are to be read, and it has room for 1 to {longest}"
            ))));
        }
        let rows: Vec<(Vec<u32>, usize)> = texts
            .par_iter()
            .map(|text| self.exactly(text, tokens))
            .collect::<Result<_>>()?;
        let parts: Vec<Vec<f32>> = rows
            .par_chunks(TASK)
            .map(|rows| {
                let rows: Vec<(&[u32], usize)> =
                    rows.iter().map(|(row, seen)| (&row[..], *seen)).collect();
                finite("vectors", side.encoder.run_filled(&rows)?.into_values()?)
            })
            .collect::<Result<_>>()
            .map_err(|e| self.named(e))?;
        let shape = (texts.len(), tokens * self.hidden());
        Ok(Array2::from_shape_vec(shape, parts.concat()).expect("vectors are whole rows"))
    }

    fn key_weights(&self) -> Result<Array1<f64>> {
        let first = self.decoder.stack.blocks.first();
        let cross = first.and_then(|block| block.cross.as_ref());
        let cross = cross.ok_or_else(|| self.named(Error::failed("it has no cross-attention")))?;
        let keys = &cross.inner.0.key;
        let outputs: Vec<u32> = (0..keys.outputs() as u32).collect();
        let weights = keys.weights(&outputs)?;
        let mut sums = Array1::zeros(self.hidden());
        for row in weights.chunks_exact(self.hidden()) {
            for (sum, weight) in sums.iter_mut().zip(row) {
                *sum += f64::from(weight.abs());
            }
        }
        Ok(sums)
    }

    fn decode(&self, vectors: ArrayView2<'_, f32>, search: BeamSearch) -> Result<Vec<String>> {
        self.side()?;
        let rows: Vec<Vec<f32>> = vectors.rows().into_iter().map(|row| row.to_vec()).collect();
        let searcher = Searcher::new(self, search)?;
        let parts: Vec<Vec<Vec<u32>>> = rows
            .par_chunks(searcher.at_once())
            .map(|rows| searcher.search(rows))
            .collect::<Result<_>>()
            .map_err(|e| self.named(e))?;
        let text = |tokens: &Vec<u32>| decode(&self.tokenizer, tokens).map_err(|e| self.named(e));
        parts.iter().flatten().map(text).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Backend, builtin};

    #[test]
    fn a_text_is_cut_before_its_last_special_token_and_filled_up_after_it() {
        let model = builtin::rewriter(1 << 20, &Backend::F32).unwrap();
        let text = "play some jazz by miles davis";
        let whole = model.tokens(text, true).unwrap();
        let (begin, end, pad) = (0, 2, 1);
        assert!(whole.len() > 5 && whole[0] == begin && whole.ends_with(&[end]));
        let cut = [&whole[..4], &[end]].concat();
        assert_eq!(model.exactly(text, 5).unwrap(), (cut, 5));
        let length = whole.len();
        assert_eq!(
            model.exactly(text, length).unwrap(),
            (whole.clone(), length)
        );
        let filled = [&whole[..], &[pad; 3]].concat();
        assert_eq!(model.exactly(text, length + 3).unwrap(), (filled, length));
        assert_eq!(model.exactly(text, 1).unwrap().0, [begin]);
    }
}
