//! Runs a plan: batches of trials in parallel, counted and written in order as they are made.
//!
//! Rows are in the journal by series, trial and attack. What an earlier process wrote is a prefix of that order, so a
//! resumed run knows from counts alone where to continue, at any trial. A run that keeps no rows has no journal and
//! starts over.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use teda_core::{Attack, Error, Learner, Result};
use teda_results::{CellPlan, Journal, Row};

use crate::audit::attacks_on_rows::out_of_fold;
use crate::audit::counting::{self, Count};
use crate::audit::enumerated::{Enumerated, Outcome};
use crate::audit::plan::Plan;
use crate::audit::plan::hunt::Hunt;
use crate::audit::progress::Progress;
use crate::audit::series::Sets;
use crate::audit::stopping::Until;
use crate::audit::trial::{self, Trial};

/// Most batches that each thread computes between two flushes: enough that no thread waits long at the end of a wave.
const BATCHES_PER_WAVE: usize = 8;
/// Trials per batch when trials run by index: about a millisecond's worth, whatever the batch size for texts is.
const BATCH_BY_NUMBERS: u64 = 1 << 16;
/// A wave that takes longer than this is not made larger, so that a kill loses little with slow mechanisms.
const LONG_WAVE: Duration = Duration::from_secs(2);

/// How a plan is run; nothing here can change a result.
pub struct Driver<'a> {
    /// What to run.
    pub plan: &'a Plan,
    /// The cells as stored in the manifest.
    pub cells: &'a [CellPlan],
    /// When a cell stops before its last trial.
    pub until: Until,
    /// The attacks that guess while trials are made, `[series][attack]`.
    pub attacks: &'a [Vec<Arc<dyn Attack>>],
    /// The attack that learns while a series hunts for its worst pair, `[series]`.
    pub learners: &'a [Option<Arc<dyn Learner>>],
    /// Trial numbers of this process.
    pub trials: Range<u64>,
    /// Trials per batch.
    pub batch: u64,
    /// Receives progress.
    pub progress: &'a dyn Progress,
    /// Set when the user wants to stop.
    pub stop: &'a AtomicBool,
}

/// Where rows go as they are made, if anywhere.
pub type RowSink<'a> = Option<&'a mut (dyn Rows + 'static)>;

/// Keeps rows.
pub trait Rows {
    /// Appends the next row.
    ///
    /// # Errors
    /// Failed, if it cannot be stored.
    fn append(&mut self, row: &Row) -> Result<()>;

    /// Makes all rows so far durable.
    ///
    /// # Errors
    /// Failed, if they cannot be written.
    fn flush(&mut self) -> Result<()>;
}

impl Rows for Journal {
    fn append(&mut self, row: &Row) -> Result<()> {
        Self::append(self, row)
    }

    fn flush(&mut self) -> Result<()> {
        Self::flush(self)
    }
}

impl Rows for Vec<Row> {
    fn append(&mut self, row: &Row) -> Result<()> {
        self.push(row.clone());
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Counts of a run so far, one entry per cell.
pub struct State {
    /// Counts and evidence.
    pub counts: Vec<Count>,
    /// Seconds this process spent.
    pub seconds: Vec<f64>,
    first_trial: u64,
}

impl State {
    /// A state with none of `trials` done yet.
    ///
    /// # Errors
    /// Usage, for a plan that no estimator supports.
    pub fn new(cells: &[CellPlan], trials: Range<u64>) -> Result<Self> {
        Ok(Self {
            counts: counting::begin(cells, &counting::choices(cells), trials.end - trials.start)?,
            seconds: vec![0.0; cells.len()],
            first_trial: trials.start,
        })
    }

    /// Counts a row that an earlier process wrote.
    ///
    /// # Errors
    /// Failed, if it is not the next row of its cell: the journal belongs to another run.
    pub fn replay(&mut self, row: &Row) -> Result<()> {
        let next = self
            .counts
            .get(row.cell as usize)
            .map(|count| self.first_trial + count.rows);
        if next.is_some_and(|next| next != row.trial) {
            return Err(counting::foreign(row));
        }
        counting::add(&mut self.counts, row)
    }

    /// The next trial that a cell is missing.
    fn next_trial(&self, cell: usize) -> u64 {
        self.first_trial + self.counts[cell].rows
    }
}

/// A batch of trials.
enum Made<'a> {
    /// Trials with their texts.
    Trials(Vec<Trial>),
    /// Outcomes by index, of this series.
    Outcomes(&'a Enumerated<'a>, Vec<Outcome>),
    /// How often each outcome by index came up.
    Times(&'a Enumerated<'a>, Vec<u64>),
}

/// How the trials of a series are run.
struct Way<'a> {
    series: usize,
    /// The cells that have rows.
    cells: &'a [usize],
    enumerated: Option<&'a Enumerated<'a>>,
    batch: u64,
    at_once: bool,
}

/// The cells of a series that have rows: those whose attacks guess while trials are made, or only the first cell,
/// whose guesses are random until its attack has learned.
#[must_use]
pub fn journalled_cells(plan: &Plan, series: usize) -> Vec<usize> {
    let cells = plan.cells_of(series);
    let mut journalled: Vec<usize> = plan.series[series]
        .scoring()
        .map(|(attack, _)| cells.start + attack)
        .collect();
    if journalled.is_empty() {
        journalled.push(cells.start);
    }
    journalled
}

impl Driver<'_> {
    /// Runs the trials that `state` is missing. Returns whether all were done; `false` after an interrupt.
    ///
    /// # Errors
    /// Any error from a mechanism, an attack or the journal; rows made before it are written.
    pub fn run(&self, state: &mut State, mut journal: RowSink<'_>) -> Result<bool> {
        (0..self.plan.series.len()).try_fold(true, |going, series| {
            Ok(going && self.run_series(series, state, journal.as_deref_mut())?)
        })
    }

    fn run_series(
        &self,
        series: usize,
        state: &mut State,
        mut journal: RowSink<'_>,
    ) -> Result<bool> {
        let enumerated = match &journal {
            Some(_) => None,
            None => self.enumerated(series)?,
        };
        let enumerated = enumerated.as_ref();
        let cells = journalled_cells(self.plan, series);
        let by_counts = |cell: &usize| state.counts[*cell].evidence.goes_by_counts();
        let at_once = self.until == Until::Trials && cells.iter().all(by_counts);
        let mut first = self.trials.end;
        for cell in &cells {
            if !self.stops(*cell, state)? {
                first = first.min(state.next_trial(*cell));
            }
        }
        let batch = enumerated.map_or(self.batch, |_| BATCH_BY_NUMBERS);
        let way = Way {
            series,
            cells: &cells,
            enumerated,
            batch,
            at_once,
        };
        let Sets::Hunted(hunt) = &self.plan.series[series].sets else {
            return self.run_trials(&way, first..self.trials.end, state, journal);
        };
        for (number, round) in hunt.rounds().into_iter().enumerate() {
            let rest = first.max(round.start)..round.end;
            if !rest.is_empty() && !self.run_trials(&way, rest, state, journal.as_deref_mut())? {
                return Ok(false);
            }
            self.end_round(hunt, number, series)
                .map_err(|error| error.context(self.describe(series)))?;
        }
        let explored = hunt.rounds().last().map_or(0, |round| round.end);
        self.run_trials(&way, first.max(explored)..self.trials.end, state, journal)
    }

    /// Ends a round of a hunt, unless an earlier process ended it: an attack that learns is refitted on what was seen.
    fn end_round(&self, hunt: &Hunt, round: usize, series: usize) -> Result<()> {
        let Some(seen) = hunt.seen(round) else {
            return Ok(());
        };
        let judged = match &self.learners[series] {
            Some(learner) => out_of_fold(&**learner, &seen, self.plan.series[series].seed)?.0,
            None => seen,
        };
        hunt.end(round, &judged)
    }

    /// Runs these trials of a series; `false` after an interrupt.
    fn run_trials(
        &self,
        way: &Way<'_>,
        trials: Range<u64>,
        state: &mut State,
        mut journal: RowSink<'_>,
    ) -> Result<bool> {
        let Way {
            series,
            cells,
            enumerated,
            batch,
            at_once,
        } = *way;
        let end = trials.end;
        // Not collected as a whole: memory must not grow with the number of trials.
        let mut starts = trials.step_by(batch as usize);
        let mut batches_per_thread = 1;
        loop {
            let running = cells.iter().try_fold(false, |running, cell| {
                Ok::<_, Error>(running || !self.stops(*cell, state)?)
            })?;
            if !running {
                return Ok(true);
            }
            let in_order = self.plan.series[series].mechanism.is_sequential();
            let threads = if in_order {
                1
            } else {
                rayon::current_num_threads()
            };
            let in_wave = batches_per_thread * threads;
            let wave: Vec<u64> = starts.by_ref().take(in_wave).collect();
            if wave.is_empty() {
                return Ok(true);
            }
            let started = Instant::now();
            let make = |start: &u64| {
                let numbers = *start..(start + batch).min(end);
                self.run_batch(series, numbers, enumerated, at_once)
            };
            let batches: Vec<Option<Result<Made<'_>>>> = match in_order {
                true => until_one_fails(wave.iter().map(make)),
                false => wave.par_iter().map(make).collect(),
            };
            let mut stopped = false;
            let mut recorded = Ok(());
            for made in batches {
                let Some(made) = made else {
                    stopped = true;
                    break;
                };
                recorded = made
                    .map_err(|error| error.context(self.describe(series)))
                    .and_then(|made| self.take(made, cells, state, journal.as_deref_mut()));
                if recorded.is_err() {
                    break;
                }
            }
            if let Some(journal) = &mut journal {
                journal.flush()?;
            }
            recorded?;
            if started.elapsed() < LONG_WAVE {
                batches_per_thread = (2 * batches_per_thread).min(BATCHES_PER_WAVE);
            }
            let share = started.elapsed().as_secs_f64() / cells.len() as f64;
            for cell in cells {
                state.seconds[*cell] += share;
            }
            if self.progress.is_shown() {
                let (cell, count) = (&self.cells[cells[0]], &state.counts[cells[0]]);
                self.progress.describe(self.estimate(series, cell, count));
            }
            if stopped {
                return Ok(false);
            }
        }
    }

    /// Whether a cell stops before its last trial, given the trials it has.
    fn stops(&self, cell: usize, state: &State) -> Result<bool> {
        self.until
            .stops(&self.cells[cell], &state.counts[cell].matrix)
    }

    /// The table of a series run by index, if its only attack uses likelihoods and such a table exists.
    fn enumerated(&self, series: usize) -> Result<Option<Enumerated<'_>>> {
        let attacks = &self.attacks[series];
        let series = &self.plan.series[series];
        let ([choice], [attack]) = (&series.attacks[..], &attacks[..]) else {
            return Ok(None);
        };
        if !choice.needs_likelihoods() || series.latent {
            return Ok(None);
        }
        Enumerated::new(series, &self.plan.corpora[series.corpus], &**attack)
    }

    /// The trials of a batch, or `None` if the user wants to stop.
    fn run_batch<'a>(
        &self,
        series: usize,
        numbers: Range<u64>,
        enumerated: Option<&'a Enumerated<'a>>,
        at_once: bool,
    ) -> Option<Result<Made<'a>>> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let amount = numbers.end - numbers.start;
        let attacks = &self.attacks[series];
        let series = &self.plan.series[series];
        let made = match enumerated {
            Some(table) if at_once => Ok(Made::Times(table, table.times(numbers))),
            Some(table) => Ok(Made::Outcomes(table, table.trials(numbers))),
            None => {
                let corpus = &self.plan.corpora[series.corpus];
                trial::run(series, corpus, attacks, numbers).map(Made::Trials)
            }
        };
        self.progress.advance(amount);
        Some(made)
    }

    /// Counts what was made and, if rows are kept, writes them. When trials run by index there is one cell.
    fn take(
        &self,
        made: Made<'_>,
        cells: &[usize],
        state: &mut State,
        journal: RowSink<'_>,
    ) -> Result<()> {
        match made {
            Made::Trials(trials) => return self.record(trials, cells, state, journal),
            Made::Outcomes(table, outcomes) => {
                for outcome in outcomes {
                    if self.stops(cells[0], state)? {
                        break;
                    }
                    state.counts[cells[0]].observe(&table.observed(outcome))?;
                }
            }
            Made::Times(table, times) => {
                for (outcome, times) in (0..).zip(times).filter(|(_, times)| *times > 0) {
                    state.counts[cells[0]].observe_times(&table.observed(outcome), times)?;
                }
            }
        }
        Ok(())
    }

    /// Writes and counts what the journal is missing: an earlier process may have been killed between two attacks'
    /// rows of one trial.
    fn record(
        &self,
        trials: Vec<Trial>,
        cells: &[usize],
        state: &mut State,
        mut journal: RowSink<'_>,
    ) -> Result<()> {
        for trial in trials {
            let candidates: Vec<u32> = trial.candidates.iter().map(|c| *c as u32).collect();
            for (cell, guess) in cells.iter().zip(&trial.guesses) {
                if trial.number < state.next_trial(*cell) || self.stops(*cell, state)? {
                    continue;
                }
                let failure = trial.failure.as_ref().or(guess.failure.as_ref());
                let row = Row {
                    cell: *cell as u32,
                    trial: trial.number,
                    candidates: candidates.clone(),
                    secret: trial.secret as u32,
                    release: trial.release.clone(),
                    guess: guess.candidate as u32,
                    hit: guess.candidate == trial.secret,
                    margin: guess.margin,
                    log_likelihoods: trial.log_likelihoods.clone(),
                    cause: failure.map(|failure| failure.cause),
                    error: failure.map(|failure| failure.reason.clone()),
                    reading: guess.reading.clone(),
                };
                counting::add(&mut state.counts, &row)?;
                self.plan.observe(&row);
                if let Some(journal) = &mut journal {
                    journal.append(&row)?;
                }
            }
        }
        Ok(())
    }

    fn describe(&self, series: usize) -> String {
        self.plan.series[series].describe()
    }

    /// What the first attack has shown so far: after the last trial, what the table says. Nothing before there are trials that
    /// count, and nothing of an attack that learns once all trials are made.
    fn estimate(&self, series: usize, cell: &CellPlan, count: &Count) -> String {
        let who = self.describe(series);
        let (hits, trials) = (count.matrix.hits(), count.matrix.trials());
        if trials == 0 || cell.is_deferred() {
            return who;
        }
        let rate = hits as f64 / trials as f64;
        let bound = count.evidence.bound().epsilon;
        format!(
            "{who}, {}: {rate:.4} right, ε ≥ {bound:.4} so far",
            cell.attack
        )
    }
}

/// The batches up to the first that was not made: what comes after it is not asked for.
fn until_one_fails<'a>(
    batches: impl Iterator<Item = Option<Result<Made<'a>>>>,
) -> Vec<Option<Result<Made<'a>>>> {
    let mut made = Vec::new();
    for batch in batches {
        let failed = !matches!(batch, Some(Ok(_)));
        made.push(batch);
        if failed {
            break;
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::progress::Silent;
    use crate::audit::run::{Control, InMemory};
    use crate::builder::Audit;

    fn made(attacks: &[&str], batch: u64, stop: bool) -> Option<InMemory> {
        let audit = Audit::of("krr")
            .dataset("categories:5")
            .epsilons([1.0, 3.0]);
        let audit = audit.lambda(0.0).trials(1_000).attacks(attacks);
        let stop = AtomicBool::new(stop);
        let control = Control {
            batch,
            stop: &stop,
            progress: &Silent,
        };
        audit.prepare().unwrap().in_memory(&control).unwrap()
    }

    #[test]
    fn rows_stand_by_series_trial_and_attack_whatever_the_batch() {
        let attacks = ["learned", "embedding", "overlap"];
        let [small, large] = [3, 1_000].map(|batch| made(&attacks, batch, false).unwrap().rows);
        assert_eq!(small, large);
        let order: Vec<(u32, u64)> = small.iter().map(|row| (row.cell / 3, row.trial)).collect();
        assert!(order.is_sorted() && small.len() == 4_000);
    }

    #[test]
    fn counts_without_rows_are_those_with_rows() {
        let hits = |made: InMemory| -> Vec<u64> {
            let counts = made.trials.counts.iter();
            counts.map(|count| count.matrix.hits()).collect()
        };
        // Alone, the attack runs by index; beside another attack, on texts.
        let alone = hits(made(&["likelihood-ratio"], 64, false).unwrap());
        let beside = hits(made(&["likelihood-ratio", "random"], 64, false).unwrap());
        assert_eq!(alone, [beside[0], beside[2]]);
    }

    #[test]
    fn a_flag_that_is_set_stops_before_the_first_trial() {
        assert!(made(&["embedding"], 64, true).is_none());
    }
}
