//! The factor of a symmetric matrix that Newton's method divides by.

use ndarray::Array2;

/// L with L Lᵀ = H + λ I.
pub(super) struct Cholesky(Array2<f64>);

impl Cholesky {
    /// The factor of `hessian` with `penalty` added to its diagonal. Where rounding leaves no positive pivot, the
    /// penalty alone is used: the matrix has no smaller eigenvalue.
    pub(super) fn of(mut hessian: Array2<f64>, penalty: f64) -> Self {
        let n = hessian.nrows();
        for i in 0..n {
            hessian[[i, i]] += penalty;
        }
        let values = hessian.as_slice_mut().expect("a fresh matrix");
        for i in 0..n {
            let (above, own) = values.split_at_mut(i * n);
            for j in 0..i {
                let row = &above[j * n..][..j];
                let sum: f64 = own[..j].iter().zip(row).map(|(a, b)| a * b).sum();
                own[j] = (own[j] - sum) / above[j * n + j];
            }
            let squares: f64 = own[..i].iter().map(|x| x * x).sum();
            own[i] = (own[i] - squares).max(penalty).sqrt();
        }
        Self(hessian)
    }

    /// x with L Lᵀ x = b.
    pub(super) fn solve(&self, b: &[f64]) -> Vec<f64> {
        let n = b.len();
        let mut x = b.to_vec();
        for i in 0..n {
            for j in 0..i {
                x[i] -= self.0[[i, j]] * x[j];
            }
            x[i] /= self.0[[i, i]];
        }
        for i in (0..n).rev() {
            x[i] /= self.0[[i, i]];
            for j in 0..i {
                x[j] -= self.0[[i, j]] * x[i];
            }
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn it_solves_and_survives_a_singular_matrix() {
        let matrix = array![[3.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 4.0]];
        let x = Cholesky::of(matrix.clone(), 1.0).solve(&[1.0, 2.0, 3.0]);
        for (i, b) in [1.0, 2.0, 3.0].iter().enumerate() {
            let product: f64 = matrix.row(i).iter().zip(&x).map(|(a, x)| a * x).sum();
            assert!((product + x[i] - b).abs() < 1e-12);
        }
        let flat = Cholesky::of(array![[1e9, 1e9], [1e9, 1e9]], 1e-9).solve(&[1.0, 1.0]);
        assert!(flat.iter().all(|x| x.is_finite()), "{flat:?}");
    }
}
