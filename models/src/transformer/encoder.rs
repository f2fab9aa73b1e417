//! A bidirectional encoder over independent rows.

use teda_core::{Error, Result};

use super::memory::{Memory, Shape};
use super::{Embeddings, Pass, Stack};
use crate::matrix::{Backend, Matrix};

/// Embeddings and layers whose tokens all see each other.
pub(crate) struct Encoder {
    pub(crate) backend: Backend,
    pub(crate) embeddings: Embeddings,
    pub(crate) stack: Stack,
    pub(crate) shape: Shape,
    pub(crate) vocabulary: usize,
    /// Most tokens that a row may have.
    pub(crate) longest: usize,
}

impl Encoder {
    /// The last layer's states at the requested tokens, `[asked × hidden]`: those of the first row, then of the
    /// second, and so on.
    ///
    /// # Errors
    /// If a row is empty or too long, a token is outside the vocabulary, or a requested position is outside its row.
    pub(crate) fn run(&self, rows: Vec<(&[u32], Vec<usize>)>) -> Result<Matrix> {
        let mut tokens = Vec::new();
        for (index, (row, asked)) in rows.iter().enumerate() {
            self.check(row, asked)
                .map_err(|e| e.context(format!("row {index}")))?;
            tokens.extend_from_slice(row);
        }
        let (mut pass, slots) =
            Pass::alone(rows.into_iter().map(|(row, asked)| (row.len(), asked)));
        pass.compare(&tokens);
        let x = self.embeddings.apply(&tokens, &pass.positions)?;
        let mut memory = Memory::scratch(&self.backend, self.shape, slots)?;
        self.stack.run(x, &pass, &mut memory, None)
    }

    /// The states at all tokens of rows of which only the first so many tokens are seen: the others fill them up.
    ///
    /// # Errors
    /// Same as [`Encoder::run`].
    pub(crate) fn run_filled(&self, rows: &[(&[u32], usize)]) -> Result<Matrix> {
        let mut tokens = Vec::new();
        for (index, (row, _)) in rows.iter().enumerate() {
            self.check(row, &[])
                .map_err(|e| e.context(format!("row {index}")))?;
            tokens.extend_from_slice(row);
        }
        let all = |row: &[u32]| (row.len(), (0..row.len()).collect());
        let (mut pass, slots) = Pass::alone(rows.iter().map(|(row, _)| all(row)));
        for (segment, (row, seen)) in pass.segments.iter_mut().zip(rows) {
            segment.padding = row.len() - seen;
        }
        let x = self.embeddings.apply(&tokens, &pass.positions)?;
        let mut memory = Memory::scratch(&self.backend, self.shape, slots)?;
        self.stack.run(x, &pass, &mut memory, None)
    }

    fn check(&self, row: &[u32], asked: &[usize]) -> Result<()> {
        if row.is_empty() || row.len() > self.longest {
            return Err(Error::failed(format!(
                "{} tokens, the model takes 1 to {}",
                row.len(),
                self.longest
            )));
        }
        check_tokens(row, self.vocabulary)?;
        match asked.iter().find(|place| **place >= row.len()) {
            Some(place) => Err(Error::failed(format!(
                "position {place} is outside the row of {}",
                row.len()
            ))),
            None => Ok(()),
        }
    }
}

/// # Errors
/// If a token is outside the vocabulary.
pub(crate) fn check_tokens(tokens: &[u32], vocabulary: usize) -> Result<()> {
    match tokens.iter().find(|token| **token as usize >= vocabulary) {
        Some(token) => Err(Error::failed(format!(
            "token {token} is outside the model's vocabulary of {vocabulary}"
        ))),
        None => Ok(()),
    }
}
