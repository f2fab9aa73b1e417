//! Draws from a softmax over many values.
//!
//! # Definition
//! Index i with probability exp(w_i − max w) / Σ_j exp(w_j − max w).
//!
//! # How it runs
//! The sum is taken over blocks of [`BLOCK`] values with [`LANES`] partial sums each. Where in the
//! cumulative sum the uniform number falls is found by block first; one block's weights are then
//! computed again. Nothing is stored, and the processor's widest vectors are used; the operations,
//! and with them the bits, are the same on all.

use pulp::Arch;

/// Values of a block.
const BLOCK: usize = 512;
/// Partial sums of a block.
const LANES: usize = 8;

/// An index below `count`; `uniform` gives one number in [0, 1).
///
/// # Panics
/// If no log weight is finite, or one is +∞ or NaN.
pub(crate) fn draw(
    count: usize,
    log_weight: impl Fn(usize) -> f64,
    uniform: impl FnOnce() -> f64,
) -> usize {
    let mut highest = f64::NEG_INFINITY;
    let mut sums = Vec::with_capacity(count.div_ceil(BLOCK));
    Arch::new().dispatch(
        #[inline(always)]
        || {
            let mut tops = [f64::NEG_INFINITY; LANES];
            for first in (0..count).step_by(LANES) {
                for (lane, top) in tops.iter_mut().enumerate().take(count - first) {
                    *top = top.max(log_weight(first + lane));
                }
            }
            highest = tops.into_iter().fold(f64::NEG_INFINITY, f64::max);
            for first in (0..count).step_by(BLOCK) {
                sums.push(block(first, BLOCK.min(count - first), highest, &log_weight));
            }
        },
    );
    let total: f64 = sums.iter().sum();
    assert!(
        highest.is_finite() && total.is_finite(),
        "no finite log weight among {count} values, or one that is no number"
    );
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
    let mut last = first;
    for index in first..count.min(first + BLOCK) {
        let weight = exp(log_weight(index) - highest);
        if weight > 0.0 {
            last = index;
            if remaining < weight {
                break;
            }
            remaining -= weight;
        }
    }
    // Rounding can leave a remainder of a few ulps: it belongs to the last possible index.
    last
}

/// The sum of a block's weights.
#[inline(always)]
fn block(first: usize, length: usize, highest: f64, log_weight: &impl Fn(usize) -> f64) -> f64 {
    let mut lanes = [0.0; LANES];
    let whole = length / LANES * LANES;
    for start in (first..first + whole).step_by(LANES) {
        for (lane, sum) in lanes.iter_mut().enumerate() {
            *sum += exp(log_weight(start + lane) - highest);
        }
    }
    for (lane, index) in (first + whole..first + length).enumerate() {
        lanes[lane] += exp(log_weight(index) - highest);
    }
    lanes.iter().sum()
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
    // A comparison that NaN fails keeps NaN.
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
        let mut stream = Seed::root(6).stream();
        let draws = 200_000;
        let mut counts = vec![0_u32; count];
        for _ in 0..draws {
            counts[draw(count, log_weight, || stream.uniform())] += 1;
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
    fn the_ends_of_the_interval_are_met() {
        let weights = |i: usize| {
            if (2..700).contains(&i) {
                0.0
            } else {
                f64::NEG_INFINITY
            }
        };
        assert_eq!(draw(1_000, weights, || 0.0), 2);
        assert_eq!(draw(1_000, weights, || 1.0 - f64::EPSILON / 2.0), 699);
    }

    #[test]
    #[should_panic(expected = "no number")]
    fn a_weight_that_is_no_number_is_no_draw() {
        draw(600, |i| if i == 7 { f64::NAN } else { 0.0 }, || 0.5);
    }
}
