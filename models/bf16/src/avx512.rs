//! `VDPBF16PS`.

use std::arch::x86_64::{__m512, __m512bh, _mm512_dpbf16_ps};
use std::mem::transmute;

use crate::pair::{Line, Pair, Pairs, STEPS, WIDTH};

/// Numbers in a vector.
const LANES: usize = 16;

/// Whether this processor has the instructions.
pub(crate) fn available() -> bool {
    is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bf16")
}

/// [`Unit::tile`](crate::Unit::tile), with as many rows as the registers hold sums of.
///
/// # Safety
/// The processor is [`available`].
#[target_feature(enable = "avx512f,avx512bf16")]
pub(crate) fn tile(
    lines: &[Line],
    panel: &[Pairs],
    start: &[f32; WIDTH],
    sums: &mut [[f32; WIDTH]],
) {
    match sums.len() {
        12 => rows::<12>(lines, panel, start, sums),
        8 => rows::<8>(lines, panel, start, sums),
        4 => rows::<4>(lines, panel, start, sums),
        1 => rows::<1>(lines, panel, start, sums),
        height => panic!("tiles of AVX-512 have 1, 4, 8 or 12 rows, and not {height}"),
    }
}

/// The same for `R` rows.
#[target_feature(enable = "avx512f,avx512bf16")]
fn rows<const R: usize>(
    lines: &[Line],
    panel: &[Pairs],
    start: &[f32; WIDTH],
    sums: &mut [[f32; WIDTH]],
) {
    let (start, _) = start.as_chunks::<LANES>();
    let mut tile = [[single(start[0]), single(start[1])]; R];
    let (lines, _) = lines.as_chunks::<R>();
    let (steps, rest) = panel.as_chunks::<STEPS>();
    for (rows, steps) in lines.iter().zip(steps) {
        for (k, pairs) in steps.iter().enumerate() {
            add(&mut tile, rows, k, pairs);
        }
    }
    if let Some(rows) = lines.get(steps.len()) {
        for (k, pairs) in rest.iter().enumerate() {
            add(&mut tile, rows, k, pairs);
        }
    }
    for (sums, [first, second]) in sums.iter_mut().zip(tile) {
        sums[..LANES].copy_from_slice(&numbers(first));
        sums[LANES..].copy_from_slice(&numbers(second));
    }
}

/// Adds the products of step `k` of a line.
#[inline]
#[target_feature(enable = "avx512f,avx512bf16")]
fn add<const R: usize>(tile: &mut [[__m512; 2]; R], rows: &[Line; R], k: usize, pairs: &Pairs) {
    let (weights, _) = pairs.0.as_chunks::<LANES>();
    let weights = [halves(weights[0]), halves(weights[1])];
    for (sums, row) in tile.iter_mut().zip(rows) {
        let value = halves([row.0[k]; LANES]);
        for (sum, weight) in sums.iter_mut().zip(weights) {
            *sum = _mm512_dpbf16_ps(*sum, value, weight);
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn single(values: [f32; LANES]) -> __m512 {
    // SAFETY: both types are 512 bits of which every pattern is valid.
    unsafe { transmute(values) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn numbers(vector: __m512) -> [f32; LANES] {
    // SAFETY: as above.
    unsafe { transmute(vector) }
}

#[inline]
#[target_feature(enable = "avx512f,avx512bf16")]
fn halves(pairs: [Pair; LANES]) -> __m512bh {
    // SAFETY: as above.
    unsafe { transmute(pairs) }
}
