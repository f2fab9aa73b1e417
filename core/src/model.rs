//! The traits behind which models stand, so that mechanisms and attacks know none by name.

use ndarray::{Array2, ArrayView2};

use crate::{Query, Result};

/// A sentence encoder.
pub trait Encoder: Send + Sync {
    /// Sentence vectors, `[texts × dimension]`, each of Euclidean norm 1, or 0 for a text without
    /// any known token. Row i depends on text i alone.
    ///
    /// # Errors
    /// Where the model fails.
    fn encode(&self, texts: &[&str]) -> Result<Array2<f32>>;

    /// Length of a sentence vector.
    fn dimension(&self) -> usize;
}

/// A public vocabulary V with an embedding of every token: what word-level mechanisms draw from.
pub trait TokenMap: Send + Sync {
    /// The tokens of `text`, as row numbers of [`TokenMap::vectors`]. Every text has a defined
    /// result; characters outside the vocabulary become the unknown token.
    fn tokenize(&self, text: &str) -> Vec<u32>;

    /// The text that `tokens` stand for.
    fn detokenize(&self, tokens: &[u32]) -> String;

    /// Token vectors, `[tokens × dimension]`, of norm 1, or 0 for special and unknown tokens.
    fn vectors(&self) -> ArrayView2<'_, f32>;

    /// The tokens that may be released, ascending: all but special and reserved ones.
    fn released(&self) -> &[u32];
}

/// How to sample from a text generator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Divides the logits; > 0.
    pub temperature: f64,
}

/// A black-box rewriter: text in, text out. What it sees, it may reveal.
pub trait TextGenerator: Send + Sync {
    /// `n` rewrites of each query's text, `[queries][n]`. Row i depends on query i alone.
    ///
    /// # Errors
    /// Where the model fails.
    fn complete(
        &self,
        queries: &[Query<'_>],
        n: usize,
        sampling: Sampling,
    ) -> Result<Vec<Vec<String>>>;
}
