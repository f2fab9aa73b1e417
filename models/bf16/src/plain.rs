//! What the instructions compute, in plain code.

use crate::pair::Pair;

/// `start` + Σ of the products of two rows of pairs, with the roundings of `VDPBF16PS` (Intel SDM, volume 2): for each
/// pair the product of the second numbers, then that of the first, each by one fused multiply-add to the nearest; numbers
/// that are not normal are taken as 0, and so are results.
#[must_use]
pub fn dot(start: f32, left: &[Pair], right: &[Pair]) -> f32 {
    left.iter().zip(right).fold(start, |sum, (a, b)| {
        let second = added(sum, upper(*a), upper(*b));
        added(second, upper(a << 16), upper(b << 16))
    })
}

fn added(sum: f32, a: f32, b: f32) -> f32 {
    flushed(flushed(a).mul_add(flushed(b), flushed(sum)))
}

fn upper(pair: Pair) -> f32 {
    f32::from_bits(pair & 0xffff_0000)
}

/// 0 of the same sign instead of a number that is not normal.
fn flushed(x: f32) -> f32 {
    if x.is_subnormal() {
        0.0_f32.copysign(x)
    } else {
        x
    }
}
