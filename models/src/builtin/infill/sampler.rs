//! Draws an index from softmax(logits / temperature) by inversion.

use pulp::{Arch, Simd, WithSimd};
use teda_core::{Error, Result};

use crate::kernel::math::exp;
use crate::kernel::normalise::{highest, sum};

/// Weights per step of the coarse scan.
const BLOCK: usize = 64;

/// The index i with probability exp(`logits[i]`/T) / Σⱼ exp(`logits[j]`/T), found where the cumulative sum passes
/// `uniform` times the total. Overwrites `logits` with the weights.
///
/// Weights are single precision, their sums over blocks too; the scan over blocks is in double
/// precision. Relative errors of the probabilities stay below 10⁻⁶ at temperatures that matter.
///
/// # Errors
/// If no logit is finite, or one is NaN or +∞.
pub(super) fn draw(logits: &mut [f32], temperature: f64, uniform: f64) -> Result<usize> {
    // The upper bound prevents 0 · ∞ for temperatures near 0, where the highest logit wins.
    let scale = ((1.0 / temperature) as f32).min(f32::MAX);
    let total = Arch::new().dispatch(Weigh {
        values: logits,
        scale,
    });
    if !total.is_finite() {
        return Err(Error::failed("the model's logits are not all finite"));
    }
    let mut remaining = uniform * total;
    let mut last = 0;
    for (index, block) in logits.chunks(BLOCK).enumerate() {
        let weight = f64::from(sum(block, |x| x));
        if weight > 0.0 {
            last = index;
            if remaining < weight {
                break;
            }
            remaining -= weight;
        }
    }
    // If rounding leaves a remainder of a few ulps, it belongs to the last possible index.
    let block = &logits[last * BLOCK..];
    Ok(last * BLOCK + scan(&block[..BLOCK.min(block.len())], remaining))
}

/// The index in `weights` at which the cumulative sum passes `remaining`, otherwise the last one with a positive
/// weight.
fn scan(weights: &[f32], mut remaining: f64) -> usize {
    let mut last = 0;
    for (index, weight) in weights.iter().enumerate() {
        if *weight > 0.0 {
            last = index;
            remaining -= f64::from(*weight);
            if remaining < 0.0 {
                break;
            }
        }
    }
    last
}

/// Replaces logits by weights exp((x − highest) · scale) and adds these up.
struct Weigh<'a> {
    values: &'a mut [f32],
    scale: f32,
}

impl WithSimd for Weigh<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let highest = highest(self.values);
        for x in self.values.iter_mut() {
            *x = exp((*x - highest) * self.scale);
        }
        self.values
            .chunks(BLOCK)
            .map(|block| f64::from(sum(block, |x| x)))
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequencies_are_the_softmax() {
        // Over a grid of uniform numbers, each index gets its exact share of the grid.
        let logits: Vec<f32> = (0..300).map(|i| ((i * 37) % 101) as f32 / 30.0).collect();
        let weights: Vec<f64> = logits.iter().map(|x| (f64::from(*x) / 0.7).exp()).collect();
        let total: f64 = weights.iter().sum();
        let (steps, mut counts) = (200_000, vec![0_u32; 300]);
        for step in 0..steps {
            let uniform = (f64::from(step) + 0.5) / f64::from(steps);
            counts[draw(&mut logits.clone(), 0.7, uniform).unwrap()] += 1;
        }
        for (count, weight) in counts.iter().zip(weights) {
            let expected = weight / total * f64::from(steps);
            assert!(
                (f64::from(*count) - expected).abs() < 1.5,
                "{count}, {expected}"
            );
        }
    }

    #[test]
    fn extreme_temperatures_and_logits() {
        let logits = [1.0, 5.0, f32::NEG_INFINITY, 2.0];
        for uniform in [0.0, 0.5, 1.0 - f64::EPSILON] {
            let draw = |t| draw(&mut logits.clone(), t, uniform).unwrap();
            assert_eq!(draw(1e-300), 1);
            assert_ne!(draw(1e30), 2);
        }
        assert!(draw(&mut [f32::NAN, 1.0], 1.0, 0.5).is_err());
        assert!(draw(&mut [f32::NEG_INFINITY; 3], 1.0, 0.5).is_err());
        assert!(draw(&mut [f32::INFINITY, 0.0], 1.0, 0.5).is_err());
    }
}
