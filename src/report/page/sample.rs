//! What a page takes from a run's rows: a sample of trials to browse, the pairs that one attack tells apart best, and failures.
//!
//! All in one pass over the rows, which may be many: what is kept is bounded, and the sample is drawn by number before.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use teda_core::stats::binomial;
use teda_core::{Error, Result, Seed};
use teda_results::{CellPlan, Row, guesses, trials};

use crate::report::finished_run::FinishedRun;

/// Most trials of a sample.
pub const MOST_TRIALS: u64 = 2000;
/// Most different texts of a heat map.
pub const MOST_TEXTS: usize = 12;
/// Most pairs that are listed.
pub const MOST_PAIRS: usize = 50;
/// Most different pairs that are counted on the way to these.
const COUNTED: usize = 200_000;
/// Most different reasons of failures.
const REASONS: usize = 200;

/// One trial to browse.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trial {
    /// Its series.
    #[serde(skip)]
    pub series: u32,
    /// Its number.
    pub t: u64,
    /// Its candidates.
    pub k: Vec<u32>,
    /// The place of the source among them.
    pub s: u32,
    /// What was released.
    pub r: String,
    /// Why nothing was, or why there is no score.
    pub e: Option<String>,
    /// The guesses: the cell, the place that it took for the source, and its margin where it is finite.
    pub g: Vec<(u32, u32, Option<f64>)>,
}

/// How often one text was told from another.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Told {
    /// Trials with the first as the source and the second among the candidates.
    pub trials: u64,
    /// Those in which the first was guessed.
    pub hits: u64,
    /// The greatest margin of these.
    pub margin: f64,
}

/// What was taken from the rows.
#[derive(Debug, Default)]
pub struct Sample {
    /// The sample, in the order in which it was drawn.
    pub trials: Vec<Trial>,
    /// Trials of all series together.
    pub of: u64,
    /// Source and other text of the cell that is looked at, and how often they were told apart.
    pub pairs: HashMap<(u32, u32), Told>,
    /// Whether there were more pairs than are counted.
    pub pairs_left: bool,
    /// Why trials failed, and how many, by cell.
    pub failures: BTreeMap<(u32, String), u64>,
}

impl Sample {
    /// Reads the rows of a run; pairs are those of `cell`. `seed` draws the sample.
    ///
    /// # Errors
    /// Failed, if rows cannot be read or do not fit the manifest.
    pub fn read(stored: &FinishedRun, cell: u32, seed: Seed) -> Result<Self> {
        let cells = &stored.manifest.cells;
        let first = stored.config.trial_range().start;
        let drawn = drawn(cells, first, seed);
        let mut sample = Self {
            of: drawn.of,
            ..Self::default()
        };
        let mut found: HashMap<(u32, u64), Trial> = HashMap::new();
        let is_deferred = |row: &Row| {
            cells
                .get(row.cell as usize)
                .is_some_and(CellPlan::is_deferred)
        };
        // Where every attack of a series learns, its rows stand under the first of them, and hold no guess of it.
        let own = trials::rows(&stored.directory)?.map(|row| {
            let row = row?;
            let has_guess = !is_deferred(&row);
            Ok((row, has_guess))
        });
        let later: Box<dyn Iterator<Item = Result<Row>>> = match &stored.manifest.guesses_sha256 {
            Some(sha256) => Box::new(guesses::rows(&stored.directory, sha256)?),
            None => Box::new(std::iter::empty()),
        };
        let rows = own.chain(later.map(|row| row.map(|row| (row, true))));
        for row in rows {
            let (row, has_guess) = row?;
            let plan = cells.get(row.cell as usize);
            let plan =
                plan.ok_or_else(|| Error::failed("a row does not fit the run's manifest"))?;
            let series = plan.series.unwrap_or_default();
            // What an attack learned from is not counted.
            let has_guess = has_guess && row.trial >= first + plan.uncounted();
            if has_guess {
                sample.count(&row, cell);
            }
            if drawn.numbers.contains_key(&(series, row.trial)) {
                let trial = found.entry((series, row.trial)).or_insert_with(|| Trial {
                    series,
                    t: row.trial,
                    k: row.candidates.clone(),
                    s: row.secret,
                    r: row.release.clone(),
                    e: row.error.clone(),
                    g: Vec::new(),
                });
                if has_guess {
                    let margin = Some(row.margin).filter(|margin| margin.is_finite());
                    trial.g.push((row.cell, row.guess, margin));
                }
            }
        }
        let mut trials: Vec<Trial> = found.into_values().collect();
        trials.sort_by_key(|trial| drawn.numbers.get(&(trial.series, trial.t)).copied());
        sample.trials = trials;
        Ok(sample)
    }

    fn count(&mut self, row: &Row, cell: u32) {
        if let Some(error) = &row.error {
            let key = (row.cell, error.clone());
            let is_known = self.failures.contains_key(&key);
            let key = match is_known || self.failures.len() < REASONS {
                true => key,
                false => (row.cell, "other reasons".to_owned()),
            };
            *self.failures.entry(key).or_default() += 1;
        }
        if row.cell != cell {
            return;
        }
        let source = row.candidates[row.secret as usize];
        for (place, other) in row.candidates.iter().enumerate() {
            if place as u32 == row.secret {
                continue;
            }
            if self.pairs.len() >= COUNTED && !self.pairs.contains_key(&(source, *other)) {
                self.pairs_left = true;
                continue;
            }
            let told = self.pairs.entry((source, *other)).or_default();
            told.trials += 1;
            if row.hit {
                told.hits += 1;
                told.margin = told.margin.max(row.margin);
            }
        }
    }

    /// The different texts of the pairs, if they are few.
    #[must_use]
    pub fn few(&self) -> Option<Vec<u32>> {
        let mut texts: Vec<u32> = self.pairs.keys().flat_map(|(a, b)| [*a, *b]).collect();
        texts.sort_unstable();
        texts.dedup();
        (!texts.is_empty() && texts.len() <= MOST_TEXTS).then_some(texts)
    }

    /// The pairs that are told apart best: by the lower limit of their success rate at a tail of 0.005, then by margin.
    #[must_use]
    pub fn leakiest(&self) -> Vec<((u32, u32), Told)> {
        let limit = |told: &Told| binomial::lower_limit(told.hits, told.trials, 0.005).p;
        let mut all: Vec<_> = self
            .pairs
            .iter()
            .map(|(pair, told)| (limit(told), *pair, *told))
            .collect();
        all.sort_by(|a, b| {
            let by_limit = b.0.total_cmp(&a.0);
            by_limit
                .then(b.2.margin.total_cmp(&a.2.margin))
                .then(a.1.cmp(&b.1))
        });
        all.into_iter()
            .take(MOST_PAIRS)
            .map(|(_, pair, told)| (pair, told))
            .collect()
    }
}

/// The trials of a sample, by series and number, with the order in which they were drawn.
struct Drawn {
    numbers: HashMap<(u32, u64), u64>,
    of: u64,
}

/// As many of each series, without repetition (Floyd 1987).
fn drawn(cells: &[CellPlan], first: u64, seed: Seed) -> Drawn {
    let mut series: BTreeMap<u32, u64> = BTreeMap::new();
    for cell in cells {
        let trials = series.entry(cell.series.unwrap_or_default()).or_default();
        *trials = (*trials).max(cell.trials);
    }
    let each = (MOST_TRIALS / (series.len() as u64).max(1)).max(1);
    let mut numbers = HashMap::new();
    for (number, trials) in &series {
        let mut stream = seed.at(u64::from(*number)).stream();
        let wanted = each.min(*trials);
        for (order, last) in (trials - wanted..*trials).enumerate() {
            let chosen = first + stream.below(last as usize + 1) as u64;
            let place = match numbers.contains_key(&(*number, chosen)) {
                true => (*number, first + last),
                false => (*number, chosen),
            };
            numbers.insert(
                place,
                order as u64 * series.len() as u64 + u64::from(*number),
            );
        }
    }
    Drawn {
        numbers,
        of: series.values().sum(),
    }
}
