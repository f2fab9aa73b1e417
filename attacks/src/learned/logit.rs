//! The conditional logit: P(j) ∝ exp(⟨w, x_j⟩) over the k rows of an example, under an L2 penalty.
//!
//! # Definition
//! w minimises Σ_examples −ln P(secret) + ½ λ |w|². Only differences of rows within an example count, so rows are
//! centred within their example (with two rows, only the difference is kept). The problem is strictly convex for λ >
//! 0: even separable examples have a finite solution.
//!
//! # How it is solved
//! By Newton's method with step halving. The Hessian is recomputed only if the last step reduced the gradient too
//! little, and over evenly spaced examples if there are very many; the gradient is always exact. Sums run over fixed
//! chunks, added up in order, so that the result is the same for any number of threads.
//!
//! # Source
//! McFadden, "Conditional logit analysis of qualitative choice behavior" (1974).

use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2};
use rayon::prelude::*;

use super::cholesky::Cholesky;

/// Examples per task.
const CHUNK: usize = 1024;
/// Most rows that a Hessian is computed over.
const MOST_HESSIAN_ROWS: usize = 40_000;
/// Most Newton steps per fit.
const STEPS: usize = 60;
/// The gradient's norm per unit of √(examples + λ) at which a fit ends: far below its random variation.
const FLAT: f64 = 3e-4;

/// Examples to fit, `k` choices each, `width` numbers per choice.
pub(super) struct Choices {
    k: usize,
    width: usize,
    /// `[examples × rows × width]`: the choices minus their mean, or with two choices the first minus the second.
    rows: Vec<f32>,
    /// The index of the secret of each example.
    secrets: Vec<usize>,
}

/// The loss at some weights.
struct Slope {
    loss: f64,
    gradient: Vec<f64>,
}

/// Rows kept for `k` choices.
fn kept(k: usize) -> usize {
    if k == 2 { 1 } else { k }
}

impl Choices {
    /// The state without examples.
    pub(super) fn new(k: usize, width: usize) -> Self {
        Self {
            k,
            width,
            rows: Vec::new(),
            secrets: Vec::new(),
        }
    }

    /// Adds an example: its `k` choices, `[k × width]`.
    pub(super) fn push(&mut self, choices: &[f32], secret: usize) {
        self.secrets.push(secret);
        let width = self.width;
        if self.k == 2 {
            let (first, second) = choices.split_at(width);
            let less = first.iter().zip(second).map(|(a, b)| a - b);
            self.rows.extend(less);
            return;
        }
        let share = 1.0 / self.k as f64;
        let mean = |column: usize| {
            let values = choices[column..].iter().step_by(width);
            (values.map(|x| f64::from(*x)).sum::<f64>() * share) as f32
        };
        let means: Vec<f32> = (0..width).map(mean).collect();
        for choice in choices.chunks_exact(width.max(1)) {
            self.rows
                .extend(choice.iter().zip(&means).map(|(x, m)| x - m));
        }
    }

    fn len(&self) -> usize {
        self.secrets.len()
    }

    /// Numbers per example.
    fn stride(&self) -> usize {
        kept(self.k) * self.width
    }

    fn example(&self, index: usize) -> &[f32] {
        &self.rows[index * self.stride()..][..self.stride()]
    }

    /// P(choice) of an example under the weights.
    fn probabilities(&self, index: usize, weights: &[f64], into: &mut Vec<f64>) {
        into.clear();
        if self.k == 2 {
            into.extend([dot(self.example(index), weights), 0.0]);
        } else {
            let rows = self.example(index).chunks_exact(self.width);
            into.extend(rows.map(|row| dot(row, weights)));
        }
        softmax(into);
    }

    /// The root mean square of each column, over the rows kept.
    pub(super) fn scales(&self) -> Vec<f64> {
        let mut squares = vec![0.0; self.width];
        for row in self.rows() {
            for (square, x) in squares.iter_mut().zip(row) {
                *square += f64::from(*x).powi(2);
            }
        }
        let rows = (self.len() * kept(self.k)).max(1) as f64;
        squares.into_iter().map(|s| (s / rows).sqrt()).collect()
    }

    /// The greatest absolute value in each column.
    pub(super) fn limits(&self) -> Vec<f32> {
        let mut limits = vec![0.0_f32; self.width];
        for row in self.rows() {
            for (limit, x) in limits.iter_mut().zip(row) {
                *limit = limit.max(x.abs());
            }
        }
        limits
    }

    /// The rows kept, example after example.
    pub(super) fn rows(&self) -> impl Iterator<Item = &[f32]> {
        self.rows.chunks_exact(self.width.max(1))
    }

    /// The same examples with only the columns `columns`, each divided by its scale.
    pub(super) fn scaled(&self, columns: &[usize], scales: &[f64]) -> Self {
        let pick = |row: &[f32]| -> Vec<f32> {
            let of = |column: &usize| (f64::from(row[*column]) / scales[*column]) as f32;
            columns.iter().map(of).collect()
        };
        Self {
            k: self.k,
            width: columns.len(),
            rows: self
                .rows
                .par_chunks_exact(self.width.max(1))
                .flat_map_iter(pick)
                .collect(),
            secrets: self.secrets.clone(),
        }
    }

    /// Loss and gradient without the penalty.
    fn slope(&self, weights: &[f64]) -> Slope {
        let chunk = |first: usize| {
            let (mut loss, mut gradient) = (0.0, vec![0.0; self.width]);
            let mut p = Vec::with_capacity(self.k);
            for index in first..(first + CHUNK).min(self.len()) {
                self.probabilities(index, weights, &mut p);
                let secret = self.secrets[index];
                loss -= p[secret].max(f64::MIN_POSITIVE).ln();
                for (j, row) in self.example(index).chunks_exact(self.width).enumerate() {
                    let less = p[j] - f64::from(u8::from(j == secret));
                    for (g, x) in gradient.iter_mut().zip(row) {
                        *g += less * f64::from(*x);
                    }
                }
            }
            (loss, gradient)
        };
        let firsts: Vec<usize> = (0..self.len()).step_by(CHUNK).collect();
        let parts: Vec<(f64, Vec<f64>)> = firsts.into_par_iter().map(chunk).collect();
        let mut total = Slope {
            loss: 0.0,
            gradient: vec![0.0; self.width],
        };
        for (loss, gradient) in parts {
            total.loss += loss;
            add(&mut total.gradient, &gradient);
        }
        total
    }

    /// The Hessian without the penalty, `[width × width]`.
    fn curvature(&self, weights: &[f64]) -> Array2<f64> {
        let rows = kept(self.k);
        let every = (self.len() * rows).div_ceil(MOST_HESSIAN_ROWS).max(1);
        let used: Vec<usize> = (0..self.len()).step_by(every).collect();
        let part = |indices: &[usize]| {
            let mut scaled = vec![0.0; indices.len() * self.stride()];
            let mut p = Vec::with_capacity(self.k);
            for (index, into) in indices.iter().zip(scaled.chunks_exact_mut(self.stride())) {
                self.probabilities(*index, weights, &mut p);
                self.weigh(self.example(*index), &p, into);
            }
            let shape = (indices.len() * rows, self.width);
            let scaled = ArrayView2::from_shape(shape, &scaled).expect("one row a row");
            let mut product = Array2::zeros((self.width, self.width));
            general_mat_mul(1.0, &scaled.t(), &scaled, 0.0, &mut product);
            product
        };
        let parts: Vec<Array2<f64>> = used.par_chunks(CHUNK).map(part).collect();
        let mut total = Array2::zeros((self.width, self.width));
        for part in parts {
            total += &part;
        }
        total * (self.len() as f64 / used.len().max(1) as f64)
    }

    /// Rows whose squares add up to an example's part of the Hessian.
    fn weigh(&self, rows: &[f32], p: &[f64], into: &mut [f64]) {
        if self.k == 2 {
            let root = (p[0] * p[1]).sqrt();
            for (into, x) in into.iter_mut().zip(rows) {
                *into = root * f64::from(*x);
            }
            return;
        }
        let mut mean = vec![0.0; self.width];
        for (row, p) in rows.chunks_exact(self.width).zip(p) {
            for (m, x) in mean.iter_mut().zip(row) {
                *m += p * f64::from(*x);
            }
        }
        let each = rows.chunks_exact(self.width).zip(p);
        for ((row, p), into) in each.zip(into.chunks_exact_mut(self.width)) {
            for ((into, x), m) in into.iter_mut().zip(row).zip(&mean) {
                *into = p.sqrt() * (f64::from(*x) - m);
            }
        }
    }

    /// The weights that minimise the penalised loss, starting from `start`.
    pub(super) fn fit(&self, penalty: f64, start: &[f64]) -> Vec<f64> {
        let mut weights = start.to_vec();
        if self.width == 0 || self.len() == 0 {
            return vec![0.0; self.width];
        }
        let flat = FLAT * (self.len() as f64 + penalty).sqrt();
        let mut at = self.penalised(&weights, penalty);
        let mut factor: Option<Cholesky> = None;
        for _ in 0..STEPS {
            let size = norm(&at.gradient);
            if size <= flat {
                break;
            }
            let fresh = factor.is_none();
            let step = factor
                .get_or_insert_with(|| Cholesky::of(self.curvature(&weights), penalty))
                .solve(&at.gradient);
            let Some((moved, there)) = self.descend(&weights, &at, &step, penalty) else {
                if fresh {
                    break;
                }
                factor = None;
                continue;
            };
            if norm(&there.gradient) > 0.2 * size {
                factor = None;
            }
            (weights, at) = (moved, there);
        }
        weights
    }

    fn penalised(&self, weights: &[f64], penalty: f64) -> Slope {
        let mut slope = self.slope(weights);
        for (g, w) in slope.gradient.iter_mut().zip(weights) {
            *g += penalty * w;
        }
        let squares: f64 = weights.iter().map(|w| w * w).sum();
        slope.loss += penalty / 2.0 * squares;
        slope
    }

    /// The first of the step and its halvings that lowers the loss enough; `None` if none does.
    fn descend(
        &self,
        weights: &[f64],
        at: &Slope,
        step: &[f64],
        penalty: f64,
    ) -> Option<(Vec<f64>, Slope)> {
        let fall: f64 = at.gradient.iter().zip(step).map(|(g, s)| g * s).sum();
        let mut length = 1.0;
        for _ in 0..30 {
            let move_to = |(w, s): (&f64, &f64)| w - length * s;
            let moved: Vec<f64> = weights.iter().zip(step).map(move_to).collect();
            let there = self.penalised(&moved, penalty);
            if there.loss <= at.loss - 1e-4 * length * fall {
                return Some((moved, there));
            }
            length /= 2.0;
        }
        None
    }
}

/// ⟨x, w⟩ in eight partial sums, so that a processor can compute them in parallel.
pub(super) fn dot(x: &[f32], weights: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (xs, ws) = (x.chunks_exact(8), weights.chunks_exact(8));
    let rest = xs.remainder().iter().zip(ws.remainder());
    let rest: f64 = rest.map(|(x, w)| f64::from(*x) * w).sum();
    for (x, w) in xs.zip(ws) {
        for lane in 0..8 {
            sums[lane] += f64::from(x[lane]) * w[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// exp(x) / Σ exp(x), in place.
fn softmax(values: &mut [f64]) {
    let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut sum = 0.0;
    for value in values.iter_mut() {
        *value = (*value - highest).exp();
        sum += *value;
    }
    for value in values {
        *value /= sum;
    }
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn add(to: &mut [f64], what: &[f64]) {
    for (to, what) in to.iter_mut().zip(what) {
        *to += what;
    }
}

#[cfg(test)]
mod tests {
    use teda_core::{Seed, Stream};

    use super::*;

    fn random(stream: &mut Stream) -> f64 {
        (0..12).map(|_| stream.uniform()).sum::<f64>() - 6.0
    }

    fn examples(k: usize, n: usize, truth: &[f64]) -> Choices {
        let mut stream = Seed::root(5).at(k as u64).stream();
        let mut choices = Choices::new(k, truth.len());
        for _ in 0..n {
            let rows: Vec<f32> = (0..k * truth.len())
                .map(|_| random(&mut stream) as f32)
                .collect();
            let mut p: Vec<f64> = rows.chunks(truth.len()).map(|r| dot(r, truth)).collect();
            softmax(&mut p);
            let mut u = stream.uniform();
            let secret = p.iter().position(|p| {
                u -= p;
                u < 0.0
            });
            choices.push(&rows, secret.unwrap_or(k - 1));
        }
        choices
    }

    #[test]
    fn known_weights_are_recovered() {
        let truth = [1.5, -0.7, 0.0, 0.3];
        for k in [2, 3, 16] {
            let fitted = examples(k, 20_000, &truth).fit(1e-3, &[0.0; 4]);
            for (found, true_one) in fitted.iter().zip(&truth) {
                assert!((found - true_one).abs() < 0.06, "k={k}: {fitted:?}");
            }
        }
    }

    #[test]
    fn separable_examples_have_finite_weights_and_few_are_enough() {
        let mut choices = Choices::new(2, 2);
        for i in 0..4 {
            choices.push(&[1.0 + i as f32, 0.0, 0.0, 0.0], 0);
        }
        for penalty in [1e-6, 1.0, 1e6] {
            let fitted = choices.fit(penalty, &[0.0; 2]);
            assert!(fitted[0] > 0.0 && fitted[0].is_finite(), "{fitted:?}");
            assert_eq!(fitted[1], 0.0);
        }
        assert!(Choices::new(3, 0).fit(1.0, &[]).is_empty());
        assert_eq!(Choices::new(2, 2).fit(1.0, &[0.0; 2]), [0.0; 2]);
    }

    #[test]
    fn the_gradient_vanishes_at_the_fit() {
        let choices = examples(5, 3_000, &[0.5, 2.0]);
        let fitted = choices.fit(10.0, &[0.0; 2]);
        let gradient = choices.penalised(&fitted, 10.0).gradient;
        assert!(norm(&gradient) < 0.02, "{gradient:?}");
    }

    #[test]
    fn threads_change_no_bit() {
        let choices = examples(3, 5_000, &[0.5, 2.0, -1.0]);
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().unwrap();
            pool.install(|| choices.fit(1.0, &[0.0; 3]))
        };
        assert_eq!(on(1), on(2));
    }
}
