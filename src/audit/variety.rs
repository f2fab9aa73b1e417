//! How varied the candidate sets of a cell are.
//!
//! # Definition
//! Over the first 2¹⁸ trials: the number of distinct sets, ignoring order; exp(−Σ p ln p) over the shares p of the
//! sets, the number of equally frequent sets with the same entropy; the share of the sets that hold the most common
//! text; the share that the five most common texts have among all candidates after the first of their set, which the
//! sampler draws to be like it or unlike it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use teda_results::Candidates;

/// Most trials looked at: their sets are kept, and memory must not grow with the number of trials.
const MOST: u64 = 1 << 18;

/// Sets so far.
#[derive(Default)]
pub struct Variety {
    trials: u64,
    /// Keyed by the hash of the sorted set: two of 2¹⁸ sets share one of 2⁶⁴ hashes with a probability below 10⁻⁸.
    sets: HashMap<u64, u64>,
    /// How many sets hold a text.
    texts: HashMap<u32, u64>,
    /// How many sets hold a text after their first place.
    later: HashMap<u32, u64>,
}

impl Variety {
    /// Adds the next trial's set, in the order drawn.
    pub fn add(&mut self, candidates: &[u32]) {
        if self.trials == MOST {
            return;
        }
        self.trials += 1;
        let mut set = candidates.to_vec();
        set.sort_unstable();
        let mut hasher = DefaultHasher::new();
        set.hash(&mut hasher);
        *self.sets.entry(hasher.finish()).or_default() += 1;
        for text in candidates {
            *self.texts.entry(*text).or_default() += 1;
        }
        for text in &candidates[1..] {
            *self.later.entry(*text).or_default() += 1;
        }
    }

    /// The summary; `None` without trials.
    pub fn summary(&self) -> Option<Candidates> {
        if self.trials == 0 {
            return None;
        }
        let trials = self.trials as f64;
        // Sorted, so that the sum does not depend on the order of a hash map.
        let mut shares = sorted(&self.sets);
        shares.reverse();
        let entropy: f64 = shares
            .iter()
            .map(|count| *count as f64 / trials)
            .map(|p| -p * p.ln())
            .sum();
        let later = sorted(&self.later);
        let five: u64 = later.iter().take(5).sum();
        Some(Candidates {
            counted: self.trials,
            sets: self.sets.len() as u64,
            effective_sets: entropy.exp(),
            later_texts: later.len() as u64,
            commonest_text: sorted(&self.texts)[0] as f64 / trials,
            five_commonest: five as f64 / later.iter().sum::<u64>() as f64,
        })
    }
}

/// With this few texts, five of them are bound to be half.
const FEW: u64 = 10;

/// A warning, if the candidates hardly vary.
#[must_use]
pub fn warning(candidates: &Candidates) -> Option<String> {
    let Candidates {
        five_commonest,
        later_texts,
        ..
    } = candidates;
    (*five_commonest >= 0.5 && *later_texts > FEW).then(|| {
        format!(
            "five texts make {:.0} % of the candidates that are drawn beside the first: the audit is about these; take a lambda nearer to 0",
            100.0 * five_commonest
        )
    })
}

/// The counts, largest first.
fn sorted<K>(counts: &HashMap<K, u64>) -> Vec<u64> {
    let mut counts: Vec<u64> = counts.values().copied().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_sets_are_one_and_an_outlier_shows() {
        let mut variety = Variety::default();
        assert_eq!(variety.summary(), None);
        for first in 0..8 {
            variety.add(&[first, 9]);
            variety.add(&[9, first]);
        }
        let found = variety.summary().unwrap();
        assert_eq!((found.counted, found.sets), (16, 8));
        assert!((found.effective_sets - 8.0).abs() < 1e-12);
        assert_eq!(found.commonest_text, 1.0);
        // 9 is the second candidate in 8 of 16 sets, four of the others in one each.
        assert_eq!(found.five_commonest, 12.0 / 16.0);
    }
}
