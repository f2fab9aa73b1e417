//! A matrix of which most entries are 0, and its product with a narrow dense one.

use rayon::prelude::*;

/// Rows of a product per task: few, because some columns of features are in every text and most in hardly any.
const TASK: usize = 16;

/// Rows of (column, value), by ascending column.
#[derive(Debug, Clone)]
pub(super) struct Sparse {
    columns: usize,
    /// Where each row's entries begin, and where the last one's end.
    starts: Vec<usize>,
    entries: Vec<(u32, f32)>,
}

impl Sparse {
    /// The matrix with these rows, each by ascending column.
    pub(super) fn new(columns: usize, rows: Vec<Vec<(u32, f32)>>) -> Self {
        let mut starts = vec![0];
        let mut entries = Vec::with_capacity(rows.iter().map(Vec::len).sum());
        for row in rows {
            entries.extend(row);
            starts.push(entries.len());
        }
        Self {
            columns,
            starts,
            entries,
        }
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of columns.
    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    fn row(&self, row: usize) -> &[(u32, f32)] {
        &self.entries[self.starts[row]..self.starts[row + 1]]
    }

    /// Columns as rows.
    pub(super) fn transposed(&self) -> Self {
        let mut starts = vec![0; self.columns + 1];
        for (column, _) in &self.entries {
            starts[*column as usize + 1] += 1;
        }
        for column in 0..self.columns {
            starts[column + 1] += starts[column];
        }
        let mut next = starts.clone();
        let mut entries = vec![(0, 0.0); self.entries.len()];
        for row in 0..self.rows() {
            for (column, value) in self.row(row) {
                let place = &mut next[*column as usize];
                entries[*place] = (row as u32, *value);
                *place += 1;
            }
        }
        Self {
            columns: self.rows(),
            starts,
            entries,
        }
    }

    /// The product with `dense`, `[columns × width]`. Each number is one sum in the order of the row's entries, so it
    /// does not depend on threads.
    pub(super) fn times(&self, dense: &[f64], width: usize) -> Vec<f64> {
        // Sums of a known number stay in registers.
        match width {
            1 => self.times_narrow::<1>(dense),
            2 => self.times_narrow::<2>(dense),
            3 => self.times_narrow::<3>(dense),
            4 => self.times_narrow::<4>(dense),
            5 => self.times_narrow::<5>(dense),
            6 => self.times_narrow::<6>(dense),
            7 => self.times_narrow::<7>(dense),
            8 => self.times_narrow::<8>(dense),
            _ => self.times_wide(dense, width),
        }
    }

    fn times_narrow<const WIDTH: usize>(&self, dense: &[f64]) -> Vec<f64> {
        let (dense, _) = dense.as_chunks::<WIDTH>();
        self.by_rows(WIDTH, |row, into| {
            let mut sums = [0.0; WIDTH];
            for (column, value) in row {
                let factors = &dense[*column as usize];
                for (sum, factor) in sums.iter_mut().zip(factors) {
                    *sum += f64::from(*value) * factor;
                }
            }
            into.copy_from_slice(&sums);
        })
    }

    fn times_wide(&self, dense: &[f64], width: usize) -> Vec<f64> {
        self.by_rows(width, |row, sums| {
            for (column, value) in row {
                let factors = &dense[*column as usize * width..][..width];
                for (sum, factor) in sums.iter_mut().zip(factors) {
                    *sum += f64::from(*value) * factor;
                }
            }
        })
    }

    /// What `add` makes of every row, in `width` numbers that are 0 before.
    fn by_rows(&self, width: usize, add: impl Fn(&[(u32, f32)], &mut [f64]) + Sync) -> Vec<f64> {
        let mut product = vec![0.0; self.rows() * width];
        product
            .par_chunks_mut(TASK * width)
            .enumerate()
            .for_each(|(task, rows)| {
                for (place, sums) in rows.chunks_exact_mut(width).enumerate() {
                    add(self.row(task * TASK + place), sums);
                }
            });
        product
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix() -> Sparse {
        Sparse::new(
            3,
            vec![vec![(0, 1.0), (2, 2.0)], vec![], vec![(1, -1.0), (2, 0.5)]],
        )
    }

    #[test]
    fn a_product_is_that_of_the_whole_matrix() {
        let dense = [1.0, 10.0, 2.0, 20.0, 3.0, 30.0];
        assert_eq!(matrix().times(&dense, 2), [7.0, 70.0, 0.0, 0.0, -0.5, -5.0]);
        // Columns times a vector over the rows.
        assert_eq!(
            matrix().transposed().times(&[1.0, 5.0, 2.0], 1),
            [1.0, -2.0, 3.0]
        );
    }

    #[test]
    fn narrow_and_wide_products_have_the_same_bits() {
        for width in 1..=8 {
            let dense: Vec<f64> = (0..3 * width).map(|i| (i as f64).sin()).collect();
            assert_eq!(
                matrix().times(&dense, width),
                matrix().times_wide(&dense, width)
            );
        }
    }

    #[test]
    fn rows_and_columns_change_places_and_back() {
        let back = matrix().transposed().transposed();
        assert_eq!((back.rows(), back.columns()), (3, 3));
        assert_eq!(back.entries, matrix().entries);
        assert_eq!(back.starts, matrix().starts);
    }
}
