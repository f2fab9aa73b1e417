//! The vocabulary's tokens nearest to given points.
//!
//! # Definition
//! For a point p, the released token t that minimises ‖p − e(t)‖², which is the one that maximises ⟨p, e(t)⟩ −
//! ½‖e(t)‖²; the first among equals.
//!
//! # How it runs
//! One pass over the vocabulary serves all points: a block of its rows stays in the cache while every point is
//! compared with it. Products are in single precision, in an order that is the same on every processor.

use std::sync::Arc;

use ndarray::{Array1, ArrayView1};
use teda_core::TokenMap;

/// Rows compared with all points before the next ones are read.
const BLOCK: usize = 128;

/// The released part of a vocabulary.
pub struct Nearest {
    tokens: Arc<dyn TokenMap>,
    /// ½‖e(t)‖² by index among the released tokens.
    half_squares: Vec<f32>,
}

impl Nearest {
    /// Prepares the vocabulary of `tokens`.
    pub fn new(tokens: Arc<dyn TokenMap>) -> Self {
        let vectors = tokens.vectors();
        let half_squares = tokens
            .released()
            .iter()
            .map(|t| {
                let row = vectors.row(*t as usize);
                0.5 * row.dot(&row)
            })
            .collect();
        Self {
            tokens,
            half_squares,
        }
    }

    /// The token nearest to each point.
    pub fn tokens(&self, points: &[Array1<f32>]) -> Vec<u32> {
        let vectors = self.tokens.vectors();
        let released = self.tokens.released();
        let first = released.first().copied().unwrap_or_default();
        let mut best = vec![(f32::NEG_INFINITY, first); points.len()];
        for (rows, half_squares) in released.chunks(BLOCK).zip(self.half_squares.chunks(BLOCK)) {
            for (point, best) in points.iter().zip(&mut best) {
                for (token, half_square) in rows.iter().zip(half_squares) {
                    let row: ArrayView1<'_, f32> = vectors.row(*token as usize);
                    let score = point.dot(&row) - half_square;
                    if score > best.0 {
                        *best = (score, *token);
                    }
                }
            }
        }
        best.into_iter().map(|(_, token)| token).collect()
    }
}

#[cfg(test)]
mod tests {
    use teda_core::Seed;

    use super::*;
    use crate::testing::toy;

    #[test]
    fn it_finds_what_a_search_by_distance_finds() {
        let tokens = toy::tokens();
        let nearest = Nearest::new(tokens.clone());
        let mut stream = Seed::root(14).stream();
        let points: Vec<Array1<f32>> = (0..500)
            .map(|_| Array1::from_shape_simple_fn(4, || 4.0 * stream.uniform() as f32 - 2.0))
            .collect();
        for (point, found) in points.iter().zip(nearest.tokens(&points)) {
            let distance = |t: u32| {
                let row = tokens.vectors().row(t as usize).mapv(f64::from);
                let difference = point.mapv(f64::from) - row;
                difference.dot(&difference)
            };
            let least = tokens.released().iter().map(|t| distance(*t));
            let least = least.fold(f64::INFINITY, f64::min);
            assert!(tokens.released().contains(&found));
            assert!(distance(found) <= least + 1e-5);
        }
        assert!(nearest.tokens(&[]).is_empty());
    }
}
