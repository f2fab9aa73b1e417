//! The trials of a stored run one after the other, each with what every attack guessed.
//!
//! A trial is read from rows that stand next to each other; the guesses of attacks that learn stand in a file of their own, in the
//! same order of series and, attack by attack, of trials, and are joined on the way. Memory does not grow with the run.

pub mod filter;
pub mod texts;

use std::collections::{HashMap, VecDeque};
use std::iter::Peekable;

use teda_core::{Cause, Error, Reading, Result};
use teda_results::{CellPlan, Row, guesses, trials};

use crate::audit::config::Keep;
use crate::report::finished_run::FinishedRun;

/// Rows one after the other.
type Rows = Box<dyn Iterator<Item = Result<Row>>>;

/// One trial of a series.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// The first of its series' cells; all of them have the same data set, mechanism, ε, k and λ.
    pub cell: u32,
    /// Its number.
    pub number: u64,
    /// The candidates, as numbers of texts.
    pub candidates: Vec<u32>,
    /// The place among them of the one that was rewritten.
    pub secret: u32,
    /// What was released, or why nothing was.
    pub release: std::result::Result<String, Failure>,
    /// ln P(release | candidate), one a candidate; empty where it is not stored.
    pub log_likelihoods: Vec<f64>,
    /// The guesses of the cells that were asked for; none by attacks that wait for the other trials.
    pub guesses: Vec<Guess>,
}

/// What went wrong, and whose failure it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The reason.
    pub error: String,
    /// Whose failure it is.
    pub cause: Option<Cause>,
}

/// What the attack of one cell made of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Guess {
    /// Its cell.
    pub cell: u32,
    /// The place of the candidate that it took for the secret.
    pub place: u32,
    /// Whether that is right.
    pub hit: bool,
    /// Its score minus the next best one.
    pub margin: f64,
    /// Whether the trial counts: not where the attack learned from it, or where it looked for a set of candidates.
    pub counts: bool,
    /// What failed. The guess is then random, unless the attack learned, which guesses from a failure, too.
    pub failure: Option<Failure>,
    /// What an attack that writes the source back made of the release.
    pub reading: Option<Reading>,
}

/// The trials of a run, in order.
pub struct Trials<'a> {
    run: &'a FinishedRun,
    /// Which cells are asked for.
    wanted: Vec<bool>,
    rows: Peekable<Rows>,
    later: Option<Later>,
}

impl<'a> Trials<'a> {
    /// The trials of all series that have one of the `wanted` cells (one entry a cell), with the guesses of these.
    ///
    /// # Errors
    /// Usage, for a run without rows; failed, also as each trial's own result, if rows cannot be read or do not fit the
    /// manifest.
    pub fn open(run: &'a FinishedRun, wanted: Vec<bool>) -> Result<Self> {
        if run.config.keep == Keep::Counts {
            return Err(Error::usage(format!(
                "{}: this run kept its counts alone (--keep counts): there are no trials to show",
                run.directory.display()
            )));
        }
        let cells = &run.manifest.cells;
        let learns = |(cell, wanted): (&CellPlan, &bool)| *wanted && cell.is_deferred();
        let later = match &run.manifest.guesses_sha256 {
            Some(sha256) if cells.iter().zip(&wanted).any(learns) => {
                let rows = guesses::rows(&run.directory, sha256)?;
                Some(Later::new(Box::new(rows)))
            }
            _ => None,
        };
        Ok(Self {
            rows: trials::rows(&run.directory)?.peekable(),
            run,
            wanted,
            later,
        })
    }

    /// The next trial's rows, which have the same series and number.
    fn block(&mut self) -> Result<Option<Vec<Row>>> {
        let cells = &self.run.manifest.cells;
        let Some(first) = self.rows.next().transpose()? else {
            return Ok(None);
        };
        let series = plan(cells, &first)?.series;
        let mut block = vec![first];
        while let Some(Ok(next)) = self.rows.peek() {
            if next.trial != block[0].trial || plan(cells, next)?.series != series {
                break;
            }
            block.extend(self.rows.next().transpose()?);
        }
        Ok(Some(block))
    }

    /// The trial of a block; `None` if none of its cells is asked for.
    fn trial(&mut self, block: Vec<Row>) -> Result<Option<Trial>> {
        let cells = &self.run.manifest.cells;
        let series = plan(cells, &block[0])?.series;
        let wanted: Vec<u32> = (0..)
            .zip(cells)
            .zip(&self.wanted)
            .filter(|((_, plan), wanted)| **wanted && plan.series == series)
            .map(|((number, _), _)| number)
            .collect();
        let number = block[0].trial;
        let mut guesses = Vec::new();
        let mut waits = false;
        for cell in &wanted {
            let plan = &cells[*cell as usize];
            let row = match (plan.is_deferred(), &mut self.later) {
                (true, Some(later)) => Some(later.row(*cell, number, &wanted)?),
                // A placeholder stands where only attacks that learn judge.
                (true, None) => {
                    waits = true;
                    None
                }
                (false, _) => block.iter().find(|row| row.cell == *cell).cloned(),
            };
            guesses.extend(row.map(|row| self.guess(plan, row)));
        }
        // With --until a cell can end before the others of its series.
        if guesses.is_empty() && !waits {
            return Ok(None);
        }
        let Some(row) = block.into_iter().next() else {
            return Ok(None);
        };
        let is_lost = row.release.trim().is_empty() && row.cause != Some(Cause::Attack);
        let release = match row.error {
            Some(error) if is_lost => Err(Failure {
                error,
                cause: row.cause,
            }),
            _ => Ok(row.release),
        };
        Ok(Some(Trial {
            cell: row.cell,
            number,
            candidates: row.candidates,
            secret: row.secret,
            release,
            log_likelihoods: row.log_likelihoods,
            guesses,
        }))
    }

    fn guess(&self, plan: &CellPlan, row: Row) -> Guess {
        let first = self.run.config.trial_range().start;
        Guess {
            cell: row.cell,
            place: row.guess,
            hit: row.hit,
            margin: row.margin,
            counts: row.trial >= first + plan.uncounted(),
            failure: row.error.map(|error| Failure {
                error,
                cause: row.cause,
            }),
            reading: row.reading,
        }
    }
}

impl Iterator for Trials<'_> {
    type Item = Result<Trial>;

    fn next(&mut self) -> Option<Result<Trial>> {
        loop {
            let block = self.block().transpose()?;
            match block.and_then(|block| self.trial(block)).transpose() {
                None => {}
                found => return found,
            }
        }
    }
}

/// The rows of attacks that learn. Those of a series' cells are mixed, block by block, so what one cell is ahead waits: at most
/// as many as another one learns from.
struct Later {
    rows: Rows,
    waiting: HashMap<u32, VecDeque<Row>>,
}

impl Later {
    fn new(rows: Rows) -> Self {
        Self {
            rows,
            waiting: HashMap::new(),
        }
    }

    /// The row of a cell's trial, which comes after all that were asked for before. Rows of cells that are not among `wanted`
    /// are passed over.
    fn row(&mut self, cell: u32, trial: u64, wanted: &[u32]) -> Result<Row> {
        loop {
            let waiting = self.waiting.get_mut(&cell);
            let row = match waiting.and_then(VecDeque::pop_front) {
                Some(row) => row,
                None => match self.rows.next().transpose()? {
                    Some(row) => row,
                    None => return Err(foreign()),
                },
            };
            if row.cell == cell && row.trial == trial {
                return Ok(row);
            }
            if row.cell != cell && wanted.contains(&row.cell) {
                self.waiting.entry(row.cell).or_default().push_back(row);
            }
        }
    }
}

/// The cell of a row.
fn plan<'a>(cells: &'a [CellPlan], row: &Row) -> Result<&'a CellPlan> {
    let fits = |place: u32| (place as usize) < row.candidates.len();
    let plan = cells.get(row.cell as usize);
    plan.filter(|_| fits(row.secret) && fits(row.guess))
        .ok_or_else(foreign)
}

fn foreign() -> Error {
    Error::failed(
        "a row does not fit the run's manifest: it was changed, or belongs to another run",
    )
}
