//! Dot products of one vector with many rows of a matrix.
//!
//! # How it runs
//! Elements i, i + 8, i + 16, … of a product are summed in lane i. The lanes are added up in pairs of i and i + 4,
//! then the remaining elements at the end. That is the order of ndarray's `dot`, and the results are equal bit for
//! bit. Several rows run side by side on the processor's widest vectors; the operations are the same on every
//! processor.

use ndarray::{ArrayView1, ArrayView2};
use pulp::{Arch, Simd, WithSimd};

/// Partial sums of a product.
const LANES: usize = 8;
/// Rows computed side by side.
const ROWS: usize = 4;

/// ⟨row, `vector`⟩ of each of these `rows` of the `matrix`, bit for bit what ndarray's `dot` gives.
///
/// # Panics
/// If the matrix lacks a row, or the lengths differ.
#[must_use]
pub fn dots(matrix: ArrayView2<'_, f32>, rows: &[u32], vector: ArrayView1<'_, f32>) -> Vec<f32> {
    assert_eq!(matrix.ncols(), vector.len(), "lengths of rows and vector");
    let (Some(values), Some(slice)) = (matrix.as_slice(), vector.as_slice()) else {
        let dot = |row: &u32| matrix.row(*row as usize).dot(&vector);
        return rows.iter().map(dot).collect();
    };
    let mut dots = Vec::with_capacity(rows.len());
    Arch::new().dispatch(Dots {
        values,
        rows,
        vector: slice,
        dots: &mut dots,
    });
    dots
}

struct Dots<'a> {
    values: &'a [f32],
    rows: &'a [u32],
    vector: &'a [f32],
    dots: &'a mut Vec<f32>,
}

impl WithSimd for Dots<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let row = |row: u32| &self.values[row as usize * self.vector.len()..][..self.vector.len()];
        let (several, rest) = self.rows.as_chunks::<ROWS>();
        for rows in several {
            self.dots
                .extend_from_slice(&together(rows.map(row), self.vector));
        }
        for one in rest {
            self.dots
                .extend_from_slice(&together([row(*one)], self.vector));
        }
    }
}

/// ⟨row, `vector`⟩ of each row, all of the vector's length.
#[inline(always)]
fn together<const N: usize>(rows: [&[f32]; N], vector: &[f32]) -> [f32; N] {
    let (chunks, rest) = vector.as_chunks::<LANES>();
    let rows = rows.map(|row| row.as_chunks::<LANES>());
    let mut lanes = [[0.0; LANES]; N];
    for (place, chunk) in chunks.iter().enumerate() {
        for (lanes, (row, _)) in lanes.iter_mut().zip(&rows) {
            let row = &row[place];
            for lane in 0..LANES {
                lanes[lane] += row[lane] * chunk[lane];
            }
        }
    }
    let mut sums = [0.0; N];
    for ((sum, lanes), (_, row)) in sums.iter_mut().zip(lanes).zip(rows) {
        for lane in 0..LANES / 2 {
            *sum += lanes[lane] + lanes[lane + LANES / 2];
        }
        for (x, y) in row.iter().zip(rest) {
            *sum += x * y;
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
