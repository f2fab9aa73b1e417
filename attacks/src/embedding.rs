//! `embedding`: guesses the candidate whose sentence vector is nearest to the release's.
//!
//! # Threat model
//! The adversary knows the candidate set and sees the release; it has a public sentence encoder and
//! no access to the mechanism.
//!
//! # Definition
//! score(v) = ⟨ψ(release), ψ(v)⟩, the cosine of unit-norm sentence vectors; 0 if either text has no known token.
//!
//! # Source
//! TeDA (arXiv 2603.22968), Section 3.1: the external embedding attack (there all-mpnet-base-v2).
//!
//! # Deviations
//! The encoder is the audit's own (`--encoder`); vectors of the data set are computed once.

use std::sync::Arc;

use ndarray::Array2;
use teda_core::{Answer, Attack, Encoder, Observation, Result};

use crate::entry::{Build, Context, Entry};

pub const ENTRY: Entry = Entry {
    name: "embedding",
    summary: "nearest candidate by cosine of sentence vectors",
    source: "TeDA (arXiv 2603.22968), Section 3.1",
    judge: false,
    likelihoods: false,
    latent: false,
    reads: false,
    build: Build::Scores(|context: &Context| {
        Ok(Box::new(Embedding {
            encoder: context.encoder.clone(),
            vectors: context.vectors.clone(),
        }))
    }),
};

struct Embedding {
    encoder: Arc<dyn Encoder>,
    vectors: Arc<Array2<f32>>,
}

impl Attack for Embedding {
    fn score(&self, batch: &[Observation<'_>]) -> Result<Vec<Answer<Vec<f64>>>> {
        let releases: Vec<&str> = batch
            .iter()
            .map(|observation| observation.release)
            .collect();
        let encoded = self.encoder.encode(&releases)?;
        Ok(batch
            .iter()
            .zip(encoded.rows())
            .map(|(observation, release)| {
                let cosine = |text: &usize| f64::from(release.dot(&self.vectors.row(*text)));
                Ok(observation.candidates.iter().map(cosine).collect())
            })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use teda_core::Seed;

    use super::*;

    /// Encodes "x" and "y" as the axes, anything else as 0.
    struct Axes;

    impl Encoder for Axes {
        fn encode(&self, texts: &[&str]) -> Result<Array2<f32>> {
            Ok(Array2::from_shape_fn((texts.len(), 2), |(row, axis)| {
                f32::from(u8::from(texts[row] == ["x", "y"][axis]))
            }))
        }

        fn dimension(&self) -> usize {
            2
        }
    }

    #[test]
    fn scores_are_cosines_with_the_candidates_in_their_order() {
        let attack = Embedding {
            encoder: Arc::new(Axes),
            vectors: Arc::new(array![[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]),
        };
        let observe = |release, candidates| Observation {
            candidates,
            release,
            log_likelihoods: &[],
            seed: Seed::root(0),
        };
        let scores = attack
            .score(&[
                observe("x", &[2, 0]),
                observe("y", &[1, 2]),
                observe("", &[0, 1]),
            ])
            .unwrap();
        for (scores, expected) in scores.iter().zip([[0.6, 1.0], [1.0, 0.8], [0.0, 0.0]]) {
            let scores = scores.as_ref().unwrap();
            assert_eq!(scores.len(), 2);
            for (score, expected) in scores.iter().zip(expected) {
                assert!((score - expected).abs() < 1e-7, "{scores:?}");
            }
        }
        assert_eq!(scores.len(), 3);
        assert!(attack.score(&[]).unwrap().is_empty());
    }
}
