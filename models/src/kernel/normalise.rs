//! Normalisation of rows, in place.

use pulp::{Arch, Simd, WithSimd};

use super::LANES;

/// Normalisation over each row of a `[rows × width]` matrix.
pub(crate) struct Norm {
    pub(crate) weight: Vec<f32>,
    /// With a bias: y = (x − mean) / √(variance + ε) · weight + bias, LayerNorm. Without: y = x / √(mean of x² + ε) ·
    /// weight, RMSNorm.
    pub(crate) bias: Option<Vec<f32>>,
    pub(crate) epsilon: f32,
}

impl Norm {
    /// Normalises every row of `values`.
    pub(crate) fn apply(&self, values: &mut [f32]) {
        Arch::new().dispatch(Apply {
            layer: self,
            values,
        });
    }
}

struct Apply<'a> {
    layer: &'a Norm,
    values: &'a mut [f32],
}

impl WithSimd for Apply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Norm {
            weight,
            bias,
            epsilon,
        } = self.layer;
        let width = weight.len() as f32;
        for row in self.values.chunks_exact_mut(weight.len()) {
            let Some(bias) = bias else {
                let scale = 1.0 / (sum(row, |x| x * x) / width + epsilon).sqrt();
                for (x, w) in row.iter_mut().zip(weight) {
                    *x = *x * scale * w;
                }
                continue;
            };
            let mean = sum(row, |x| x) / width;
            for x in row.iter_mut() {
                *x -= mean;
            }
            let variance = sum(row, |x| x * x) / width;
            let scale = 1.0 / (variance + epsilon).sqrt();
            for (x, (w, b)) in row.iter_mut().zip(weight.iter().zip(bias)) {
                *x = (*x * scale).mul_add(*w, *b);
            }
        }
    }
}

/// Σ f(x) over fixed partial sums, added up in order.
#[inline(always)]
pub(crate) fn sum(values: &[f32], f: impl Fn(f32) -> f32) -> f32 {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for chunk in chunks {
        for (sum, x) in sums.iter_mut().zip(chunk) {
            *sum += f(*x);
        }
    }
    for (sum, x) in sums.iter_mut().zip(rest) {
        *sum += f(*x);
    }
    sums.iter().sum()
}

/// The maximum, over parallel sequences: exact in any order. −∞ of nothing.
#[inline(always)]
pub(crate) fn highest(values: &[f32]) -> f32 {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut sequences = [f32::NEG_INFINITY; LANES];
    for chunk in chunks {
        for (sequence, x) in sequences.iter_mut().zip(chunk) {
            *sequence = if *x > *sequence { *x } else { *sequence };
        }
    }
    let all = sequences.iter().chain(rest).copied();
    all.fold(f32::NEG_INFINITY, f32::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Vec<f32> {
        (0..2 * 37).map(|i| (i as f32).sin() * 5.0 + 3.0).collect()
    }

    #[test]
    fn a_row_gets_the_mean_and_variance_asked_for() {
        let layer = Norm {
            weight: vec![2.0; 37],
            bias: Some(vec![1.0; 37]),
            epsilon: 1e-5,
        };
        let mut values = values();
        layer.apply(&mut values);
        for row in values.chunks(37) {
            let mean = sum(row, |x| x) / 37.0;
            let variance = sum(row, |x| (x - mean) * (x - mean)) / 37.0;
            assert!((mean - 1.0).abs() < 1e-5, "mean {mean}");
            assert!((variance - 4.0).abs() < 1e-3, "variance {variance}");
        }
    }

    #[test]
    fn without_a_bias_a_row_gets_the_root_mean_square_asked_for() {
        let layer = Norm {
            weight: vec![3.0; 37],
            bias: None,
            epsilon: 1e-6,
        };
        let mut values = values();
        layer.apply(&mut values);
        for row in values.chunks(37) {
            let square = sum(row, |x| x * x) / 37.0;
            assert!((square - 9.0).abs() < 1e-4, "mean square {square}");
        }
    }
}
