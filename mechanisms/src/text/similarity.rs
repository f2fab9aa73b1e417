//! How similar two sentences are.

use ndarray::ArrayView1;

/// s = ½(1 + ⟨a, b⟩) of two unit-norm sentence vectors, from 0 to 1.
pub fn similarity(a: ArrayView1<'_, f32>, b: ArrayView1<'_, f32>) -> f64 {
    0.5 * (1.0 + f64::from(a.dot(&b)))
}
