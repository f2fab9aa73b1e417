//! A trial for people: its texts, wrapped, and who guessed what.

use teda::report::browse::texts::Texts;
use teda::report::browse::{Failure, Guess, Trial};
use teda::report::finished_run::FinishedRun;
use teda_core::{Cause, plain};
use teda_results::CellPlan;
use textwrap::{Options, WordSplitter, fill};

use super::cells::series;

/// Where texts begin.
const INDENT: &str = "              ";

/// What every block of [`trial`] is read by.
pub const LEGEND: &str =
    "> guessed by an attack; by: how far its score is above the next best one.";

/// One trial as a block of lines, `width` columns wide, that ends in an empty line.
pub fn trial(run: &FinishedRun, texts: &Texts, trial: &Trial, width: usize) -> String {
    let plan = &run.manifest.cells[trial.cell as usize];
    let heading = format!("trial {}   {}", trial.number, series(plan));
    let mut block = fill(&heading, options(width).subsequent_indent("  ")) + "\n";
    let mut add = |label: &str, text: &str| {
        // A label that is longer than its column has a line of its own.
        let label = match label.chars().count() < INDENT.len() {
            true => format!("{label:<14}"),
            false => format!("{label}\n{INDENT}"),
        };
        let (above, first) = label.rsplit_once('\n').unwrap_or(("", &label));
        if !above.is_empty() {
            block += &format!("{above}\n");
        }
        let text = match text {
            "" => "(empty)".into(),
            text => plain(text),
        };
        block += &fill(
            &text,
            options(width)
                .initial_indent(first)
                .subsequent_indent(INDENT),
        );
        block += "\n";
    };
    let is_guessed = |place: usize| {
        trial
            .guesses
            .iter()
            .any(|guess| guess.place as usize == place)
    };
    for (place, number) in trial.candidates.iter().enumerate() {
        let mark = if is_guessed(place) { '>' } else { ' ' };
        let role = if place == trial.secret as usize {
            "secret"
        } else {
            "other"
        };
        let label = format!("{mark} {place} {role}");
        match texts.text(run, trial.cell, *number) {
            Some(text) => add(&label, text),
            None => add(&label, &format!("text {number}")),
        }
    }
    match &trial.release {
        Ok(release) => add("  release", release),
        Err(failure) => add("  no release", &failed(failure)),
    }
    if !trial.log_likelihoods.is_empty() {
        let all: Vec<String> = trial
            .log_likelihoods
            .iter()
            .map(|l| format!("{l:.4}"))
            .collect();
        add(
            "  ln P",
            &format!("{} (of the release, given each candidate)", all.join(", ")),
        );
    }
    for guess in &trial.guesses {
        let cell = &run.manifest.cells[guess.cell as usize];
        add(
            &format!("  {}", plain(&cell.attack)),
            &said(guess, cell, trial),
        );
        if let Some(reading) = &guess.reading {
            add("  wrote back", &reading.text);
        }
    }
    block + "\n"
}

fn options(width: usize) -> Options<'static> {
    Options::new(width).word_splitter(WordSplitter::NoHyphenation)
}

/// What an attack made of a trial.
fn said(guess: &Guess, cell: &CellPlan, trial: &Trial) -> String {
    let outcome = if guess.hit { "right" } else { "wrong" };
    let how = match &guess.failure {
        Some(failure) if trial.release.is_ok() => format!(", by chance: {}", failed(failure)),
        // An attack that learns guesses from a failure as from a release.
        _ if guess.margin != 0.0 => format!(", by {:.4}", guess.margin),
        Some(_) => ", by chance".to_owned(),
        None => ", a tie".to_owned(),
    };
    let counts = match (guess.counts, cell.trained > 0) {
        (true, _) => "",
        (false, true) => " (not counted: it learned from this trial)",
        (false, false) => " (not counted: this trial looked for the pair)",
    };
    format!("{outcome}: {}{how}{counts}", guess.place)
}

fn failed(failure: &Failure) -> String {
    let whose = match failure.cause {
        Some(Cause::Mechanism) => "the mechanism failed: ",
        Some(Cause::Transport) => "lost on the way: ",
        Some(Cause::Attack) => "the attack failed: ",
        None => "",
    };
    format!("{whose}{}", failure.error)
}
