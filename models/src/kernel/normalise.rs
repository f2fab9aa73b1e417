//! Layer normalisation, in place.

use pulp::{Arch, Simd, WithSimd};

use super::LANES;

/// y = (x − mean) / √(variance + ε) · weight + bias over each row.
pub(crate) struct LayerNorm {
    pub(crate) weight: Vec<f32>,
    pub(crate) bias: Vec<f32>,
    pub(crate) epsilon: f32,
}

impl LayerNorm {
    /// Normalises every row of `values` `[rows × width]`.
    pub(crate) fn apply(&self, values: &mut [f32]) {
        Arch::new().dispatch(Apply {
            layer: self,
            values,
            residual: None,
        });
    }

    /// Adds `residual` `[rows × width]` to `values`, then normalises every row.
    pub(crate) fn apply_to_sum(&self, values: &mut [f32], residual: &[f32]) {
        Arch::new().dispatch(Apply {
            layer: self,
            values,
            residual: Some(residual),
        });
    }
}

struct Apply<'a> {
    layer: &'a LayerNorm,
    values: &'a mut [f32],
    residual: Option<&'a [f32]>,
}

impl WithSimd for Apply<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let LayerNorm {
            weight,
            bias,
            epsilon,
        } = self.layer;
        if let Some(residual) = self.residual {
            for (x, r) in self.values.iter_mut().zip(residual) {
                *x += r;
            }
        }
        let width = weight.len() as f32;
        for row in self.values.chunks_exact_mut(weight.len()) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_gets_the_mean_and_variance_asked_for() {
        let layer = LayerNorm {
            weight: vec![2.0; 37],
            bias: vec![1.0; 37],
            epsilon: 1e-5,
        };
        let mut values: Vec<f32> = (0..2 * 37).map(|i| (i as f32).sin() * 5.0 + 3.0).collect();
        let residual: Vec<f32> = (0..2 * 37).map(|i| i as f32).collect();
        layer.apply_to_sum(&mut values, &residual);
        for row in values.chunks(37) {
            let mean = sum(row, |x| x) / 37.0;
            let variance = sum(row, |x| (x - mean) * (x - mean)) / 37.0;
            assert!((mean - 1.0).abs() < 1e-5, "mean {mean}");
            assert!((variance - 4.0).abs() < 1e-3, "variance {variance}");
        }
    }
}
