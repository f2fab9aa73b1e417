//! Multinomial logistic regression under an L2 penalty.
//!
//! # Definition
//! P(c | x) ∝ exp(⟨w_c, x⟩ + b_c). The weights w and the intercepts b minimise
//! Σ_examples −ln P(class) + ½ λ Σ_c |w_c|². The intercepts are not penalised: they are the weights of the last column,
//! which is 1 in every row. λ is scikit-learn's 1/C. Every class has weights of its own, also where there are two.
//!
//! # How it is solved
//! By L-BFGS with the exact gradient ([`super::lbfgs`]). Sums over examples run in their order, so the result is the
//! same for any number of threads.
//!
//! # Source
//! Hastie, Tibshirani, Friedman, *The Elements of Statistical Learning* (2009), 4.4; scikit-learn,
//! `LogisticRegression`.

use rayon::prelude::*;

use super::lbfgs::{End, Slope, minimise};
use super::sparse::Sparse;

/// Examples per task at least.
const TASK: usize = 256;

/// Whether an example counts, by its index.
pub(super) type Used = fn(usize) -> bool;

/// Examples to fit.
pub(super) struct Examples {
    rows: Sparse,
    /// The same, column by column, for the gradient.
    columns: Sparse,
    classes: Vec<usize>,
    /// Number of classes.
    k: usize,
}

impl Examples {
    /// Rows whose last column is 1, each with its class below `k`.
    pub(super) fn new(rows: Sparse, classes: Vec<usize>, k: usize) -> Self {
        Self {
            columns: rows.transposed(),
            rows,
            classes,
            k,
        }
    }

    /// Numbers to fit: `[columns × k]`.
    pub(super) fn width(&self) -> usize {
        self.rows.columns() * self.k
    }

    /// The weights that minimise the penalised loss of the examples that are `used`, looked for from `start` on.
    pub(super) fn fit(&self, used: Used, penalty: f64, start: Vec<f64>, end: End) -> Vec<f64> {
        minimise(start, end, |weights| self.penalised(used, weights, penalty))
    }

    /// −Σ ln P(class) of the examples that are `used`.
    pub(super) fn loss(&self, used: Used, weights: &[f64]) -> f64 {
        self.sum(used, &log_probabilities(&self.rows, weights, self.k))
    }

    fn sum(&self, used: Used, logs: &[f64]) -> f64 {
        let own = logs.chunks_exact(self.k).zip(&self.classes).enumerate();
        let used = own.filter(|(example, _)| used(*example));
        used.map(|(_, (row, class))| -row[*class]).sum()
    }

    /// The penalised loss of the examples that are `used`, and its gradient.
    fn penalised(&self, used: Used, weights: &[f64], penalty: f64) -> Slope {
        let mut less = log_probabilities(&self.rows, weights, self.k);
        let mut value = self.sum(used, &less);
        // The derivative by an example's scores: its probabilities, minus 1 at its class.
        less.par_chunks_mut(self.k)
            .zip(&self.classes)
            .enumerate()
            .with_min_len(TASK)
            .for_each(|(example, (row, class))| {
                if used(example) {
                    row.iter_mut().for_each(|x| *x = x.exp());
                    row[*class] -= 1.0;
                } else {
                    row.fill(0.0);
                }
            });
        let mut gradient = self.columns.times(&less, self.k);
        let penalised = gradient.len() - self.k;
        for (g, w) in gradient[..penalised].iter_mut().zip(weights) {
            *g += penalty * w;
            value += 0.5 * penalty * w * w;
        }
        Slope { value, gradient }
    }
}

/// ln P of every class for every row, `[rows × k]`.
pub(super) fn log_probabilities(rows: &Sparse, weights: &[f64], k: usize) -> Vec<f64> {
    let mut scores = rows.times(weights, k);
    let rows = scores.par_chunks_mut(k).with_min_len(TASK);
    rows.for_each(|row| {
        let highest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = row.iter().map(|x| (x - highest).exp()).sum();
        let whole = highest + sum.ln();
        row.iter_mut().for_each(|x| *x -= whole);
    });
    scores
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    /// What scikit-learn found (`scripts/task/reference.py`).
    #[derive(Deserialize)]
    struct Reference {
        regressions: Vec<Fitted>,
    }

    #[derive(Deserialize)]
    struct Fitted {
        penalty: f64,
        classes: usize,
        rows: Vec<Vec<f32>>,
        labels: Vec<usize>,
        weights: Vec<Vec<f64>>,
        intercepts: Vec<f64>,
        probabilities: Vec<Vec<f64>>,
    }

    fn references() -> Vec<Fitted> {
        let text = include_str!("fixtures/reference.json");
        serde_json::from_str::<Reference>(text).unwrap().regressions
    }

    /// The rows with a last column of 1, without their zeros.
    fn sparse(rows: &[Vec<f32>]) -> Sparse {
        let row = |row: &Vec<f32>| {
            let all = (0..).zip(row.iter().copied().chain([1.0]));
            all.filter(|(_, x)| *x != 0.0).collect()
        };
        Sparse::new(rows[0].len() + 1, rows.iter().map(row).collect())
    }

    const EXACT: End = End {
        flat: 1e-9,
        steps: 10_000,
    };

    fn all(_: usize) -> bool {
        true
    }

    /// Fits small examples on one thread: to hand each step to others would take most of the time.
    fn fit(examples: &Examples, used: Used, penalty: f64) -> Vec<f64> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let start = vec![0.0; examples.width()];
        pool.unwrap()
            .install(|| examples.fit(used, penalty, start, EXACT))
    }

    #[test]
    fn the_optimum_is_that_of_scikit_learn() {
        for known in references() {
            let rows = sparse(&known.rows);
            let examples = Examples::new(rows.clone(), known.labels, known.classes);
            let found = fit(&examples, all, known.penalty);
            let k = known.classes;
            for class in 0..k {
                let own = known.weights[class]
                    .iter()
                    .chain([&known.intercepts[class]]);
                for (column, expected) in own.enumerate() {
                    let weight = found[column * k + class];
                    assert!(
                        (weight - expected).abs() < 2e-6,
                        "λ={}, class {class}, column {column}: {weight}, not {expected}",
                        known.penalty
                    );
                }
            }
            let logs = log_probabilities(&rows, &found, k);
            let expected = known.probabilities.iter().flatten();
            for (log, expected) in logs.iter().zip(expected) {
                assert!((log.exp() - expected).abs() < 1e-6, "{log} {expected}");
            }
        }
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let known = references().swap_remove(1);
        let examples = Examples::new(sparse(&known.rows), known.labels, known.classes);
        let some: Used = |example| example % 3 > 0;
        for used in [all, some] {
            let place: Vec<f64> = (0..examples.width()).map(|i| (i as f64).sin()).collect();
            let slope = examples.penalised(used, &place, 0.7);
            for (number, gradient) in slope.gradient.iter().enumerate() {
                let value = |shift: f64| {
                    let mut there = place.clone();
                    there[number] += shift;
                    examples.penalised(used, &there, 0.7).value
                };
                let difference = (value(1e-5) - value(-1e-5)) / 2e-5;
                assert!(
                    (difference - gradient).abs() < 1e-6,
                    "{number}: {gradient}, not {difference}"
                );
            }
        }
    }

    #[test]
    fn examples_that_are_not_used_change_nothing() {
        let known = references().swap_remove(0);
        let some: Used = |example| example % 3 > 0;
        let fitted = |rows: &[Vec<f32>], labels: &[usize], used| {
            let examples = Examples::new(sparse(rows), labels.to_vec(), known.classes);
            fit(&examples, used, 1.0)
        };
        let whole = fitted(&known.rows, &known.labels, some);
        let kept: Vec<usize> = (0..known.rows.len()).filter(|i| some(*i)).collect();
        let rows: Vec<Vec<f32>> = kept.iter().map(|i| known.rows[*i].clone()).collect();
        let labels: Vec<usize> = kept.iter().map(|i| known.labels[*i]).collect();
        for (a, b) in whole.iter().zip(fitted(&rows, &labels, all)) {
            assert!((a - b).abs() < 1e-7, "{a} {b}");
        }
    }

    #[test]
    fn a_penalty_without_end_leaves_the_frequencies() {
        let known = references().swap_remove(0);
        let labels = known.labels.clone();
        let rows = sparse(&known.rows);
        let examples = Examples::new(rows.clone(), known.labels, known.classes);
        let found = fit(&examples, all, 1e9);
        let logs = log_probabilities(&rows, &found, known.classes);
        for (class, log) in logs[..known.classes].iter().enumerate() {
            let share = labels.iter().filter(|label| **label == class).count() as f64 / 60.0;
            assert!((log.exp() - share).abs() < 1e-4, "{class}");
        }
    }
}
