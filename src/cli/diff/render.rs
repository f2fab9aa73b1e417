//! The difference of two runs as a table and as a document.

use serde::Serialize;
use teda::report::grid::{Grid, Role};
use teda_core::{Error, Neighbours, Result, Verdict, plain};
use teda_results::{Cell, UtilityCell, number};

use super::compared::{Alone, Difference, Pair};
use crate::cli::compare::shown;
use crate::cli::key::{Key, Series};
use crate::cli::output::{prose, width};

const SCHEMA: &str = "teda.diff/1";

/// Cells that moved, verdicts that changed, and what there is besides.
#[must_use]
pub fn table(difference: &Difference<'_>) -> String {
    let [before, after] = difference.sources;
    let mut text = String::new();
    let moved: Vec<&Pair<'_>> = difference.both.iter().filter(|pair| pair.moved).collect();
    if !moved.is_empty() {
        text += &rates(&moved);
        text += "\n";
    }
    text += &prose(&summary(difference));
    text += &prose(&verdicts(difference));
    text += &prose(&not_compared(difference));
    for (source, only) in [before, after].into_iter().zip(&difference.only) {
        text += &prose(&alone(source, only));
    }
    text += &prose(&other_bounds(difference));
    text + &utilities(&difference.utilities)
}

/// What both tables begin with.
fn grid() -> Grid {
    Grid::new()
        .words("data set", Role::Group)
        .words("mechanism", Role::Group)
        .numbers("ε", Role::Key)
        .numbers("k", Role::Group)
        .numbers("λ", Role::Group)
}

/// The rates and bounds of cells, before and after.
fn rates(pairs: &[&Pair<'_>]) -> String {
    let mut grid = grid()
        .words("neighbours", Role::Group)
        .words("attack", Role::Key)
        .numbers("success rate", Role::Value)
        .numbers("empirical ε ≥", Role::Value)
        .numbers("p", Role::Value);
    for pair in pairs {
        let both = |of: fn(&Cell) -> f64| {
            let [before, after] = pair.cells.map(of);
            format!("{before:.4} → {after:.4}")
        };
        let [cell, _] = pair.cells;
        grid.add([
            cell.dataset.clone(),
            cell.mechanism.clone(),
            cell.epsilon.map_or("-".into(), |e| e.to_string()),
            cell.k.to_string(),
            cell.lambda.to_string(),
            cell.neighbours.to_string(),
            cell.attack.clone(),
            both(|cell| cell.success_rate),
            both(|cell| cell.empirical_epsilon),
            pair.p.as_ref().map_or("-".to_owned(), |p| shown(*p)),
        ]);
    }
    let usual = Neighbours::AnyTexts.to_string();
    grid.without(&["neighbours"], &usual).render(width())
}

/// How many cells moved, and by which level.
fn summary(difference: &Difference<'_>) -> String {
    let compared = difference.compared();
    let level = shown(difference.level());
    let still = compared - difference.moved();
    let test = format!(
        "{compared} compared by Fisher's exact test, each at p ≤ {level}: a tolerance of {} over all",
        difference.tolerance
    );
    match (compared, difference.moved()) {
        (0, _) => "no cell is compared: nothing is said of what moved.".to_owned(),
        (_, 0) => format!("no cell moved ({test})."),
        (_, moved) => format!("{moved} moved, {still} did not ({test})."),
    }
}

/// The verdicts that are other ones, whether or not the rate moved.
fn verdicts(difference: &Difference<'_>) -> String {
    let changed = difference.both.iter().filter(|pair| {
        let [before, after] = pair.cells;
        before.verdict != after.verdict
    });
    let changed: Vec<String> = changed
        .map(|pair| {
            let [before, after] = pair.cells;
            let by_chance = match (pair.moved, &pair.p) {
                (true, _) => "",
                (false, Ok(_)) => " (its rate did not move: its bound, or its claim, did)",
                (false, Err(_)) => " (its rates are not compared)",
            };
            format!(
                "  {}: {} → {}{by_chance}\n",
                Key::from(before),
                before.verdict,
                after.verdict
            )
        })
        .collect();
    match &changed[..] {
        [] => String::new(),
        changed => format!("\nverdicts that changed:\n{}", changed.concat()),
    }
}

fn not_compared(difference: &Difference<'_>) -> String {
    let reasons = difference.both.iter().filter_map(|pair| {
        let why = pair.p.as_ref().err()?;
        Some(format!("  {}: {}\n", Key::from(pair.cells[0]), plain(why)))
    });
    let reasons: String = reasons.collect();
    match &reasons[..] {
        "" => reasons,
        reasons => format!("\nnot compared:\n{reasons}"),
    }
}

fn alone(source: &str, only: &[Alone<'_>]) -> String {
    if only.is_empty() {
        return String::new();
    }
    let line = |alone: &Alone<'_>| {
        let nearest = alone.nearest.as_ref();
        let nearest = nearest.map_or(String::new(), |(name, value)| {
            format!(" (the other run has {name} {value})")
        });
        format!("  {}{nearest}\n", Key::from(alone.cell))
    };
    let all: String = only.iter().map(line).collect();
    format!("\nin {} alone:\n{all}", plain(source))
}

/// Bounds that are not about the same thing.
fn other_bounds(difference: &Difference<'_>) -> String {
    let other = difference.both.iter().filter(|pair| {
        let [before, after] = pair.cells;
        let bound = |cell: &Cell| (cell.alpha, cell.delta, cell.estimator.clone());
        bound(before) != bound(after)
    });
    match other.count() {
        0 => String::new(),
        cells => format!(
            "\nnote: the bounds of {} are not comparable (alpha, delta or estimator differ); success rates are.\n",
            if cells == 1 {
                "a cell".to_owned()
            } else {
                format!("{cells} cells")
            }
        ),
    }
}

/// Utilities side by side; nothing is tested.
fn utilities(both: &[[&UtilityCell; 2]]) -> String {
    if both.is_empty() {
        return String::new();
    }
    let mut grid = grid()
        .words("utility", Role::Key)
        .words("mean before", Role::Value)
        .words("mean after", Role::Value);
    for pair in both {
        let mean = |cell: &UtilityCell| match (cell.mean, cell.mean_lower, cell.mean_upper) {
            (Some(mean), Some(lower), Some(upper)) => format!("{mean:.4} [{lower:.4}, {upper:.4}]"),
            (Some(mean), ..) => format!("{mean:.4}"),
            (None, ..) => "-".to_owned(),
        };
        let [cell, _] = pair;
        let [before, after] = pair.map(mean);
        grid.add([
            cell.dataset.clone(),
            cell.mechanism.clone(),
            cell.epsilon.map_or("-".into(), |e| e.to_string()),
            cell.k.to_string(),
            cell.lambda.to_string(),
            cell.utility.clone(),
            before,
            after,
        ]);
    }
    let said = "\nUtilities, with the confidence interval of each mean; they are not tested.\n\n";
    prose(said) + &grid.render(width())
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    before: &'a str,
    after: &'a str,
    tolerance: f64,
    compared: usize,
    moved: usize,
    level: f64,
    cells: Vec<Record<'a>>,
    only_before: Vec<Name<'a>>,
    only_after: Vec<Name<'a>>,
    utilities: &'a [[&'a UtilityCell; 2]],
}

/// What identifies a cell.
#[derive(Serialize)]
struct Name<'a> {
    #[serde(flatten)]
    series: Series<'a>,
    attack: &'a str,
}

impl<'a> From<&'a Cell> for Name<'a> {
    fn from(cell: &'a Cell) -> Self {
        Self {
            series: cell.into(),
            attack: &cell.attack,
        }
    }
}

/// A cell that both have.
#[derive(Serialize)]
struct Record<'a> {
    #[serde(flatten)]
    name: Name<'a>,
    before: Side,
    after: Side,
    p_value: Option<f64>,
    moved: bool,
    not_compared: Option<&'a str>,
}

/// What one run found.
#[derive(Serialize)]
struct Side {
    trials: u64,
    hits: u64,
    success_rate: f64,
    #[serde(with = "number")]
    empirical_epsilon: f64,
    verdict: Verdict,
}

impl From<&Cell> for Side {
    fn from(cell: &Cell) -> Self {
        Self {
            trials: cell.trials,
            hits: cell.hits,
            success_rate: cell.success_rate,
            empirical_epsilon: cell.empirical_epsilon,
            verdict: cell.verdict,
        }
    }
}

/// The document on one line, ended by a line feed.
///
/// # Errors
/// Failed, if it cannot be written as JSON.
pub fn document(difference: &Difference<'_>) -> Result<String> {
    let [before, after] = difference.sources;
    let cells = difference.both.iter().map(|pair| Record {
        name: Name::from(pair.cells[0]),
        before: Side::from(pair.cells[0]),
        after: Side::from(pair.cells[1]),
        p_value: pair.p.as_ref().ok().copied(),
        moved: pair.moved,
        not_compared: pair.p.as_ref().err().map(String::as_str),
    });
    let [only_before, only_after] = &difference.only;
    let document = Document {
        schema: SCHEMA,
        before,
        after,
        tolerance: difference.tolerance,
        compared: difference.compared(),
        moved: difference.moved(),
        level: difference.level(),
        cells: cells.collect(),
        only_before: only_before
            .iter()
            .map(|alone| Name::from(alone.cell))
            .collect(),
        only_after: only_after
            .iter()
            .map(|alone| Name::from(alone.cell))
            .collect(),
        utilities: &difference.utilities,
    };
    serde_json::to_string(&document)
        .map(|line| line + "\n")
        .map_err(|e| Error::failed(format!("difference as JSON: {e}")))
}
