//! A small world to attack: tokens that are words, and a run's context over any texts.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2};
use teda_core::{Encoder, Observation, Result, Seed, TokenMap};

use crate::entry::Context;
use crate::text::hash;

const TOKENS: usize = 512;
const DIMENSION: usize = 8;

/// Every word is one of this many tokens, by its hash.
struct Toy {
    vectors: Array2<f32>,
    released: Vec<u32>,
}

impl Toy {
    fn new() -> Self {
        let mut stream = Seed::root(9).named("toy").stream();
        let mut vectors =
            Array2::from_shape_simple_fn((TOKENS, DIMENSION), || stream.uniform() as f32 - 0.5);
        for mut row in vectors.rows_mut() {
            let norm = row.dot(&row).sqrt();
            row /= norm;
        }
        let released = (0..TOKENS as u32).collect();
        Self { vectors, released }
    }
}

impl TokenMap for Toy {
    fn tokenize(&self, text: &str) -> Vec<u32> {
        let token = |word: &str| (hash(word.bytes()) % TOKENS as u64) as u32;
        text.split_whitespace().map(token).collect()
    }

    fn detokenize(&self, tokens: &[u32]) -> String {
        let names: Vec<String> = tokens.iter().map(|token| format!("t{token}")).collect();
        names.join(" ")
    }

    fn vectors(&self) -> ArrayView2<'_, f32> {
        self.vectors.view()
    }

    fn released(&self) -> &[u32] {
        &self.released
    }
}

impl Encoder for Toy {
    fn encode(&self, texts: &[&str]) -> Result<Array2<f32>> {
        let mut rows = Array2::zeros((texts.len(), DIMENSION));
        for (mut row, text) in rows.rows_mut().into_iter().zip(texts) {
            for token in self.tokenize(text) {
                row += &self.vectors.row(token as usize);
            }
            let norm = row.dot(&row).sqrt();
            if norm > 0.0 {
                row /= norm;
            }
        }
        Ok(rows)
    }

    fn dimension(&self) -> usize {
        DIMENSION
    }
}

/// The context of a run over `texts`.
pub(crate) fn context(texts: &[impl AsRef<str>]) -> Context {
    let toy = Arc::new(Toy::new());
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    Context {
        vectors: Arc::new(toy.encode(&texts).expect("a toy never fails")),
        texts: texts.into_iter().map(String::from).collect(),
        encoder: toy.clone(),
        tokens: toy,
        judge: None,
        writer: None,
    }
}

/// What an adversary sees of a trial.
pub(crate) fn observation<'a>(candidates: &'a [usize], release: &'a str) -> Observation<'a> {
    Observation {
        candidates,
        release,
        log_likelihoods: &[],
        seed: Seed::root(0),
    }
}
