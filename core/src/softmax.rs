//! A softmax over many values: draws and probabilities.
//!
//! # Definition
//! Index i with probability exp(w_i − max w) / Σ_j exp(w_j − max w).
//!
//! # How it runs
//! The sum is taken over blocks of [`BLOCK`] values with [`LANES`] partial sums each. A draw first finds the block in
//! which its uniform number falls in the cumulative sum; that block's weights are then computed again. Nothing is
//! stored, and the processor's widest vectors are used; the operations, and with them the bits, are the same on every
//! processor.

use pulp::{Arch, Simd, WithSimd};

/// Values per block.
const BLOCK: usize = 512;
/// Partial sums per block.
const LANES: usize = 8;

/// An index of `values` with probability ∝ exp(`log_weight`(value)); `uniform` returns a number in [0, 1).
///
/// # Panics
/// If no log weight is finite, or one is +∞ or NaN.
pub(crate) fn draw(
    values: &[f32],
    log_weight: impl Fn(f32) -> f64,
    uniform: impl FnOnce() -> f64,
) -> usize {
    let Some((highest, sums)) = sums(values, &log_weight) else {
        panic!(
            "no finite log weight among {} values, or one that is not a number",
            values.len()
        );
    };
    let total: f64 = sums.iter().sum();
    let mut remaining = uniform() * total;
    let mut chosen = None;
    for (index, sum) in sums.iter().enumerate().filter(|(_, sum)| **sum > 0.0) {
        chosen = Some(index);
        if remaining < *sum {
            break;
        }
        remaining -= sum;
    }
    let first = chosen.expect("the highest weight is 1") * BLOCK;
    let mut weights = [0.0; BLOCK];
    let block = &values[first..values.len().min(first + BLOCK)];
    Arch::new().dispatch(Weights {
        values: block,
        log_weight: &log_weight,
        highest,
        weights: &mut weights,
    });
    let mut last = first;
    for (index, weight) in (first..).zip(&weights[..block.len()]) {
        if *weight > 0.0 {
            last = index;
            if remaining < *weight {
                break;
            }
            remaining -= weight;
        }
    }
    // Rounding can leave a remainder of a few ulps: it belongs to the last possible index.
    last
}

/// ln of the probability that an index drawn with probability ∝ exp(`log_weight`(value)) is among `chosen`, which
/// holds no index twice: the law of [`Stream::softmax_over`](crate::Stream::softmax_over). −∞ if it is impossible; NaN
/// if no log weight is finite, or one is +∞ or NaN.
///
/// # Panics
/// If an index in `chosen` is not an index of `values`.
#[must_use]
pub fn ln_softmax_over(values: &[f32], chosen: &[u32], log_weight: impl Fn(f32) -> f64) -> f64 {
    let Some((highest, sums)) = sums(values, &log_weight) else {
        return f64::NAN;
    };
    let total: f64 = sums.iter().sum();
    let weights = || {
        chosen
            .iter()
            .map(|index| log_weight(values[*index as usize]))
    };
    let own = weights().fold(f64::NEG_INFINITY, f64::max);
    if own == f64::NEG_INFINITY {
        return own;
    }
    let among: f64 = weights().map(|weight| (weight - own).exp()).sum();
    (own - highest) + among.ln() - total.ln()
}

/// The largest log weight, and the sum of the weights of every block relative to it; `None` if no log weight is
/// finite, or one is +∞ or NaN.
fn sums(values: &[f32], log_weight: &impl Fn(f32) -> f64) -> Option<(f64, Vec<f64>)> {
    let arch = Arch::new();
    let highest = arch.dispatch(Highest { values, log_weight });
    let mut sums = Vec::with_capacity(values.len().div_ceil(BLOCK));
    arch.dispatch(Sums {
        values,
        log_weight,
        highest,
        sums: &mut sums,
    });
    let finite = highest.is_finite() && sums.iter().all(|sum| sum.is_finite());
    finite.then_some((highest, sums))
}

/// Computes the largest log weight.
struct Highest<'a, F> {
    values: &'a [f32],
    log_weight: &'a F,
}

impl<F: Fn(f32) -> f64> WithSimd for Highest<'_, F> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f64 {
        let (chunks, rest) = self.values.as_chunks::<LANES>();
        let mut tops = [f64::NEG_INFINITY; LANES];
        for chunk in chunks {
            for (top, value) in tops.iter_mut().zip(chunk) {
                let weight = (self.log_weight)(*value);
                *top = if weight > *top { weight } else { *top };
            }
        }
        let rest = rest.iter().map(|value| (self.log_weight)(*value));
        rest.chain(tops).fold(f64::NEG_INFINITY, f64::max)
    }
}

/// Computes the sum of the weights of every block.
struct Sums<'a, F> {
    values: &'a [f32],
    log_weight: &'a F,
    highest: f64,
    sums: &'a mut Vec<f64>,
}

impl<F: Fn(f32) -> f64> WithSimd for Sums<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for block in self.values.chunks(BLOCK) {
            let (chunks, rest) = block.as_chunks::<LANES>();
            let mut lanes = [0.0; LANES];
            for chunk in chunks {
                for (sum, value) in lanes.iter_mut().zip(chunk) {
                    *sum += exp((self.log_weight)(*value) - self.highest);
                }
            }
            for (sum, value) in lanes.iter_mut().zip(rest) {
                *sum += exp((self.log_weight)(*value) - self.highest);
            }
            self.sums.push(lanes.iter().sum());
        }
    }
}

/// Computes the weights of one block.
struct Weights<'a, F> {
    values: &'a [f32],
    log_weight: &'a F,
    highest: f64,
    weights: &'a mut [f64; BLOCK],
}

impl<F: Fn(f32) -> f64> WithSimd for Weights<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (weight, value) in self.weights.iter_mut().zip(self.values) {
            *weight = exp((self.log_weight)(*value) - self.highest);
        }
    }
}

/// exp(x) for x ≤ 0, relative error below 10⁻¹⁵; 0 below −708. exp(x) = 2ⁿ·exp(r) with
/// n = round(x / ln 2), exp(r) by its Taylor polynomial of degree 13.
#[inline(always)]
fn exp(x: f64) -> f64 {
    /// 1.5·2⁵²: adding it rounds to an integer, which then sits in the low mantissa bits.
    const ROUND: f64 = 6_755_399_441_055_744.0;
    /// ln 2 in two parts, the first short enough for n·HIGH to be exact.
    const HIGH: f64 = 0.693_147_180_369_123_8;
    const LOW: f64 = 1.908_214_929_270_587_7e-10;
    const INVERSE_FACTORIALS: [f64; 13] = [
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ];
    let bounded = x.max(-708.0);
    let shifted = bounded.mul_add(std::f64::consts::LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = n.mul_add(-LOW, n.mul_add(-HIGH, bounded));
    let mut series = 1.0 / 6_227_020_800.0;
    for coefficient in INVERSE_FACTORIALS {
        series = f64::mul_add(series, r, coefficient);
    }
    let exponent = shifted.to_bits().wrapping_sub(ROUND.to_bits());
    let power = f64::from_bits(exponent.wrapping_add(1023) << 52);
    let value = series * power;
    // Written as a comparison that is false for NaN, so that NaN is kept.
    if x < -708.0 {
        0.0
    } else if x.is_nan() {
        x
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{ChiSquared, ContinuousCDF};

    use crate::Seed;

    use super::*;

    #[test]
    fn exp_is_within_its_stated_error() {
        for i in 0..=708_000 {
            let x = -f64::from(i) / 1000.0;
            let error = (exp(x) - x.exp()).abs() / x.exp();
            assert!(error < 1e-15, "exp({x}): relative error {error:e}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-709.0), 0.0);
        assert_eq!(exp(f64::NEG_INFINITY), 0.0);
        assert!(exp(f64::NAN).is_nan());
    }

    #[test]
    fn draws_follow_the_weights() {
        // More than two blocks and a remainder, of very unequal weights.
        let count = 1_301;
        let log_weight = |i: usize| match i {
            3 => 2.0,
            700 => 3.0,
            1_300 => 2.5,
            i if i % 2 == 0 => -4.0,
            _ => f64::NEG_INFINITY,
        };
        let values: Vec<f32> = (0..count).map(|i| log_weight(i) as f32).collect();
        let mut stream = Seed::root(6).stream();
        let draws = 200_000;
        let mut counts = vec![0_u32; count];
        for _ in 0..draws {
            counts[draw(&values, f64::from, || stream.uniform())] += 1;
        }
        let total: f64 = (0..count).map(|i| log_weight(i).exp()).sum();
        let (mut chi, mut cells) = (0.0, 0.0);
        for (i, seen) in counts.iter().enumerate() {
            let mean = f64::from(draws) * log_weight(i).exp() / total;
            if mean > 0.0 {
                chi += (f64::from(*seen) - mean).powi(2) / mean;
                cells += 1.0;
            } else {
                assert_eq!(*seen, 0, "index {i}");
            }
        }
        let p = ChiSquared::new(cells - 1.0).unwrap().sf(chi);
        assert!(p > 1e-4, "chi-square {chi} over {cells} cells: p = {p}");
    }

    #[test]
    fn probabilities_are_those_of_the_weights() {
        let mut values: Vec<f32> = (0..1_301).map(|i| (i % 7) as f32).collect();
        values[600] = f32::NEG_INFINITY;
        for scale in [0.0, 1.0, 300.0] {
            // −∞ times 0 is not a number.
            let log_weight = |x: f32| match x == f32::NEG_INFINITY {
                true => f64::NEG_INFINITY,
                false => scale * f64::from(x),
            };
            let weight = |x: &f32| (log_weight(*x) - 6.0 * scale).exp();
            let total: f64 = values.iter().map(weight).sum();
            for index in [0_u32, 6, 1_300] {
                let expected = log_weight(values[index as usize]) - 6.0 * scale - total.ln();
                let found = ln_softmax_over(&values, &[index], log_weight);
                assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
            }
            let found = ln_softmax_over(&values, &[5, 600, 6], log_weight);
            let expected = (weight(&5.0) + weight(&6.0)).ln() - total.ln();
            assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
            for none in [&[][..], &[600]] {
                assert_eq!(
                    ln_softmax_over(&values, none, log_weight),
                    f64::NEG_INFINITY
                );
            }
        }
        for none in [
            &[][..],
            &[f32::NEG_INFINITY],
            &[0.0, f32::INFINITY],
            &[0.0, f32::NAN],
        ] {
            let chosen = if none.is_empty() { &[][..] } else { &[0] };
            assert!(
                ln_softmax_over(none, chosen, f64::from).is_nan(),
                "{none:?}"
            );
        }
    }

    #[test]
    fn the_ends_of_the_interval_are_met() {
        let mut values = vec![f32::NEG_INFINITY; 1_000];
        values[2..700].fill(0.0);
        assert_eq!(draw(&values, f64::from, || 0.0), 2);
        assert_eq!(draw(&values, f64::from, || 1.0 - f64::EPSILON / 2.0), 699);
    }

    #[test]
    #[should_panic(expected = "not a number")]
    fn a_weight_that_is_no_number_is_no_draw() {
        let mut values = vec![0.0; 600];
        values[7] = f32::NAN;
        draw(&values, f64::from, || 0.5);
    }
}
