//! Candidate sets whose members differ in one token: the neighbours of token-level claims.
//!
//! # Definition
//! For every distinct text x of the data set, tokenised with the public vocabulary, one position p is drawn uniformly.
//! The set is x and k − 1 copies of it with other tokens at p. The tokens are drawn one after the other, like
//! candidate texts: π(t) ∝ exp(λ Σ_s ⟨e(t), e(s)⟩) over the tokens so far, x's own first (λ < 0 far, 0 uniform, λ > 0
//! near in embedding space). All members are written the same way, from their tokens, so that only the token tells
//! them apart, and each is tokenised back to the same number of tokens, one of them changed.
//!
//! The sets are drawn before any trial; a trial draws one of them uniformly and then its secret, as the estimator's
//! proof requires.
//!
//! # Deviations
//! A text that cannot be written back from its tokens, or that has no position for another whole word, has no such set
//! and is left out; the number of these is reported.

use std::sync::Arc;

use ndarray::{Array2, Axis};
use rayon::prelude::*;
use teda_core::sampling::TransitionSampler;
use teda_core::{Encoder, Error, Result, Seed, TokenMap};

use crate::audit::corpus::Corpus;

/// Draws one-token candidate sets of `corpus`.
pub struct OneToken<'a> {
    tokens: &'a dyn TokenMap,
    /// Tokens that are whole words: on their own, they are tokenised back to themselves.
    words: Vec<u32>,
    /// Their vectors, `[words × dimension]`.
    vectors: Array2<f32>,
    /// Indexed by token: its index in `words`.
    places: Vec<Option<usize>>,
}

/// A text with a position that any word can fill.
struct Frame {
    tokens: Vec<u32>,
    position: usize,
    /// The index of the text's own word there.
    own: usize,
    seed: Seed,
}

impl<'a> OneToken<'a> {
    /// The whole words of a vocabulary.
    #[must_use]
    pub fn new(tokens: &'a dyn TokenMap) -> Self {
        let words: Vec<u32> = tokens
            .released()
            .par_iter()
            .copied()
            .filter(|token| {
                let text = tokens.detokenize(&[*token]);
                text.chars().all(char::is_alphabetic) && tokens.tokenize(&text) == [*token]
            })
            .collect();
        let rows: Vec<usize> = words.iter().map(|token| *token as usize).collect();
        let mut places = vec![None; tokens.vectors().nrows()];
        for (place, row) in rows.iter().enumerate() {
            places[*row] = Some(place);
        }
        Self {
            vectors: tokens.vectors().select(Axis(0), &rows),
            tokens,
            words,
            places,
        }
    }

    /// The corpus of all sets of k texts: set i is texts k·i … k·i + k − 1, its own text first.
    ///
    /// # Errors
    /// Usage, if no text has a neighbour or the vocabulary has too few words; failed, if the encoder fails.
    pub fn corpus(
        &self,
        corpus: &Corpus,
        k: usize,
        lambda: f64,
        root: Seed,
        encoder: &dyn Encoder,
    ) -> Result<Corpus> {
        let sampler = TransitionSampler::new(self.vectors.view(), k, lambda)
            .map_err(|e| e.context("words of the public vocabulary"))?;
        let frames: Vec<Frame> = corpus
            .texts
            .par_iter()
            .enumerate()
            .filter_map(|(index, text)| self.frame(text, root.at(index as u64)))
            .collect();
        let texts: Vec<String> = frames
            .par_chunks(64)
            .flat_map_iter(|frames| self.sets(&sampler, k, frames))
            .collect();
        if texts.is_empty() {
            return Err(Error::usage(format!(
                "{}: no text has a word that another could stand for, so there are no one-token neighbours: take other texts or --neighbours any-texts",
                corpus.dataset.name
            )));
        }
        Corpus::derived(corpus, k, Arc::from(texts), encoder)
    }

    /// The text with a position drawn from those at which words can be exchanged.
    fn frame(&self, text: &str, seed: Seed) -> Option<Frame> {
        let tokens = self.tokens.tokenize(text);
        let mut open: Vec<usize> = (0..tokens.len())
            .filter(|p| self.places[tokens[*p] as usize].is_some())
            .collect();
        let mut stream = seed.named("position").stream();
        while !open.is_empty() {
            let position = open.swap_remove(stream.below(open.len()));
            // Two words of different kinds must both be read back; what is around them is the same for all.
            let stands = |word: u32| {
                let mut other = tokens.clone();
                other[position] = word;
                self.tokens.tokenize(&self.tokens.detokenize(&other)) == other
            };
            if stands(tokens[position]) && stands(self.words[0]) {
                return Some(Frame {
                    own: self.places[tokens[position] as usize]?,
                    tokens,
                    position,
                    seed,
                });
            }
        }
        None
    }

    /// The texts of the frames' sets, keeping only sets whose texts are all read back correctly.
    fn sets(&self, sampler: &TransitionSampler<'_>, k: usize, frames: &[Frame]) -> Vec<String> {
        let owns: Vec<usize> = frames.iter().map(|frame| frame.own).collect();
        let seeds: Vec<Seed> = frames.iter().map(|f| f.seed.named("words")).collect();
        let drawn = sampler.draw_after(&owns, &seeds);
        let mut texts = Vec::with_capacity(frames.len() * k);
        for (frame, words) in frames.iter().zip(drawn.chunks_exact(k)) {
            let members: Vec<Vec<u32>> = words
                .iter()
                .map(|word| {
                    let mut tokens = frame.tokens.clone();
                    tokens[frame.position] = self.words[*word];
                    tokens
                })
                .collect();
            let written: Vec<String> = members.iter().map(|m| self.tokens.detokenize(m)).collect();
            let read_back =
                |(text, tokens): (&String, &Vec<u32>)| self.tokens.tokenize(text) == *tokens;
            if written.iter().zip(&members).all(read_back) {
                texts.extend(written);
            }
        }
        texts
    }
}

#[cfg(test)]
mod tests {
    use teda_core::Seed;
    use teda_models::builtin;

    use super::*;

    fn corpus(texts: &[&str], encoder: &dyn Encoder) -> Corpus {
        let content = texts.join("\n");
        let request = teda_datasets::Request {
            source: "-".to_owned(),
            split: None,
            limit: None,
            min_words: None,
            max_words: None,
        };
        let limits = teda_datasets::Limits::default();
        let dataset = teda_datasets::load(&request, limits, &mut content.as_bytes()).unwrap();
        Corpus::new(dataset, encoder).unwrap()
    }

    #[test]
    fn members_differ_in_exactly_one_token() {
        let encoder = builtin::encoder().unwrap();
        let texts = [
            "Play some jazz, please!",
            "book a table for 4",
            "\u{1F600} 42 ?!",
            "electroencephalography",
            "What's the weather in Boston?",
        ];
        let corpus = corpus(&texts, &encoder);
        let one_token = OneToken::new(&encoder);
        for (k, lambda) in [(2, -10_000.0), (3, 0.0), (4, 10_000.0)] {
            let derived = one_token
                .corpus(&corpus, k, lambda, Seed::root(3), &encoder)
                .unwrap();
            assert!(derived.texts.len() >= 2 * k && derived.texts.len().is_multiple_of(k));
            for set in derived.texts.chunks(k) {
                let members: Vec<Vec<u32>> = set.iter().map(|t| encoder.tokenize(t)).collect();
                for (i, a) in members.iter().enumerate() {
                    for b in &members[..i] {
                        assert_eq!(a.len(), b.len(), "{set:?}");
                        let differing = a.iter().zip(b).filter(|(x, y)| x != y).count();
                        assert_eq!(differing, 1, "{set:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn texts_without_words_have_no_neighbours() {
        let encoder = builtin::encoder().unwrap();
        let corpus = corpus(&["42", "?!"], &encoder);
        let refused = OneToken::new(&encoder).corpus(&corpus, 2, 0.0, Seed::root(0), &encoder);
        assert!(matches!(refused.err(), Some(Error::Usage(_))));
    }
}
