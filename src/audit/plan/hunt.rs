//! The hunt for the worst pair: which of many candidate sets shows most.
//!
//! # Definition
//! Of T trials, the first ⌊T/3⌋, at most 50,000, are spread over N different sets, drawn as the candidates of any
//! trial are. They come in ⌈log₂ N⌉ rounds of equal length, in which the remaining sets take turns. After a round, the
//! half of the sets stays for which the attack has been right most often so far; ties go to the sets for which it was
//! surer when it was right (successive halving). After the last round one set is left. All further trials use that
//! set, and only they are counted. An attack that learns is refitted after each round on all trials so far; for a
//! trial it counts as right if a model that was fitted without that trial is right.
//!
//! # Guarantee
//! The counted trials are fresh: given the set, which depends on earlier trials only, they are like any other trials,
//! so the bound holds for its texts, whatever was chosen and how.
//!
//! # Source
//! Karnin, Koren & Somekh (2013), "Almost optimal exploration in multi-armed bandits": sequential halving.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::RwLock;

use teda_core::{Result, Seed};
use teda_results::Row;

use crate::audit::counting::foreign;
use crate::audit::pairs::rounds;

/// Most draws per set wanted: enough for all of N possible sets if each is about equally likely (which takes N ln N
/// draws), unless N is beyond e^20.
const DRAWS: usize = 20;

/// The hunt of one series.
pub struct Hunt {
    k: usize,
    /// Text numbers, `[sets × k]`, no set twice.
    sets: Vec<usize>,
    /// The index of each set.
    numbers: BTreeMap<Vec<u32>, usize>,
    /// Trials that explore.
    trials: u64,
    progress: RwLock<Progress>,
}

#[derive(Default)]
struct Progress {
    /// The sets left in each round, with the winner at the end.
    left: Vec<Vec<usize>>,
    /// Exploring rows, in order.
    rows: Vec<Row>,
}

impl Hunt {
    /// The state before the first round. `draw` draws one candidate set per seed.
    ///
    /// Repeated sets do not count, so there are fewer than `sets` only if `DRAWS` · `sets` draws yield fewer different
    /// ones: of 50 possible sets, 50 draws would find 32.
    #[must_use]
    pub fn new(
        k: usize,
        sets: usize,
        trials: u64,
        seed: Seed,
        draw: impl Fn(&[Seed]) -> Vec<usize>,
    ) -> Self {
        let wanted = sets;
        let mut known: BTreeSet<Vec<usize>> = BTreeSet::new();
        let mut sets = Vec::with_capacity(wanted * k);
        for turn in 0..DRAWS {
            let seeds = (0..wanted).map(|place| seed.at((turn * wanted + place) as u64));
            let drawn = draw(&seeds.collect::<Vec<_>>());
            for set in drawn.chunks(k) {
                let mut sorted = set.to_vec();
                sorted.sort_unstable();
                if known.len() < wanted && known.insert(sorted) {
                    sets.extend_from_slice(set);
                }
            }
            if known.len() == wanted {
                break;
            }
        }
        let all = (0..sets.len() / k).collect();
        let row = |set: &[usize]| set.iter().map(|text| *text as u32).collect();
        let numbers = (sets.chunks(k).map(row).zip(0..)).collect();
        Self {
            k,
            sets,
            numbers,
            trials,
            progress: RwLock::new(Progress {
                left: vec![all],
                rows: Vec::new(),
            }),
        }
    }

    /// The trials of each round.
    #[must_use]
    pub fn rounds(&self) -> Vec<Range<u64>> {
        let rounds = u64::from(rounds(self.sets.len() / self.k)).max(1);
        let bound = |round: u64| self.trials * round / rounds;
        (0..rounds)
            .map(|round| bound(round)..bound(round + 1))
            .collect()
    }

    /// The candidates of a trial, whose round must have begun.
    ///
    /// # Panics
    /// If the round has not begun.
    #[must_use]
    pub fn candidates(&self, trial: u64) -> &[usize] {
        let progress = self.progress.read().expect("no thread panics holding it");
        let rounds = self.rounds();
        let round = rounds.iter().position(|round| round.contains(&trial));
        let (round, first) = match round {
            Some(round) => (round, rounds[round].start),
            None => (rounds.len(), self.trials),
        };
        let left = &progress.left[round];
        let set = left[((trial - first) % left.len() as u64) as usize];
        &self.sets[set * self.k..][..self.k]
    }

    /// Takes the next exploring row; ignores other rows.
    ///
    /// # Panics
    /// If a thread panicked while holding the hunt.
    pub fn observe(&self, row: &Row) {
        if row.trial < self.trials {
            let mut progress = self.progress.write().expect("no thread panics holding it");
            progress.rows.push(row.clone());
        }
    }

    /// The rows up to the end of a round that has not ended yet, all of which were observed; `None` if it has ended.
    ///
    /// # Panics
    /// If a thread panicked while holding the hunt.
    #[must_use]
    pub fn seen(&self, round: usize) -> Option<Vec<Row>> {
        let progress = self.progress.read().expect("no thread panics holding it");
        if progress.left.len() > round + 1 {
            return None;
        }
        let end = self.rounds()[round].end;
        let seen = progress.rows.iter().filter(|row| row.trial < end);
        Some(seen.cloned().collect())
    }

    /// Ends a round: half of the sets stay, ranked by the guesses in `judged`, the rows of [`Self::seen`].
    ///
    /// # Errors
    /// Failed, for rows that belong to no set of the hunt.
    ///
    /// # Panics
    /// If a thread panicked while holding the hunt.
    pub fn end(&self, round: usize, judged: &[Row]) -> Result<()> {
        let mut progress = self.progress.write().expect("no thread panics holding it");
        let mut shown: BTreeMap<usize, Shown> = BTreeMap::new();
        for row in judged {
            let Some(set) = self.numbers.get(&row.candidates).copied() else {
                return Err(foreign(row));
            };
            shown.entry(set).or_default().add(row);
        }
        let mut left = progress.left[round].clone();
        // A stable sort: among ties the first stays.
        left.sort_by(|a, b| {
            let of = |set: &usize| shown.get(set).copied().unwrap_or_default();
            of(b).compare(of(a))
        });
        left.truncate(left.len().div_ceil(2));
        if round + 1 == self.rounds().len() {
            left.truncate(1);
        }
        left.sort_unstable();
        progress.left.push(left);
        Ok(())
    }
}

/// What the trials of a set show so far.
#[derive(Debug, Clone, Copy, Default)]
struct Shown {
    hits: u64,
    trials: u64,
    /// Σ of the margins of right guesses minus those of wrong ones.
    margins: f64,
}

/// Margins are capped at this, so that sums stay finite.
const LARGEST_MARGIN: f64 = 1e9;

impl Shown {
    fn add(&mut self, row: &Row) {
        let margin = row.margin.min(LARGEST_MARGIN);
        self.hits += u64::from(row.hit);
        self.trials += 1;
        self.margins += if row.hit { margin } else { -margin };
    }

    /// Compares the shares of right guesses, as exact fractions; ties are broken by how sure the guesses were.
    fn compare(self, other: Self) -> Ordering {
        let share = |a: Self, b: Self| u128::from(a.hits) * u128::from(b.trials.max(1));
        let by_share = share(self, other).cmp(&share(other, self));
        let mean = |shown: Self| shown.margins / shown.trials.max(1) as f64;
        by_share.then(mean(self).total_cmp(&mean(other)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hunt among pairs (0, 1), (2, 3), … each of which is right as often as `rates` says.
    fn hunted(rates: &[f64], trials: u64, seed: u64) -> Vec<usize> {
        let root = Seed::root(seed);
        let draw = |seeds: &[Seed]| (0..2 * seeds.len()).collect();
        let hunt = Hunt::new(2, rates.len(), trials, root, draw);
        let mut coins = root.named("coins").stream();
        for (number, round) in hunt.rounds().into_iter().enumerate() {
            for trial in round {
                let set = hunt.candidates(trial).to_vec();
                let hit = coins.uniform() < rates[set[0] / 2];
                hunt.observe(&Row {
                    cell: 0,
                    trial,
                    candidates: set.iter().map(|text| *text as u32).collect(),
                    secret: 0,
                    release: "x".into(),
                    guess: u32::from(!hit),
                    hit,
                    margin: 1.0,
                    log_likelihoods: Vec::new(),
                    cause: None,
                    error: None,
                    reading: None,
                });
            }
            let seen = hunt.seen(number).unwrap();
            hunt.end(number, &seen).unwrap();
        }
        hunt.candidates(trials).to_vec()
    }

    #[test]
    fn the_pair_that_shows_most_is_found() {
        let mut rates = [0.55; 50];
        rates[37] = 0.95;
        let found = (0..100).filter(|seed| hunted(&rates, 3_333, *seed) == [74, 75]);
        assert!(found.count() >= 99);
    }

    #[test]
    fn every_trial_has_a_set_and_every_set_its_turn() {
        let hunt = Hunt::new(2, 5, 31, Seed::root(1), |seeds| {
            (0..2 * seeds.len()).collect()
        });
        let rounds = hunt.rounds();
        assert_eq!(rounds.len(), 3);
        assert_eq!(rounds.iter().map(|r| r.end - r.start).sum::<u64>(), 31);
        let firsts: Vec<usize> = (0..5).map(|trial| hunt.candidates(trial)[0]).collect();
        assert_eq!(firsts, [0, 2, 4, 6, 8]);
        assert_eq!(hunted(&[0.5; 2], 9, 3).len(), 2);
    }
}
