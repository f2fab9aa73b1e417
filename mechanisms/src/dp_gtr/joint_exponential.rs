//! The joint exponential mechanism for the k items with the highest counts.
//!
//! # Definition
//! Items 0 … d−1 of a domain have counts c₀ ≥ c₁ ≥ …; a sequence S of k distinct items has the utility
//! u(S) = −max_i (c_i − c_{S_i}), and Pr(S) ∝ exp(ε u(S) / (2Δ)).
//!
//! # Guarantee
//! ε, if neighbouring inputs change each count by at most Δ and all in the same direction, or by at most Δ/2 in any
//! direction: then u moves by at most Δ. The domain must not depend on the input; a domain of the items that were seen
//! reveals which ones these are. Proven for such a domain.
//!
//! # Source
//! Gillenwater, Joseph, Muñoz Medina and Ribero, *A joint exponential mechanism for differentially private
//! top-k* (ICML 2022).
//!
//! # Deviations
//! DP-GTR's code names Δ = 1 by `neighbor_type=1`, and its domain are the words seen; here the domain is the caller's.
//!
//! # Sampling
//! There are d!/(d−k)! sequences but only dk utilities. The entries D[i, j] = c_i − c_j + (d(k−i−1) + j + 1)/(2dk),
//! made distinct by the fraction, are walked in ascending order. The sequences whose greatest entry is D[i, j] have
//! S_i = j and, in every other row r, one of the t_r columns met before; these sets are nested from row to row, so
//! there are m̃ = ∏_{r≠i} (t_r − r) of them. An entry is drawn with probability ∝ m̃ exp(−ε⌊D⌋/(2Δ)); then the other
//! rows are filled from the top, each uniformly from its unused columns.

use teda_core::Stream;

/// An entry D[i, j].
struct Entry {
    row: usize,
    column: usize,
    /// c_i − c_j = ⌊D⌋.
    loss: i64,
    /// d(k−i−1) + j + 1: makes entries of equal loss distinct.
    rank: usize,
}

/// The indices of `k` items in `counts`, which must be in descending order and hold at least `k`.
///
/// # Panics
/// If there are fewer than `k` counts.
pub fn draw(
    counts: &[u32],
    k: usize,
    epsilon: f64,
    sensitivity: f64,
    stream: &mut Stream,
) -> Vec<usize> {
    assert!(
        k <= counts.len(),
        "{k} items of a domain of {}",
        counts.len()
    );
    if k == 0 {
        return Vec::new();
    }
    let entries = entries(counts, k);
    let ln_sequences = ln_sequences(&entries, k);
    // u moves by at most Δ, so the exponential mechanism weighs by exp(ε u / (2Δ)), u = −⌊D⌋.
    let mut log_weights: Vec<f64> = entries
        .iter()
        .zip(&ln_sequences)
        .map(|(entry, ln)| ln - epsilon * entry.loss as f64 / (2.0 * sensitivity))
        .collect();
    let drawn = stream.softmax(&mut log_weights);
    fill(&entries[..=drawn], k, stream)
}

/// All entries in ascending order.
fn entries(counts: &[u32], k: usize) -> Vec<Entry> {
    let d = counts.len();
    let mut entries: Vec<Entry> = (0..k)
        .flat_map(|row| {
            counts.iter().enumerate().map(move |(column, count)| Entry {
                row,
                column,
                loss: i64::from(counts[row]) - i64::from(*count),
                rank: d * (k - row - 1) + column + 1,
            })
        })
        .collect();
    entries.sort_unstable_by_key(|entry| (entry.loss, entry.rank));
    entries
}

/// ln m̃ of each entry: the number of sequences that have it as their greatest.
fn ln_sequences(entries: &[Entry], k: usize) -> Vec<f64> {
    let mut met = vec![0_usize; k];
    entries
        .iter()
        .map(|entry| {
            let ln = (0..k)
                .filter(|row| *row != entry.row)
                .map(|row| match met[row].checked_sub(row) {
                    None | Some(0) => f64::NEG_INFINITY,
                    Some(free) => (free as f64).ln(),
                })
                .sum();
            met[entry.row] += 1;
            ln
        })
        .collect()
}

/// A sequence drawn uniformly from those whose greatest entry is the last of `entries`.
fn fill(entries: &[Entry], k: usize, stream: &mut Stream) -> Vec<usize> {
    let (greatest, before) = entries.split_last().expect("an entry was drawn");
    let mut met: Vec<Vec<usize>> = vec![Vec::new(); k];
    for entry in before {
        met[entry.row].push(entry.column);
    }
    met[greatest.row] = vec![greatest.column];
    let mut sequence: Vec<usize> = Vec::with_capacity(k);
    for columns in &met {
        let unused: Vec<usize> = columns
            .iter()
            .copied()
            .filter(|column| !sequence.contains(column))
            .collect();
        sequence.push(unused[stream.below(unused.len())]);
    }
    sequence
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use teda_core::Seed;

    use super::*;
    use crate::testing::statistics;

    /// All sequences of `k` distinct indices below `d`.
    fn sequences(d: usize, k: usize) -> Vec<Vec<usize>> {
        (0..k).fold(vec![vec![]], |prefixes, _| {
            prefixes
                .into_iter()
                .flat_map(|prefix| {
                    (0..d)
                        .filter(|j| !prefix.contains(j))
                        .map(|j| [&prefix[..], &[j]].concat())
                        .collect::<Vec<_>>()
                })
                .collect()
        })
    }

    /// Pr(S) directly from the definition.
    fn exact(
        counts: &[u32],
        k: usize,
        epsilon: f64,
        sensitivity: f64,
    ) -> BTreeMap<Vec<usize>, f64> {
        let weight = |sequence: &Vec<usize>| {
            let losses = sequence
                .iter()
                .enumerate()
                .map(|(i, j)| f64::from(counts[i]) - f64::from(counts[*j]));
            let greatest = losses.fold(f64::NEG_INFINITY, f64::max);
            (-epsilon * greatest / (2.0 * sensitivity)).exp()
        };
        let all = sequences(counts.len(), k);
        let total: f64 = all.iter().map(weight).sum();
        all.into_iter()
            .map(|sequence| {
                let p = weight(&sequence) / total;
                (sequence, p)
            })
            .collect()
    }

    #[test]
    fn draws_follow_the_exact_probabilities() {
        for counts in [
            &[5, 3, 3, 1, 0, 0][..],
            &[2, 2, 2, 2],
            &[9, 4, 1],
            &[0, 0, 0, 0, 0],
            &[7],
        ] {
            for k in 1..=counts.len().min(3) {
                for (epsilon, sensitivity) in [(0.3, 1.0), (2.0, 1.0), (6.0, 2.0)] {
                    let mut stream = Seed::root(15).at(k as u64).stream();
                    let mut seen: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
                    for _ in 0..20_000 {
                        let sequence = draw(counts, k, epsilon, sensitivity, &mut stream);
                        *seen.entry(sequence).or_default() += 1.0;
                    }
                    let exact = exact(counts, k, epsilon, sensitivity);
                    let what = format!("{counts:?} k={k} ε={epsilon} Δ={sensitivity}");
                    statistics::assert_sampled(&seen, &exact, &what);
                }
            }
        }
    }

    #[test]
    fn a_large_budget_finds_the_highest_and_a_large_domain_is_no_problem() {
        let mut counts = vec![0; 20_000];
        counts[..10].copy_from_slice(&[10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
        let mut stream = Seed::root(16).stream();
        let highest: Vec<usize> = (0..10).collect();
        assert_eq!(draw(&counts, 10, 1e4, 1.0, &mut stream), highest);
        assert_eq!(draw(&counts, 0, 1.0, 1.0, &mut stream), Vec::<usize>::new());
    }

    /// Sorts counts and returns the probabilities by item.
    fn by_item(counts: &[u32], k: usize, epsilon: f64) -> BTreeMap<Vec<usize>, f64> {
        let mut order: Vec<usize> = (0..counts.len()).collect();
        order.sort_by_key(|i| std::cmp::Reverse(counts[*i]));
        let sorted: Vec<u32> = order.iter().map(|i| counts[*i]).collect();
        exact(&sorted, k, epsilon, 1.0)
            .into_iter()
            .map(|(places, p)| (places.into_iter().map(|j| order[j]).collect(), p))
            .collect()
    }

    proptest! {
        /// Privacy itself: one more document, which adds at most 1 to each count, changes no sequence's probability by
        /// more than a factor of e^ε.
        #[test]
        fn one_document_more_stays_within_epsilon(
            items in prop::collection::vec((0_u32..6, 0_u32..2), 2..6), k in 1_usize..3,
            epsilon in 0.1_f64..8.0,
        ) {
            let before: Vec<u32> = items.iter().map(|(count, _)| *count).collect();
            let after: Vec<u32> = items.iter().map(|(count, more)| count + more).collect();
            let (p, q) = (by_item(&before, k, epsilon), by_item(&after, k, epsilon));
            prop_assert!(statistics::greatest_loss(&p, &q) <= epsilon * (1.0 + 1e-9));
        }

        /// The entries account for all sequences.
        #[test]
        fn every_sequence_belongs_to_one_entry(
            mut counts in prop::collection::vec(0_u32..5, 1..7), k in 1_usize..4,
        ) {
            counts.sort_by_key(|count| std::cmp::Reverse(*count));
            let k = k.min(counts.len());
            let total: f64 = ln_sequences(&entries(&counts, k), k)
                .into_iter()
                .map(f64::exp)
                .sum();
            prop_assert!((total - sequences(counts.len(), k).len() as f64).abs() < 1e-6);
        }
    }
}
