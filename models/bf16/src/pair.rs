//! Numbers in pairs, and how they lie in memory.

/// Outputs of a panel: two vectors of 512 bits.
pub const WIDTH: usize = 32;

/// Pairs in a line.
pub const STEPS: usize = 16;

/// Two bfloat16: the first in the lower half.
pub type Pair = u32;

/// One pair of the inner dimension of a panel, for each of its outputs; aligned to a cache line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Pairs(pub [Pair; WIDTH]);

impl Pairs {
    /// All zero.
    pub const ZERO: Self = Self([0; WIDTH]);
}

/// Consecutive pairs of one row; aligned to a cache line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Line(pub [Pair; STEPS]);

impl Line {
    /// All zero.
    pub const ZERO: Self = Self([0; STEPS]);
}

/// The upper half of the bfloat16 next to `x`, ties to even; a NaN stays one.
#[inline(always)]
fn half(x: f32) -> u32 {
    let bits = x.to_bits();
    let even = bits >> 16 & 1;
    let nearest = bits.wrapping_add(0x7fff + even) >> 16;
    if x.is_nan() {
        bits >> 16 | 0x40
    } else {
        nearest
    }
}

/// `x` as the nearest bfloat16, ties to even.
#[must_use]
pub fn rounded(x: f32) -> f32 {
    f32::from_bits(half(x) << 16)
}

/// The pairs of `row`, the last filled up with 0, into `pairs` `[⌈row / 2⌉]`.
#[inline(always)]
pub fn pack(row: &[f32], pairs: &mut [Pair]) {
    let (twos, rest) = row.as_chunks::<2>();
    for (pair, [first, second]) in pairs.iter_mut().zip(twos) {
        *pair = half(*first) | half(*second) << 16;
    }
    if let ([x], Some(pair)) = (rest, pairs.last_mut()) {
        *pair = half(*x);
    }
}

/// The two numbers of a pair.
#[must_use]
#[inline(always)]
pub fn unpacked(pair: Pair) -> [f32; 2] {
    [pair << 16, pair & 0xffff_0000].map(f32::from_bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every bfloat16, and the numbers around the middle between it and the next.
    #[test]
    fn rounding_is_to_the_nearest_and_ties_go_to_even() {
        for upper in 0..=u16::MAX {
            let bits = u32::from(upper) << 16;
            let exact = f32::from_bits(bits);
            if exact.is_nan() {
                assert!(rounded(exact).is_nan());
                assert!(rounded(f32::from_bits(bits | 1)).is_nan());
                continue;
            }
            assert_eq!(rounded(exact).to_bits(), bits);
            if exact.is_infinite() {
                continue;
            }
            let next = bits + 0x1_0000;
            let even = if upper % 2 == 0 { bits } else { next };
            for (added, expected) in [
                (1, bits),
                (0x7fff, bits),
                (0x8000, even),
                (0x8001, next),
                (0xffff, next),
            ] {
                let x = f32::from_bits(bits + added);
                assert_eq!(rounded(x).to_bits(), expected, "{x:e}");
            }
        }
    }

    #[test]
    fn a_row_of_odd_length_ends_with_zero() {
        let mut pairs = [7; 2];
        pack(&[1.0, -2.0, 0.5], &mut pairs);
        assert_eq!(pairs, [0xc000_3f80, 0x3f00]);
        assert_eq!(pairs.map(unpacked), [[1.0, -2.0], [0.5, 0.0]]);
        pack(&[], &mut []);
    }
}
