//! Applies attacks to stored rows: attacks that learn, once all trials of a run are made, and any other attack that a
//! report asks for.
//!
//! # Definition
//! All that an attack needs to know of a trial is in its row and in the run's texts. An attack that learns is fitted
//! on the first [`CellPlan::trained`] trials of its series, for which its guesses come from models fitted without
//! them, and judges the others. Guesses follow from scores by the trial's own coins, as they do while trials are made.
//!
//! # Guarantee
//! Rows are read in order and judged in blocks of a fixed size, so the guesses are the same for any number of threads,
//! and whether the rows were made in one piece or merged.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;
use teda_attacks::{Built, Choice, Context};
use teda_core::{
    Answer, Attack, Cause, Error, Example, Fitted, Learner, Observation, Release, Result, Role,
    Seed, Sign,
};
use teda_results::{CellPlan, Row, Writer};

use crate::audit::corpus::Corpus;
use crate::audit::counting::{self, Count};
use crate::audit::reading;
use crate::audit::series::Series;
use crate::audit::trial;
use crate::models::Watch;

/// Rows read before they are judged.
const BLOCK: usize = 1 << 12;
/// Rows shown to an attack at once.
const BATCH: usize = 64;

/// What is done, in words.
const JUDGING: &str = "judging stored trials";

/// An attack and the cell whose rows hold the trials that it is applied to.
pub struct Put<'a> {
    /// The attack's own cell; its rows get this number.
    pub cell: u32,
    /// The plan of that cell.
    pub plan: &'a CellPlan,
    /// The attack.
    pub attack: Choice,
    /// The cell that has the rows.
    pub rows: u32,
    /// What attacks on the texts of these rows are built from.
    pub context: &'a Context,
    /// The source of likelihoods that the rows lack.
    pub likelihoods: Option<(&'a Series, &'a Corpus)>,
}

/// The result of [`put`].
pub struct Judged {
    /// The counts.
    pub count: Count,
    /// Seconds spent.
    pub seconds: f64,
    /// What the attack learned.
    pub signs: Vec<Sign>,
}

/// Applies attacks to the rows of a run, of which there are `amount` per cell. Their own rows go to `sink`, series
/// after series.
///
/// # Errors
/// Failed, if rows cannot be read or do not fit, or an attack fails.
pub fn put(
    rows: impl IntoIterator<Item = Result<Row>>,
    puts: &[Put<'_>],
    choices: &[u64],
    amount: u64,
    mut sink: Option<&mut Writer>,
    watch: &Watch,
) -> Result<Vec<Judged>> {
    let mut judges: Vec<Judge<'_>> = puts
        .iter()
        .zip(choices)
        .map(|(put, choices)| Judge::new(put, *choices, amount))
        .collect::<Result<_>>()?;
    let mut by_rows: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (place, put) in puts.iter().enumerate() {
        by_rows.entry(put.rows).or_default().push(place);
    }
    let mut block: Vec<Row> = Vec::new();
    let (mut done, total) = (0, amount * by_rows.len() as u64);
    let mut judge = |block: &mut Vec<Row>| -> Result<()> {
        let Some(first) = block.first() else {
            return Ok(());
        };
        (watch)(JUDGING, done, total);
        for place in &by_rows[&first.cell] {
            judges[*place].take(block, sink.as_deref_mut())?;
        }
        done += block.len() as u64;
        block.clear();
        Ok(())
    };
    for row in rows {
        let row = row?;
        if !by_rows.contains_key(&row.cell) {
            continue;
        }
        let ends = |first: &Row| first.cell != row.cell || block.len() == BLOCK;
        if block.first().is_some_and(ends) {
            judge(&mut block)?;
        }
        block.push(row);
    }
    judge(&mut block)?;
    (watch)(JUDGING, total, total);
    judges.into_iter().map(Judge::finish).collect()
}

/// An attack at work.
struct Judge<'a> {
    put: &'a Put<'a>,
    seed: Seed,
    state: State,
    judged: Judged,
}

enum State {
    Learning(Arc<dyn Learner>, Vec<Row>),
    Judging(Arc<dyn Attack>),
}

impl<'a> Judge<'a> {
    fn new(put: &'a Put<'a>, choices: u64, amount: u64) -> Result<Self> {
        let mut counts = counting::begin(std::slice::from_ref(put.plan), &[choices], amount)?;
        let state = match put.attack.build(put.context)? {
            Built::Learns(learner) => State::Learning(learner, Vec::new()),
            Built::Scores(attack) => State::Judging(attack),
        };
        Ok(Self {
            seed: node(put.plan),
            put,
            state,
            judged: Judged {
                count: counts.remove(0),
                seconds: 0.0,
                signs: Vec::new(),
            },
        })
    }

    /// Judges the next rows.
    fn take(&mut self, rows: &[Row], mut sink: Option<&mut Writer>) -> Result<()> {
        let started = Instant::now();
        let mut rows = rows;
        let mut said = Vec::new();
        if let State::Learning(learner, examples) = &mut self.state {
            let missing = self.put.plan.trained as usize - examples.len();
            let (first, rest) = rows.split_at(missing.min(rows.len()));
            examples.extend_from_slice(first);
            rows = rest;
            if first.len() == missing {
                let (guesses, fitted) = out_of_fold(&**learner, examples, self.seed)?;
                said.extend(guesses);
                self.judged.signs = fitted.signs;
                self.state = State::Judging(fitted.attack.into());
            }
        }
        if let State::Judging(attack) = &self.state {
            let batches: Vec<Vec<Row>> = rows
                .par_chunks(BATCH)
                .map(|rows| self.put.guess(&**attack, self.seed, rows))
                .collect::<Result<_>>()?;
            said.extend(batches.into_iter().flatten());
        }
        for row in said {
            let row = Row {
                cell: self.put.cell,
                ..row
            };
            self.judged.count.add(&row)?;
            if let Some(sink) = &mut sink {
                sink.push(row)?;
            }
        }
        self.judged.seconds += started.elapsed().as_secs_f64();
        Ok(())
    }

    fn finish(self) -> Result<Judged> {
        match self.state {
            State::Judging(_) => Ok(self.judged),
            State::Learning(_, rows) => Err(Error::failed(format!(
                "{} of the {} trials that '{}' learns from are there: rows were lost",
                rows.len(),
                self.put.plan.trained,
                self.put.plan.attack
            ))),
        }
    }
}

impl Put<'_> {
    /// The guesses of an attack on some rows.
    fn guess(&self, attack: &dyn Attack, seed: Seed, rows: &[Row]) -> Result<Vec<Row>> {
        let learned = self.plan.is_deferred();
        let is_shown = |row: &Row| {
            if learned {
                is_shown(row)
            } else {
                is_release(row)
            }
        };
        let shown: Vec<&Row> = rows.iter().filter(|row| is_shown(row)).collect();
        let candidates: Vec<Vec<usize>> = shown.iter().map(|row| places(row)).collect();
        let likelihoods = self.likelihoods(&shown, &candidates)?;
        let observations: Vec<Observation<'_>> = shown
            .iter()
            .zip(&candidates)
            .zip(&likelihoods)
            .map(|((row, candidates), likelihoods)| Observation {
                log_likelihoods: likelihoods,
                ..observation(row, candidates, seed)
            })
            .collect();
        let sources = shown.iter().zip(&candidates);
        let sources: Vec<usize> = sources
            .map(|(row, candidates)| source(row, candidates))
            .collect::<Result<_>>()?;
        let mut answers = reading::answers(attack, &observations, &sources)?.into_iter();
        rows.iter()
            .map(|row| {
                let answered = is_shown(row).then(|| answers.next()).flatten();
                let (scores, reading) = answered.unzip();
                Ok(Row {
                    reading: reading.flatten(),
                    ..answer(row, scores, seed)?
                })
            })
            .collect()
    }

    /// The likelihoods in the rows, or those computed by the mechanism where rows have none.
    fn likelihoods(&self, rows: &[&Row], candidates: &[Vec<usize>]) -> Result<Vec<Vec<f64>>> {
        let stored = || rows.iter().map(|row| row.log_likelihoods.clone()).collect();
        match self.likelihoods {
            Some((series, corpus)) if rows.iter().any(|row| row.log_likelihoods.is_empty()) => {
                let releases: Vec<Release> = rows
                    .iter()
                    .map(|row| Release::of(&row.release[..]))
                    .collect();
                trial::log_likelihoods(series, corpus, &candidates.concat(), &releases)
            }
            _ => Ok(stored()),
        }
    }
}

/// Fits on rows. Returns them with the guesses of models that were fitted without them, and what was learned.
///
/// # Errors
/// Any error of the attack.
pub fn out_of_fold(learner: &dyn Learner, rows: &[Row], seed: Seed) -> Result<(Vec<Row>, Fitted)> {
    let shown: Vec<&Row> = rows.iter().filter(|row| is_shown(row)).collect();
    let candidates: Vec<Vec<usize>> = shown.iter().map(|row| places(row)).collect();
    let examples: Vec<Example<'_>> = shown
        .iter()
        .zip(&candidates)
        .map(|(row, candidates)| Example {
            observation: observation(row, candidates, seed),
            secret: row.secret as usize,
        })
        .collect();
    let mut fitted = learner.fit(&examples)?;
    if fitted.out_of_fold.len() != examples.len() {
        return Err(Error::failed(format!(
            "the attack was shown {} trials to learn from and scored {}",
            examples.len(),
            fitted.out_of_fold.len()
        )));
    }
    let mut scores = std::mem::take(&mut fitted.out_of_fold).into_iter();
    let guess = |row: &Row| {
        let scores = is_shown(row).then(|| scores.next()).flatten();
        answer(row, scores.map(Ok), seed)
    };
    let guesses = rows.iter().map(guess).collect::<Result<_>>()?;
    Ok((guesses, fitted))
}

/// What an attack sees of a row. A failed release is an empty text.
fn observation<'a>(row: &'a Row, candidates: &'a [usize], seed: Seed) -> Observation<'a> {
    Observation {
        candidates,
        release: match is_release(row) {
            true => &row.release,
            false => "",
        },
        log_likelihoods: &[],
        seed: seed.role(row.trial, Role::Attack),
    }
}

/// The text that was rewritten, by its number.
fn source(row: &Row, candidates: &[usize]) -> Result<usize> {
    let source = candidates.get(row.secret as usize);
    source.copied().ok_or_else(|| counting::foreign(row))
}

fn places(row: &Row) -> Vec<usize> {
    row.candidates.iter().map(|text| *text as usize).collect()
}

/// Whether the mechanism released something.
pub fn is_release(row: &Row) -> bool {
    !row.release.trim().is_empty()
}

/// Whether an attack that learns is shown the row: a mechanism's failure counts as a release, a loss on the way does
/// not.
fn is_shown(row: &Row) -> bool {
    row.cause != Some(Cause::Transport)
}

/// The row for an attack's guess. A failure of the attack that the row came from is not carried over.
fn answer(row: &Row, scores: Option<Answer<Vec<f64>>>, seed: Seed) -> Result<Row> {
    let guess = trial::decide(
        scores,
        row.candidates.len(),
        seed.role(row.trial, Role::Ties),
    )
    .map_err(|e| e.context(format!("trial {}", row.trial)))?;
    let (cause, error) = match row.cause {
        Some(Cause::Mechanism | Cause::Transport) => (row.cause, row.error.clone()),
        Some(Cause::Attack) | None => {
            let failure = guess.failure;
            (
                failure.as_ref().map(|failure| failure.cause),
                failure.map(|failure| failure.reason),
            )
        }
    };
    Ok(Row {
        guess: guess.candidate as u32,
        hit: guess.candidate == row.secret as usize,
        margin: guess.margin,
        cause,
        error,
        release: String::new(),
        log_likelihoods: Vec::new(),
        reading: None,
        ..row.clone()
    })
}

/// The node whose children are the cell's trials. Runs that did not store it get a new one: its coins differ and are
/// just as fair.
fn node(plan: &CellPlan) -> Seed {
    let kept = plan.seed.as_deref().and_then(Seed::parse);
    kept.unwrap_or_else(|| {
        Seed::root(0)
            .named("rows")
            .named(&plan.dataset)
            .named(&plan.mechanism)
            .named(&plan.epsilon.map_or(String::new(), |e| e.to_string()))
            .named(&format!("k={},lambda={}", plan.k, plan.lambda))
    })
}
