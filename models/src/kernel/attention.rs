//! Multi-head scaled dot-product attention of a few queries over stored keys and values.

use pulp::{Arch, Simd, WithSimd};

use super::keys_values::KeysValues;
use super::linear::{Block, PANEL, Rows, Start, Target, multiply};
use super::math::exp;
use super::normalise::{highest, sum};

/// A run of slots: the keys that the queries see are those of all spans, in order. A result does not depend on how a
/// run is divided into spans.
#[derive(Clone, Copy)]
pub(crate) struct Span<'a> {
    pub(crate) stored: &'a KeysValues,
    /// The first slot; a multiple of 32.
    pub(crate) start: usize,
    /// Number of slots.
    pub(crate) count: usize,
}

/// One row's attention: softmax(Q Kᵀ + bias) V for each head. Query heads share the keys and values of their group if
/// there are fewer of those.
///
/// The factor 1/√(head width) belongs in the projection of the queries.
pub(crate) struct Attention<'a> {
    /// `[asked × heads · width]`.
    pub(crate) queries: &'a [f32],
    /// Number of query heads, a multiple of the stored heads.
    pub(crate) heads: usize,
    pub(crate) spans: &'a [Span<'a>],
    /// The first and one past the last key that each query sees, `[asked]`.
    pub(crate) seen: &'a [(usize, usize)],
    /// Added to the scores: `[heads × asked × tokens]`.
    pub(crate) bias: Option<&'a [f32]>,
    /// `[asked × heads · width]`.
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
            heads,
            spans,
            seen,
            bias,
            output,
        } = self;
        let stored = spans[0].stored;
        let (width, group) = (stored.width(), heads / stored.heads());
        let (asked, hidden) = (seen.len(), heads * width);
        let tokens: usize = spans.iter().map(|span| span.count).sum();
        // A single query's heads of one group are the rows of one product; with several queries, the queries are, head
        // by head.
        let (count, stride, together) = if asked == 1 {
            (group, width, group)
        } else {
            (asked, hidden, 1)
        };
        let mut scores = vec![0.0; count * tokens];
        for head in (0..heads).step_by(together) {
            let rows = Rows {
                values: &queries[head * width..],
                stride,
                count,
            };
            let mut first = 0;
            for span in spans {
                for slot in (0..span.count).step_by(PANEL) {
                    let mut target = Target {
                        output: &mut scores[first + slot..],
                        stride: tokens,
                        width: PANEL.min(span.count - slot),
                    };
                    let panel = span.stored.key_panel(head / group, span.start + slot);
                    multiply(simd, rows, panel, Start::At(&Block::ZERO), &mut target);
                }
                first += span.count;
            }
            for (row, scores) in scores.chunks_exact_mut(tokens).enumerate() {
                let (head, query) = if asked == 1 {
                    (head + row, 0)
                } else {
                    (head, row)
                };
                if let Some(bias) = bias {
                    let bias = &bias[(head * asked + query) * tokens..][..tokens];
                    for (score, bias) in scores.iter_mut().zip(bias) {
                        *score += bias;
                    }
                }
                let (from, to) = seen[query];
                softmax(&mut scores[from..to]);
                // A weight of 0 adds nothing: what is not seen needs no other treatment.
                scores[..from].fill(0.0);
                scores[to..].fill(0.0);
            }
            for chunk in 0..width.div_ceil(PANEL) {
                let mut target = Target {
                    output: &mut output[head * width + chunk * PANEL..],
                    stride,
                    width: PANEL.min(width - chunk * PANEL),
                };
                let mut first = 0;
                let mut start = Start::At(&Block::ZERO);
                for span in spans.iter().filter(|span| span.count > 0) {
                    let weights = Rows {
                        values: &scores[first..],
                        stride: tokens,
                        count,
                    };
                    let panel =
                        span.stored
                            .value_panel(head / group, chunk, span.start, span.count);
                    multiply(simd, weights, panel, start, &mut target);
                    start = Start::Output;
                    first += span.count;
                }
            }
        }
    }
}

#[inline(always)]
fn softmax(row: &mut [f32]) {
    let highest = highest(row);
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

    const WIDTH: usize = 40;
    const TOKENS: usize = 45;

    fn value(i: usize) -> f32 {
        ((i * 7919) % 1009) as f32 / 500.0 - 1.0
    }

    fn key(token: usize, i: usize) -> f32 {
        value(token * 131 + i)
    }

    fn stored(tokens: std::ops::Range<usize>, heads: usize) -> KeysValues {
        let mut stored = KeysValues::new(heads, WIDTH, tokens.len());
        for (slot, token) in tokens.enumerate() {
            let row =
                |shift| -> Vec<f32> { (0..heads * WIDTH).map(|i| key(token, i + shift)).collect() };
            stored.write(slot, &row(0), &row(77));
        }
        stored
    }

    /// Every mask, bias, group and division into spans against the definition in double precision.
    #[test]
    fn equals_the_definition() {
        let (heads, kv_heads) = (4, 2);
        let whole = stored(0..TOKENS, kv_heads);
        let parts = [stored(0..33, kv_heads), stored(33..TOKENS, kv_heads)];
        let span = |stored, count| Span {
            stored,
            start: 0,
            count,
        };
        let hidden = heads * WIDTH;
        for (seen, biased) in [
            (vec![(0, TOKENS)], false),
            (vec![(0, 7), (3, 8), (0, TOKENS)], true),
        ] {
            let asked = seen.len();
            let queries: Vec<f32> = (0..asked * hidden).map(|i| value(i + 5) / 4.0).collect();
            let bias: Vec<f32> = (0..heads * asked * TOKENS).map(|i| value(i + 9)).collect();
            let run = |spans: &[Span<'_>], scalar: bool| {
                let mut output = vec![0.0; asked * hidden];
                let attention = Attention {
                    queries: &queries,
                    heads,
                    spans,
                    seen: &seen,
                    bias: biased.then_some(&bias[..]),
                    output: &mut output,
                };
                if scalar {
                    Simd::vectorize(pulp::Scalar, attention);
                } else {
                    attention.run();
                }
                output
            };
            let output = run(&[span(&whole, TOKENS)], false);
            assert_eq!(
                output,
                run(&[span(&whole, TOKENS)], true),
                "instruction sets differ"
            );
            let cut = [span(&parts[0], 33), span(&parts[1], TOKENS - 33)];
            assert_eq!(output, run(&cut, false), "spans differ");
            for (i, y) in output.iter().enumerate() {
                let (query, column) = (i / hidden, i % hidden);
                let (head, d) = (column / WIDTH, column % WIDTH);
                let kv = head / (heads / kv_heads) * WIDTH;
                let weights: Vec<f64> = (seen[query].0..seen[query].1)
                    .map(|t| {
                        let dot: f64 = (0..WIDTH)
                            .map(|d| {
                                let q = queries[query * hidden + head * WIDTH + d];
                                f64::from(q) * f64::from(key(t, kv + d))
                            })
                            .sum();
                        let bias = f64::from(bias[(head * asked + query) * TOKENS + t]);
                        (dot + if biased { bias } else { 0.0 }).exp()
                    })
                    .collect();
                let total: f64 = weights.iter().sum();
                let expected: f64 = weights
                    .iter()
                    .zip(seen[query].0..)
                    .map(|(w, t)| w / total * f64::from(key(t, kv + d + 77)))
                    .sum();
                assert!(
                    (f64::from(*y) - expected).abs() < 1e-5,
                    "{y} for {expected}"
                );
            }
        }
    }
}
