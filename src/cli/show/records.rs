//! Cells and trials for programs: JSON, one line a trial, and CSV.

use serde::Serialize;
use teda::report::browse::texts::Texts;
use teda::report::browse::{Failure, Guess, Trial};
use teda::report::finished_run::FinishedRun;
use teda_core::{Cause, Error, Result, Verdict};
use teda_results::{Cell, cells_csv, number};

use crate::cli::key::Series;

/// The name of the format of the document.
pub const SCHEMA: &str = "teda.show/1";

/// The columns of the CSV, which has a line a guess.
pub const COLUMNS: [&str; 18] = [
    "cell",
    "trial",
    "dataset",
    "mechanism",
    "epsilon",
    "neighbours",
    "k",
    "lambda",
    "attack",
    "source",
    "release",
    "guessed",
    "hit",
    "margin",
    "counted",
    "error",
    "cause",
    "candidates",
];

#[derive(Serialize)]
struct CellRecord<'a> {
    cell: usize,
    #[serde(flatten)]
    series: Series<'a>,
    attack: &'a str,
    trials: Option<u64>,
    hits: Option<u64>,
    empirical_epsilon: Option<Number>,
    verdict: Option<Verdict>,
}

/// A number that may be infinite.
#[derive(Serialize)]
struct Number(#[serde(with = "number")] f64);

#[derive(Serialize)]
struct TrialRecord<'a> {
    trial: u64,
    #[serde(flatten)]
    series: Series<'a>,
    candidates: Vec<Candidate<'a>>,
    secret: u32,
    release: Option<&'a str>,
    error: Option<&'a str>,
    cause: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    log_likelihoods: Vec<Number>,
    guesses: Vec<GuessRecord<'a>>,
}

#[derive(Serialize)]
struct Candidate<'a> {
    number: u32,
    text: Option<&'a str>,
}

#[derive(Serialize)]
struct GuessRecord<'a> {
    cell: u32,
    attack: &'a str,
    guess: u32,
    hit: bool,
    margin: Number,
    counted: bool,
    error: Option<&'a str>,
    cause: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reconstruction: Option<&'a str>,
}

impl<'a> GuessRecord<'a> {
    fn of(run: &'a FinishedRun, guess: &'a Guess) -> Self {
        Self {
            cell: guess.cell,
            attack: &run.manifest.cells[guess.cell as usize].attack,
            guess: guess.place,
            hit: guess.hit,
            margin: Number(guess.margin),
            counted: guess.counts,
            error: guess.failure.as_ref().map(|failure| &failure.error[..]),
            cause: cause(guess.failure.as_ref()),
            reconstruction: guess.reading.as_ref().map(|reading| &reading.text[..]),
        }
    }
}

fn cause(failure: Option<&Failure>) -> Option<&'static str> {
    failure.and_then(|failure| failure.cause).map(Cause::name)
}

/// A trial as JSON, on one line without its end.
///
/// # Errors
/// Failed, if it cannot be written.
pub fn json(run: &FinishedRun, texts: &Texts, trial: &Trial) -> Result<String> {
    let candidate = |number: &u32| Candidate {
        number: *number,
        text: texts.text(run, trial.cell, *number),
    };
    let failure = trial.release.as_ref().err();
    written(&TrialRecord {
        trial: trial.number,
        series: Series::from(&run.manifest.cells[trial.cell as usize]),
        candidates: trial.candidates.iter().map(candidate).collect(),
        secret: trial.secret,
        release: trial.release.as_ref().ok().map(String::as_str),
        error: failure.map(|failure| &failure.error[..]),
        cause: cause(failure),
        log_likelihoods: trial.log_likelihoods.iter().copied().map(Number).collect(),
        guesses: trial
            .guesses
            .iter()
            .map(|guess| GuessRecord::of(run, guess))
            .collect(),
    })
}

/// The cells that are asked for as a list in JSON.
///
/// # Errors
/// Failed, if it cannot be written.
pub fn cells(run: &FinishedRun, results: &[Option<Cell>], wanted: &[bool]) -> Result<String> {
    let records = run.manifest.cells.iter().zip(results).enumerate();
    let records = records.filter(|(cell, _)| wanted[*cell]);
    let records: Vec<_> = records
        .map(|(cell, (plan, result))| CellRecord {
            cell,
            series: Series::from(plan),
            attack: &plan.attack,
            trials: result.as_ref().map(|cell| cell.trials),
            hits: result.as_ref().map(|cell| cell.hits),
            empirical_epsilon: result.as_ref().map(|cell| Number(cell.empirical_epsilon)),
            verdict: result.as_ref().map(|cell| cell.verdict),
        })
        .collect();
    written(&records)
}

/// A value as JSON, on one line.
///
/// # Errors
/// Failed, if it cannot be written.
pub fn written(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|e| Error::failed(format!("trials as JSON: {e}")))
}

/// The guesses of a trial as lines of CSV; one without a guess where there are none.
///
/// # Errors
/// Failed, if they cannot be written.
pub fn csv(run: &FinishedRun, texts: &Texts, trial: &Trial) -> Result<String> {
    let text = |place: u32| {
        let number = trial.candidates.get(place as usize);
        let text = number.and_then(|number| texts.text(run, trial.cell, *number));
        text.map(cells_csv::name).unwrap_or_default()
    };
    let numbers: Vec<String> = trial.candidates.iter().map(u32::to_string).collect();
    let release = trial.release.as_ref().map_or("", String::as_str);
    let guesses: Vec<Option<&Guess>> = match &trial.guesses[..] {
        [] => vec![None],
        all => all.iter().map(Some).collect(),
    };
    let mut lines = String::new();
    for guess in guesses {
        let cell = guess.map_or(trial.cell, |guess| guess.cell);
        let plan = &run.manifest.cells[cell as usize];
        let of = |value: &dyn Fn(&Guess) -> String| guess.map(value).unwrap_or_default();
        let failure = guess.and_then(|guess| guess.failure.as_ref());
        let failure = failure.or(trial.release.as_ref().err());
        lines += &line(&[
            cell.to_string(),
            trial.number.to_string(),
            cells_csv::name(&plan.dataset),
            cells_csv::name(&plan.mechanism),
            plan.epsilon
                .map_or_else(String::new, |epsilon| epsilon.to_string()),
            plan.neighbours.to_string(),
            plan.k.to_string(),
            plan.lambda.to_string(),
            cells_csv::name(&plan.attack),
            text(trial.secret),
            cells_csv::name(release),
            of(&|guess| text(guess.place)),
            of(&|guess| guess.hit.to_string()),
            of(&|guess| guess.margin.to_string()),
            of(&|guess| guess.counts.to_string()),
            failure.map_or_else(String::new, |failure| cells_csv::name(&failure.error)),
            cause(failure).unwrap_or_default().to_owned(),
            numbers.join("+"),
        ])?;
    }
    Ok(lines)
}

/// One line of CSV.
///
/// # Errors
/// Failed, if it cannot be written.
pub fn line<T: AsRef<[u8]>>(fields: &[T]) -> Result<String> {
    let failed = |e: &dyn std::fmt::Display| Error::failed(format!("trials as CSV: {e}"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(fields).map_err(|e| failed(&e))?;
    let bytes = writer.into_inner().map_err(|e| failed(&e))?;
    String::from_utf8(bytes).map_err(|e| failed(&e))
}
