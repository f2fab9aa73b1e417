//! Dot products of many rows of a matrix with one vector, or with several.
//!
//! # How it runs
//! Elements i, i + 8, i + 16, … of a product are summed in lane i. The lanes are added up in pairs of i and i + 4,
//! then the remaining elements at the end. That is the order of ndarray's `dot`, and the results are equal bit for
//! bit. Several products run side by side on the processor's widest vectors; the operations are the same on every
//! processor.
//!
//! A matrix beyond the caches is read from memory once for all vectors of a call, and not once for each.

use ndarray::{ArrayView1, ArrayView2};
use pulp::{Arch, Simd, WithSimd};

/// Partial sums of a product.
const LANES: usize = 8;
/// Rows computed side by side.
const ROWS: usize = 4;
/// Vectors computed side by side.
const VECTORS: usize = 4;

/// ⟨row, `vector`⟩ of each of these `rows` of the `matrix`, bit for bit what ndarray's `dot` gives.
///
/// # Panics
/// If the matrix lacks a row, or the lengths differ.
#[must_use]
pub fn dots(matrix: ArrayView2<'_, f32>, rows: &[u32], vector: ArrayView1<'_, f32>) -> Vec<f32> {
    dots_of(matrix, rows, &[vector])
        .pop()
        .expect("there is one vector")
}

/// [`dots`] of each of several vectors.
///
/// # Panics
/// If the matrix lacks a row, or the lengths differ.
#[must_use]
pub fn dots_of(
    matrix: ArrayView2<'_, f32>,
    rows: &[u32],
    vectors: &[ArrayView1<'_, f32>],
) -> Vec<Vec<f32>> {
    for vector in vectors {
        assert_eq!(matrix.ncols(), vector.len(), "lengths of rows and vector");
    }
    let slices: Option<Vec<&[f32]>> = vectors.iter().map(|vector| vector.as_slice()).collect();
    let (Some(values), Some(slices)) = (matrix.as_slice(), slices) else {
        let dots = |vector: &ArrayView1<'_, f32>| {
            let dot = |row: &u32| matrix.row(*row as usize).dot(vector);
            rows.iter().map(dot).collect()
        };
        return vectors.iter().map(dots).collect();
    };
    let mut dots = vec![vec![0.0; rows.len()]; vectors.len()];
    Arch::new().dispatch(Dots {
        values,
        length: matrix.ncols(),
        rows,
        vectors: &slices,
        dots: &mut dots,
    });
    dots
}

struct Dots<'a> {
    values: &'a [f32],
    /// Of a row.
    length: usize,
    rows: &'a [u32],
    vectors: &'a [&'a [f32]],
    /// `[vectors][rows]`.
    dots: &'a mut [Vec<f32>],
}

impl WithSimd for Dots<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let row = |row: u32| &self.values[row as usize * self.length..][..self.length];
        let (several, rest) = self.rows.as_chunks::<ROWS>();
        for (place, rows) in several.iter().enumerate() {
            across(rows.map(row), self.vectors, self.dots, place * ROWS);
        }
        for (place, one) in (several.len() * ROWS..).zip(rest) {
            across([row(*one)], self.vectors, self.dots, place);
        }
    }
}

/// The products of some rows with all vectors, written from `place` on.
#[inline(always)]
fn across<const N: usize>(
    rows: [&[f32]; N],
    vectors: &[&[f32]],
    dots: &mut [Vec<f32>],
    place: usize,
) {
    let (several, rest) = vectors.as_chunks::<VECTORS>();
    let (many, few) = dots.split_at_mut(several.len() * VECTORS);
    for (vectors, dots) in several.iter().zip(many.chunks_mut(VECTORS)) {
        for (sums, dots) in together(rows, *vectors).iter().zip(dots) {
            dots[place..][..N].copy_from_slice(sums);
        }
    }
    for (vector, dots) in rest.iter().zip(few) {
        dots[place..][..N].copy_from_slice(&together(rows, [*vector])[0]);
    }
}

/// ⟨row, vector⟩ of each vector and row, all of the same length.
#[inline(always)]
fn together<const N: usize, const M: usize>(
    rows: [&[f32]; N],
    vectors: [&[f32]; M],
) -> [[f32; N]; M] {
    let rows = rows.map(|row| row.as_chunks::<LANES>());
    let vectors = vectors.map(|vector| vector.as_chunks::<LANES>());
    let mut lanes = [[[0.0; LANES]; N]; M];
    for place in 0..rows[0].0.len() {
        for (lanes, (vector, _)) in lanes.iter_mut().zip(&vectors) {
            for (lanes, (row, _)) in lanes.iter_mut().zip(&rows) {
                let (row, vector) = (&row[place], &vector[place]);
                for lane in 0..LANES {
                    lanes[lane] += row[lane] * vector[lane];
                }
            }
        }
    }
    let mut sums = [[0.0; N]; M];
    for ((sums, lanes), (_, vector)) in sums.iter_mut().zip(lanes).zip(vectors) {
        for ((sum, lanes), (_, row)) in sums.iter_mut().zip(lanes).zip(rows) {
            for lane in 0..LANES / 2 {
                *sum += lanes[lane] + lanes[lane + LANES / 2];
            }
            for (x, y) in row.iter().zip(vector) {
                *sum += x * y;
            }
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Axis};

    use super::*;
    use crate::Seed;

    #[test]
    fn bits_are_those_of_ndarray() {
        let mut stream = Seed::root(2).stream();
        for length in [0, 1, 7, 8, 9, 31, 160, 163] {
            let matrix = Array2::from_shape_simple_fn((23, length), || {
                (stream.uniform() - 0.5) as f32 * (8.0 * stream.uniform()).exp() as f32
            });
            // Any number of rows, in any order, one of them twice.
            let rows = [3, 22, 0, 7, 7, 11, 12, 13, 21, 5, 1];
            for count in 0..=rows.len() {
                let found = dots(matrix.view(), &rows[..count], matrix.row(9));
                let expected = rows[..count]
                    .iter()
                    .map(|row| matrix.row(*row as usize).dot(&matrix.row(9)).to_bits());
                let found: Vec<u32> = found.into_iter().map(f32::to_bits).collect();
                assert_eq!(found, expected.collect::<Vec<u32>>(), "{length}");
                // With any number of vectors.
                for vectors in 0..=rows.len() {
                    let vector = |row: &u32| matrix.row(*row as usize);
                    let vectors: Vec<_> = rows[..vectors].iter().map(vector).collect();
                    let each = |vector: &ArrayView1<'_, f32>| {
                        dots(matrix.view(), &rows[..count], vector.view())
                    };
                    let expected: Vec<Vec<f32>> = vectors.iter().map(each).collect();
                    assert_eq!(dots_of(matrix.view(), &rows[..count], &vectors), expected);
                }
            }
            let mut turned = matrix.view();
            turned.invert_axis(Axis(1));
            assert_eq!(
                dots(turned, &rows, turned.row(9)),
                rows.map(|row| turned.row(row as usize).dot(&turned.row(9)))
            );
        }
    }
}
