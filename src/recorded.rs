//! Audits of releases that a mechanism made earlier.
//!
//! # Definition
//! The rows of one ε are releases of M sources, n_s of source s. A trial has k sources and of each a release that
//! no other trial has; the secret is uniform among the k, and the adversary is shown its release. Trial after trial
//! takes the k sources of which most releases are left, chance deciding between equals and which release is
//! taken; then the trials are put in random order. That makes as many as there can be, the greatest T with
//! Σ_s min(n_s, T) ≥ kT.
//!
//! # Guarantee
//! Who is in a set, and which releases stand for them, depends on no release's text; the secret is independent of
//! both. So every trial is one of an ordinary audit, and trials are independent if the releases are. Only one
//! release of k is shown: the others are the price of a secret that is uniform given all else.
//!
//! Whether the releases were drawn independently, nobody can see in a file. What can be seen is said: how many there
//! are, that each is used once, and how many rows repeat another one's source and release.

use std::collections::{BinaryHeap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use teda_core::{Error, Release, Result, Seed};
use teda_datasets::{Dataset, RecordedRelease};

use crate::config::Config;
use crate::lineup::Lineup;
use crate::models::Models;
use crate::outside;
use crate::plan::{Corpus, Plan, Series, Sets, between, white_box};

/// Shown of a long list of ε.
const SHOWN: usize = 12;

/// The releases of one ε, laid out in trials.
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

    /// What was released for a candidate of trial `number`.
    pub fn release(&self, number: u64, secret: usize) -> Release {
        let row = self.places[number as usize * self.k + secret];
        Release::of(&self.rows[row].release[..])
    }
}

/// The plan of an audit of the releases in the file at `path`.
///
/// # Errors
/// Usage, for a file that cannot be read, an ε that it does not have, or more trials than it is good for.
pub fn plan(config: &Config, path: &Path, models: &Models) -> Result<Plan> {
    let file = File::read(path)?;
    let rows: Arc<[RecordedRelease]> = file.rows.into();
    let corpus = Corpus::new(file.dataset, &*models.encoder)?;
    let name = &config.mechanisms[0];
    let mut series = Vec::new();
    let mut notes = Vec::new();
    for (epsilon, group) in chosen(file.groups, config.epsilons.as_deref())? {
        let entry = outside::entry(name, config.claim.as_deref(), epsilon.is_some())?;
        for k in &config.ks {
            let most = group.trials(*k);
            let what = format!(
                "{} of {}{}",
                counted(group.rows(), "release"),
                counted(group.sources.len(), "text"),
                epsilon.map_or(String::new(), |e| format!(" at ε = {e}")),
            );
            if most == 0 {
                return Err(Error::usage(format!(
                    "k = {k}: {what} make no trial, which needs one release of each of {k} texts: take a smaller --k, or record more"
                )));
            }
            if config.trials > most {
                return Err(Error::usage(format!(
                    "trials = {}: {what} are good for {most} trials of k = {k}, of which each uses up {k}: take at most so many, or record more",
                    config.trials
                )));
            }
            notes.push(format!(
                "{what}: good for {most} trials of k = {k}, of which {} are made; no release is in two{}",
                config.trials,
                group.said(&rows),
            ));
            let mechanism = entry.instance(
                &models.context(corpus.texts.clone()),
                epsilon,
                &config.settings(entry)?,
            )?;
            let lineup = Lineup::new(config, entry.name, &*mechanism)?;
            let white_box = white_box(config, &lineup, entry, &*mechanism)?;
            notes.extend(lineup.note.filter(|note| !notes.contains(note)));
            // The file's content and what is drawn, not its name or what else is in the grid.
            let seed = Seed::root(config.seed)
                .named(&corpus.dataset.sha256)
                .named("recorded")
                .named(&epsilon.map_or(String::new(), |e| e.to_string()))
                .named(&format!("k={k}"));
            series.push(Series {
                corpus: 0,
                entry,
                claim: between(config, &*mechanism, None),
                mechanism,
                epsilon,
                k: *k,
                lambda: 0.0,
                sets: Sets::Recorded(group.layout(&rows, *k, seed.named("sets"))),
                attacks: lineup.attacks,
                white_box,
                seed,
            });
        }
    }
    Ok(Plan {
        corpora: vec![corpus],
        series,
        notes,
    })
}

/// The most trials that every ε asked for in the file at `path` is good for, at every k.
///
/// # Errors
/// Usage, for a file that cannot be read, an ε that it does not have, or one that makes no trial.
pub fn most_trials(path: &Path, epsilons: Option<&[f64]>, ks: &[usize]) -> Result<u64> {
    let file = File::read(path)?;
    let groups = chosen(file.groups, epsilons)?;
    let each = groups
        .iter()
        .flat_map(|(_, group)| ks.iter().map(|k| group.trials(*k)));
    // No trial at all is told where it is planned, with its numbers.
    Ok(each.min().unwrap_or(0).max(1))
}

/// A file's rows by ε.
struct File {
    dataset: Dataset,
    rows: Vec<RecordedRelease>,
    groups: Vec<(Option<f64>, Group)>,
}

/// The rows of one ε by source.
#[derive(Default)]
struct Group {
    /// Text numbers with their rows, in the order of the file.
    sources: Vec<(usize, Vec<usize>)>,
}

impl File {
    fn read(path: &Path) -> Result<Self> {
        let recorded = teda_datasets::recorded(path)?;
        let mut texts: Vec<String> = Vec::new();
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut groups: Vec<(Option<f64>, Group)> = Vec::new();
        let mut by_epsilon: HashMap<Option<u64>, usize> = HashMap::new();
        // By group and text, the place among the group's sources.
        let mut places: HashMap<(usize, usize), usize> = HashMap::new();
        for (row, release) in recorded.releases.iter().enumerate() {
            let text = *numbers.entry(&release.source).or_insert_with(|| {
                texts.push(release.source.clone());
                texts.len() - 1
            });
            let key = release.epsilon.map(f64::to_bits);
            let group = *by_epsilon.entry(key).or_insert_with(|| {
                groups.push((release.epsilon, Group::default()));
                groups.len() - 1
            });
            let sources = &mut groups[group].1.sources;
            let place = *places.entry((group, text)).or_insert_with(|| {
                sources.push((text, Vec::new()));
                sources.len() - 1
            });
            sources[place].1.push(row);
        }
        groups.sort_by(|(a, _), (b, _)| a.partial_cmp(b).expect("no epsilon is NaN"));
        Ok(Self {
            dataset: Dataset {
                name: recorded.name,
                rows: recorded.rows,
                merged: recorded.rows - texts.len(),
                texts,
                empty: 0,
                outside_length: 0,
                beyond_limit: 0,
                sha256: recorded.sha256,
                licence: None,
                split: None,
            },
            rows: recorded.releases,
            groups,
        })
    }
}

/// The groups asked for, all of them where none are.
fn chosen(
    mut groups: Vec<(Option<f64>, Group)>,
    epsilons: Option<&[f64]>,
) -> Result<Vec<(Option<f64>, Group)>> {
    let Some(epsilons) = epsilons else {
        return Ok(groups);
    };
    let stated: Vec<String> = groups
        .iter()
        .filter_map(|(e, _)| e.map(|e| e.to_string()))
        .take(SHOWN)
        .collect();
    let take = |epsilon: &f64| {
        let place = groups.iter().position(|(e, _)| *e == Some(*epsilon));
        let place = place.ok_or_else(|| {
            let stated = match stated.is_empty() {
                true => "it states none".to_owned(),
                false => format!("it has {}", stated.join(", ")),
            };
            Error::usage(format!(
                "epsilon = {epsilon}: the file has no releases at it; {stated}"
            ))
        })?;
        Ok(groups.swap_remove(place))
    };
    epsilons.iter().map(take).collect()
}

impl Group {
    fn rows(&self) -> usize {
        self.sources.iter().map(|(_, rows)| rows.len()).sum()
    }

    /// The greatest T with Σ_s min(n_s, T) ≥ kT.
    fn trials(&self, k: usize) -> u64 {
        let enough = |trials: usize| {
            let used = |(_, rows): &(_, Vec<usize>)| rows.len().min(trials);
            self.sources.iter().map(used).sum::<usize>() >= k * trials
        };
        // It holds at 0 and, the left side being concave in T, up to the greatest and no further.
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

    /// What there is to say of rows that are the same.
    fn said(&self, rows: &[RecordedRelease]) -> String {
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

    /// All trials of k candidates, with the coins of `seed`.
    fn layout(&self, rows: &Arc<[RecordedRelease]>, k: usize, seed: Seed) -> Layout {
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

/// A number of things, in words.
fn counted(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        _ => format!("{number} {thing}s"),
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

    /// Pairs of equally frequent sources are not a fixed few.
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
