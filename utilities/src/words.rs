//! What several utilities count.

use std::collections::HashMap;
use std::hash::Hash;

/// How often each item occurs.
pub fn counts<T: Eq + Hash>(items: impl IntoIterator<Item = T>) -> HashMap<T, u64> {
    let mut counts = HashMap::new();
    for item in items {
        *counts.entry(item).or_default() += 1;
    }
    counts
}

/// How many items two bags have in common.
pub fn common<T: Eq + Hash>(a: &HashMap<T, u64>, b: &HashMap<T, u64>) -> u64 {
    let shared = |(item, count): (&T, &u64)| b.get(item).map_or(0, |other| *count.min(other));
    a.iter().map(shared).sum()
}

/// 2pr / (p + r), and 0 where both are 0.
pub fn harmonic(precision: f64, recall: f64) -> f64 {
    match precision + recall {
        0.0 => 0.0,
        sum => 2.0 * precision * recall / sum,
    }
}
