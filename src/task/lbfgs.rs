//! Minimises a smooth convex function: L-BFGS with a backtracking line search.
//!
//! # Definition
//! The step is −H g, where g is the gradient and H the inverse Hessian that the last [`PAIRS`] moves and changes of the
//! gradient show. It is halved until the function falls by at least 10⁻⁴ of what the gradient promises. It ends where
//! |g| is small enough, after a given number of steps, or where no step falls any more. Nothing is random, and sums run
//! in one order.
//!
//! # Source
//! Liu & Nocedal, "On the limited memory BFGS method for large scale optimization" (1989).

use std::collections::VecDeque;

/// Moves that are remembered.
const PAIRS: usize = 10;
/// The share of the promised fall that a step must bring.
const ARMIJO: f64 = 1e-4;
/// Most halvings of a step.
const HALVINGS: usize = 40;

/// A function's value and gradient at a place.
pub(super) struct Slope {
    pub(super) value: f64,
    pub(super) gradient: Vec<f64>,
}

/// When a search ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    /// At a gradient of this norm.
    pub(super) flat: f64,
    /// After this many steps.
    pub(super) steps: usize,
}

/// A move, the change of the gradient along it, and 1 / ⟨move, change⟩.
struct Pair {
    moved: Vec<f64>,
    change: Vec<f64>,
    scale: f64,
}

/// The place where `function` is least, looked for from `start` on.
pub(super) fn minimise(start: Vec<f64>, end: End, function: impl Fn(&[f64]) -> Slope) -> Vec<f64> {
    let mut place = start;
    let mut at = function(&place);
    let mut pairs: VecDeque<Pair> = VecDeque::new();
    for _ in 0..end.steps {
        let size = dot(&at.gradient, &at.gradient).sqrt();
        if size <= end.flat {
            break;
        }
        let step = step(&at.gradient, &pairs);
        let fall = dot(&at.gradient, &step);
        // Without anything remembered the scale of a step is unknown: one of norm 1 is tried.
        let mut length = if pairs.is_empty() { 1.0 / size } else { 1.0 };
        let found = (0..HALVINGS).find_map(|_| {
            let moved: Vec<f64> = place
                .iter()
                .zip(&step)
                .map(|(x, s)| x - length * s)
                .collect();
            let there = function(&moved);
            let falls = there.value <= at.value - ARMIJO * length * fall;
            length /= 2.0;
            falls.then_some((moved, there))
        });
        let Some((moved, there)) = found else {
            // What is remembered may mislead; the gradient itself does not.
            if pairs.is_empty() {
                break;
            }
            pairs.clear();
            continue;
        };
        remember(
            &mut pairs,
            less(&moved, &place),
            less(&there.gradient, &at.gradient),
        );
        (place, at) = (moved, there);
    }
    place
}

/// H g, from the newest pair to the oldest and back.
fn step(gradient: &[f64], pairs: &VecDeque<Pair>) -> Vec<f64> {
    let mut step = gradient.to_vec();
    let mut weights = Vec::with_capacity(pairs.len());
    for pair in pairs.iter().rev() {
        let weight = pair.scale * dot(&pair.moved, &step);
        add(&mut step, -weight, &pair.change);
        weights.push(weight);
    }
    if let Some(newest) = pairs.back() {
        let curvature = 1.0 / (newest.scale * dot(&newest.change, &newest.change));
        step.iter_mut().for_each(|x| *x *= curvature);
    }
    for (pair, weight) in pairs.iter().zip(weights.into_iter().rev()) {
        let other = pair.scale * dot(&pair.change, &step);
        add(&mut step, weight - other, &pair.moved);
    }
    step
}

/// Adds a pair if the function is curved along it, as a convex one is but for rounding.
fn remember(pairs: &mut VecDeque<Pair>, moved: Vec<f64>, change: Vec<f64>) {
    let curved = dot(&moved, &change);
    if curved <= f64::EPSILON * dot(&change, &change) {
        return;
    }
    if pairs.len() == PAIRS {
        pairs.pop_front();
    }
    pairs.push_back(Pair {
        moved,
        change,
        scale: 1.0 / curved,
    });
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn less(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn add(to: &mut [f64], weight: f64, what: &[f64]) {
    for (to, what) in to.iter_mut().zip(what) {
        *to += weight * what;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Σ wᵢ (xᵢ − i)² with curvatures from 1 to 10⁴.
    fn bowl(x: &[f64]) -> Slope {
        let weight = |i: usize| 10_f64.powf(4.0 * i as f64 / 29.0);
        let off = |i: usize| x[i] - i as f64;
        Slope {
            value: (0..30).map(|i| weight(i) * off(i).powi(2)).sum(),
            gradient: (0..30).map(|i| 2.0 * weight(i) * off(i)).collect(),
        }
    }

    #[test]
    fn the_bottom_of_an_uneven_bowl_is_found() {
        let end = End {
            flat: 1e-8,
            steps: 2_000,
        };
        let found = minimise(vec![0.0; 30], end, bowl);
        for (i, x) in found.iter().enumerate() {
            assert!((x - i as f64).abs() < 1e-8, "{i}: {x}");
        }
    }

    #[test]
    fn a_search_ends_when_it_is_told_to_and_where_nothing_falls() {
        let end = |steps| End { flat: 0.0, steps };
        assert_eq!(minimise(vec![5.0; 30], end(0), bowl), [5.0; 30]);
        let once = minimise(vec![5.0; 30], end(1), bowl);
        assert!(bowl(&once).value < bowl(&[5.0; 30]).value);
        let flat = |_: &[f64]| Slope {
            value: 1.0,
            gradient: vec![0.0],
        };
        assert_eq!(minimise(vec![7.0], end(9), flat), [7.0]);
        // A gradient that is wrong brings no fall, and no loop without end.
        let wrong = |x: &[f64]| Slope {
            value: -x[0],
            gradient: vec![1.0],
        };
        assert_eq!(minimise(vec![7.0], end(9), wrong), [7.0]);
    }
}
