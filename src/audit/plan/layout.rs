//! Arranges recorded releases in trials.
//!
//! # Definition
//! The rows of one ε are releases of M sources, n_s of source s. A trial has k sources and, for each, a release that
//! no other trial has; the secret is uniform among the k, and the adversary is shown its release. Each trial takes the
//! k sources with the most releases left, with ties between sources and the choice of release made at random; then the
//! trials are put in random order. That makes as many trials as possible: the greatest T with Σ_s min(n_s, T) ≥ kT.
//!
//! # Guarantee
//! Which sources are in a set, and which releases represent them, does not depend on any release's text; the secret is
//! independent of both. So every trial is like one of an ordinary audit, and trials are independent if the releases
//! are. Only one of k releases is shown: the others are the price of a secret that is uniform given everything else.
//!
//! A file cannot show whether its releases were drawn independently. What can be seen is reported: how many there are,
//! that each is used once, and how many rows repeat another row's source and release.

use std::collections::{BinaryHeap, HashSet};
use std::sync::Arc;

use teda_core::{Release, Seed};
use teda_datasets::RecordedRelease;

/// The releases of one ε, arranged in trials.
pub struct Layout {
    rows: Arc<[RecordedRelease]>,
    k: usize,
    /// Row numbers, `[trials × k]`.
    places: Vec<usize>,
    /// Text numbers of their sources, `[trials × k]`.
    texts: Vec<usize>,
}

impl Layout {
    /// The candidates of trial `number`, as text numbers.
    pub fn candidates(&self, number: u64) -> &[usize] {
        &self.texts[number as usize * self.k..][..self.k]
    }

    /// The release for a candidate of trial `number`.
    pub fn release(&self, number: u64, secret: usize) -> Release {
        let row = self.places[number as usize * self.k + secret];
        Release::of(&self.rows[row].release[..])
    }
}

/// The rows of one ε by source.
#[derive(Default)]
pub struct Group {
    /// Text numbers with their rows, in the order of the file.
    pub sources: Vec<(usize, Vec<usize>)>,
}

impl Group {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.sources.iter().map(|(_, rows)| rows.len()).sum()
    }

    /// The greatest T with Σ_s min(n_s, T) ≥ kT.
    pub fn trials(&self, k: usize) -> u64 {
        let enough = |trials: usize| {
            let used = |(_, rows): &(_, Vec<usize>)| rows.len().min(trials);
            self.sources.iter().map(used).sum::<usize>() >= k * trials
        };
        // It holds at 0 and, since the left side is concave in T, up to the greatest such T and no further.
        let (mut most, mut too_many) = (0, self.rows() / k + 1);
        while too_many - most > 1 {
            let middle = most.midpoint(too_many);
            if enough(middle) {
                most = middle;
            } else {
                too_many = middle;
            }
        }
        most as u64
    }

    /// A note on identical rows, if any.
    pub fn said(&self, rows: &[RecordedRelease]) -> String {
        let repeated = |(_, of): &(_, Vec<usize>)| {
            let distinct: HashSet<&str> = of.iter().map(|row| &rows[*row].release[..]).collect();
            of.len() - distinct.len()
        };
        match self.sources.iter().map(repeated).sum::<usize>() {
            0 => String::new(),
            repeated => format!(
                "; {repeated} say what another row of the same source says (if they are copies and no draws of their own, the bound is worth nothing)"
            ),
        }
    }

    /// All trials of k candidates, using the coins of `seed`.
    pub fn layout(&self, rows: &Arc<[RecordedRelease]>, k: usize, seed: Seed) -> Layout {
        let mut coins = seed.stream();
        let mut left: Vec<Vec<usize>> = self.sources.iter().map(|(_, rows)| rows.clone()).collect();
        let mut waiting: BinaryHeap<(usize, usize, usize)> = BinaryHeap::new();
        for (source, rows) in left.iter_mut().enumerate() {
            coins.shuffle(rows);
            waiting.push((rows.len(), coins.below(usize::MAX), source));
        }
        let mut sets: Vec<Vec<(usize, usize)>> = Vec::new();
        while waiting.len() >= k {
            let drawn: Vec<usize> = (0..k).filter_map(|_| waiting.pop()).map(|s| s.2).collect();
            sets.push(
                drawn
                    .iter()
                    .filter_map(|source| Some((self.sources[*source].0, left[*source].pop()?)))
                    .collect(),
            );
            for source in drawn.into_iter().filter(|source| !left[*source].is_empty()) {
                waiting.push((left[source].len(), coins.below(usize::MAX), source));
            }
        }
        coins.shuffle(&mut sets);
        let (texts, places) = sets.into_iter().flatten().unzip();
        Layout {
            rows: rows.clone(),
            k,
            places,
            texts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(counts: &[usize]) -> (Group, Arc<[RecordedRelease]>) {
        let mut group = Group::default();
        let mut rows = Vec::new();
        for (text, count) in counts.iter().enumerate() {
            let first = rows.len();
            rows.extend((0..*count).map(|i| RecordedRelease {
                source: format!("text {text}"),
                release: format!("release {i}"),
                epsilon: None,
            }));
            group.sources.push((text, (first..rows.len()).collect()));
        }
        (group, rows.into())
    }

    #[test]
    fn every_release_is_used_once_and_as_many_as_can_be() {
        for (counts, k, most) in [
            (&[1, 1, 1, 1, 1][..], 2, 2),
            (&[5, 1, 1], 2, 2),
            (&[5, 5, 5], 2, 7),
            (&[5, 5, 5], 3, 5),
            (&[9, 4, 3, 1], 2, 8),
            (&[9, 4, 3, 1], 3, 4),
            (&[7], 2, 0),
            (&[3, 2], 3, 0),
        ] {
            let (group, rows) = group(counts);
            let layout = group.layout(&rows, k, Seed::root(1));
            assert_eq!(layout.texts.len(), most * k, "{counts:?}");
            assert_eq!(group.trials(k), most as u64, "{counts:?}");
            let used: HashSet<usize> = layout.places.iter().copied().collect();
            assert_eq!(used.len(), most * k);
            for trial in 0..most {
                let candidates = layout.candidates(trial as u64);
                let distinct: HashSet<&usize> = candidates.iter().collect();
                assert_eq!(distinct.len(), k);
                for (place, text) in candidates.iter().enumerate() {
                    let row = layout.places[trial * k + place];
                    assert_eq!(rows[row].source, format!("text {text}"));
                    let release = layout.release(trial as u64, place);
                    assert_eq!(release.text, rows[row].release);
                }
            }
        }
    }

    /// Pairs of equally frequent sources vary between trials.
    #[test]
    fn all_pairs_come_up() {
        let (group, rows) = group(&[200; 6]);
        let layout = group.layout(&rows, 2, Seed::root(1));
        let pairs: HashSet<(usize, usize)> = (0..600)
            .map(|trial| {
                let pair = layout.candidates(trial);
                (pair[0].min(pair[1]), pair[0].max(pair[1]))
            })
            .collect();
        assert_eq!(pairs.len(), 15);
    }

    #[test]
    fn repeated_rows_are_said() {
        let (group, rows) = group(&[3, 2]);
        assert_eq!(group.said(&rows), "");
        let mut rows = rows.to_vec();
        rows[1].release = rows[0].release.clone();
        assert!(group.said(&rows).starts_with("; 1 say"));
    }
}
