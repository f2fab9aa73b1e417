//! Multi-head scaled dot-product attention of a few queries over one row's keys and values.

use pulp::{Arch, Simd, WithSimd};

use super::linear::{Block, PANEL, Rows, multiply};
use super::math::exp;
use super::normalise::sum;

/// One row's attention: softmax(Q Kᵀ) V for each head.
///
/// The factor 1/√(head width) belongs into the projection of the queries.
pub(crate) struct Attention<'a> {
    /// `[asked × hidden]`.
    pub(crate) queries: &'a [f32],
    /// `[tokens × 2·hidden]`: a token's keys, then its values.
    pub(crate) keys_values: &'a [f32],
    /// Length of a token's hidden state, all heads together.
    pub(crate) hidden: usize,
    /// Number of heads; divides `hidden`.
    pub(crate) heads: usize,
    /// `[asked × hidden]`.
    pub(crate) output: &'a mut [f32],
}

impl Attention<'_> {
    /// Writes the attention's output.
    pub(crate) fn run(self) {
        if !self.queries.is_empty() {
            Arch::new().dispatch(self);
        }
    }
}

impl WithSimd for Attention<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self {
            queries,
            keys_values,
            hidden,
            heads,
            output,
        } = self;
        let width = hidden / heads;
        let asked = queries.len() / hidden;
        let tokens = keys_values.len() / (2 * hidden);
        let mut panel = vec![Block::ZERO; width.max(tokens)];
        let mut scores = vec![0.0; asked * tokens];
        for head in 0..heads {
            let queries = Rows {
                values: &queries[head * width..],
                stride: hidden,
                count: asked,
            };
            for first in (0..tokens).step_by(PANEL) {
                let count = PANEL.min(tokens - first);
                let panel = &mut panel[..width];
                // Columns beyond `count` keep old keys: their products are dropped.
                for column in 0..count {
                    let key = &keys_values[(first + column) * 2 * hidden + head * width..][..width];
                    for (block, value) in panel.iter_mut().zip(key) {
                        block.0[column] = *value;
                    }
                }
                let scores = &mut scores[first..];
                multiply(simd, queries, panel, &Block::ZERO, scores, tokens, count);
            }
            for row in scores.chunks_exact_mut(tokens) {
                softmax(row);
            }
            let weights = Rows {
                values: &scores,
                stride: tokens,
                count: asked,
            };
            for first in (0..width).step_by(PANEL) {
                let count = PANEL.min(width - first);
                let panel = &mut panel[..tokens];
                let start = hidden + head * width + first;
                for (block, token) in panel.iter_mut().zip(keys_values.chunks_exact(2 * hidden)) {
                    block.0[..count].copy_from_slice(&token[start..][..count]);
                }
                let output = &mut output[head * width + first..];
                multiply(simd, weights, panel, &Block::ZERO, output, hidden, count);
            }
        }
    }
}

#[inline(always)]
fn softmax(row: &mut [f32]) {
    let highest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    for x in row.iter_mut() {
        *x = exp(*x - highest);
    }
    let scale = 1.0 / sum(row, |x| x);
    for x in row.iter_mut() {
        *x *= scale;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_the_definition() {
        let (asked, tokens, hidden, heads) = (3, 45, 80, 2);
        let value = |i: usize| ((i * 7919) % 1009) as f32 / 500.0 - 1.0;
        let queries: Vec<f32> = (0..asked * hidden).map(value).collect();
        let keys_values: Vec<f32> = (0..tokens * 2 * hidden).map(|i| value(i + 77)).collect();
        let (mut output, mut scalar) = (vec![0.0; asked * hidden], vec![0.0; asked * hidden]);
        let attention = |output| Attention {
            queries: &queries,
            keys_values: &keys_values,
            hidden,
            heads,
            output,
        };
        attention(&mut output).run();
        Simd::vectorize(pulp::Scalar, attention(&mut scalar));
        assert_eq!(output, scalar, "instruction sets differ");
        let width = hidden / heads;
        for (i, y) in output.iter().enumerate() {
            let (query, column) = (i / hidden, i % hidden);
            let head = column / width * width;
            let weights: Vec<f64> = (0..tokens)
                .map(|t| {
                    (head..head + width)
                        .map(|d| {
                            f64::from(queries[query * hidden + d] * keys_values[t * 2 * hidden + d])
                        })
                        .sum::<f64>()
                        .exp()
                })
                .collect();
            let total: f64 = weights.iter().sum();
            let expected: f64 = weights
                .iter()
                .enumerate()
                .map(|(t, w)| w / total * f64::from(keys_values[t * 2 * hidden + hidden + column]))
                .sum();
            assert!(
                (f64::from(*y) - expected).abs() < 1e-5,
                "{y} for {expected}"
            );
        }
    }
}
