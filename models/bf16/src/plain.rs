//! What the instructions compute, in plain code (Intel SDM, volume 2). Every product is added by one fused multiply-add to
//! the nearest; numbers that are not normal are taken as 0, and so are results.

use crate::pair::{Pair, STEPS};

/// `VDPBF16PS`: one chain over the pairs, in which the product of the second numbers is added before that of the first.
pub(crate) fn in_one_chain(start: f32, left: &[Pair], right: &[Pair]) -> f32 {
    left.iter().zip(right).fold(start, |sum, (a, b)| {
        let second = added(sum, upper(*a), upper(*b));
        added(second, lower(*a), lower(*b))
    })
}

/// `TDPBF16PS`: of every 16 pairs, the last filled up with 0, one chain over the first numbers and one over the second,
/// each from 0; then the sum of both is added.
pub(crate) fn in_steps(start: f32, left: &[Pair], right: &[Pair]) -> f32 {
    let steps = left.chunks(STEPS).zip(right.chunks(STEPS));
    steps.fold(start, |sum, (left, right)| {
        let pair = |k| (*left.get(k).unwrap_or(&0), *right.get(k).unwrap_or(&0));
        let both = (0..STEPS).map(pair);
        let [first, second] = both.fold([0.0; 2], |[first, second], (a, b)| {
            [
                added(first, lower(a), lower(b)),
                added(second, upper(a), upper(b)),
            ]
        });
        flushed(flushed(sum) + flushed(first + second))
    })
}

fn added(sum: f32, a: f32, b: f32) -> f32 {
    flushed(flushed(a).mul_add(flushed(b), flushed(sum)))
}

fn lower(pair: Pair) -> f32 {
    upper(pair << 16)
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
