//! Draws the cells of one or several runs as one picture.

use std::path::Path;

use teda_core::estimator::Level;
use teda_core::stats::binomial;
use teda_core::{Error, Result, Unit, Verdict};
use teda_results::Cell;

use crate::report::explanation;
use teda_plot::{Options, Point, Series, draw};

/// The picture in a directory of results.
pub const CURVE: &str = "curve.svg";
/// Share of failed trials above which a picture points them out.
const FAILED: f64 = 0.01;

/// What the x axis of a picture shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Axis {
    /// The nominal ε as published, whatever it is spent on.
    #[default]
    Nominal,
    /// The nominal ε of a text of mean length: of mechanisms that spend it on tokens or triples, times the mean number of
    /// these in a text (TeDA, Figure 7).
    PerText,
}

impl Axis {
    /// Where a cell stands on the axis.
    fn of(self, cell: &Cell) -> Option<f64> {
        match (self, cell.mean_units) {
            (Self::PerText, Some(units)) => cell.epsilon.map(|epsilon| epsilon * units),
            _ => cell.epsilon,
        }
    }

    /// Refuses cells that have no place on the axis.
    ///
    /// # Errors
    /// Usage, for an ε that is spent on tokens or triples whose number is not known.
    pub fn check(self, cells: &[Cell]) -> Result<()> {
        let is_unknown = |cell: &&Cell| {
            let of_text = matches!(cell.epsilon_unit, None | Some(Unit::Text));
            cell.epsilon.is_some() && !of_text && cell.mean_units.is_none()
        };
        match cells.iter().find(is_unknown) {
            Some(cell) if self == Self::PerText => Err(Error::usage(format!(
                "the number of units in a text is not known of {}: it counts none, or its run was made before runs stored them; draw the nominal epsilon (--x nominal)",
                cell.mechanism
            ))),
            _ => Ok(()),
        }
    }
}

/// How a picture is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct View {
    /// What its x axis shows.
    pub x: Axis,
    /// Whether its y axis shows the success rate that each ε stands for, too.
    pub success: bool,
}

impl View {
    /// Refuses cells that cannot be drawn so.
    ///
    /// # Errors
    /// Usage, for those of [`Axis::check`], and for success rates among different numbers of candidates.
    pub fn check(self, cells: &[Cell]) -> Result<()> {
        self.x.check(cells)?;
        let differs = cells.iter().find(|cell| cell.k != cells[0].k);
        match differs.filter(|_| self.success) {
            Some(other) => Err(Error::usage(format!(
                "an axis of success rates is for one number of candidates, and these are k = {} and {}: draw them apart",
                cells[0].k, other.k
            ))),
            None => Ok(()),
        }
    }
}

/// Draws all cells into `curve.svg` and `curve.png` in `directory`: one line for each mechanism, data set,
/// attack, neighbours, k and λ.
///
/// # Errors
/// Failed, if a file cannot be written.
pub fn write(directory: &Path, cells: &[Cell], view: View) -> Result<()> {
    let Some(first) = cells.first() else {
        return Ok(());
    };
    let differs = |aspect: &Aspect| cells.iter().any(|cell| aspect(cell) != aspect(first));
    let aspects: Vec<Aspect> = ASPECTS.into_iter().filter(differs).collect();
    let claiming: Vec<Aspect> = match claims_vary(cells) {
        true => CLAIMING.into_iter().filter(differs).collect(),
        false => Vec::new(),
    };
    let mut series: Vec<(Vec<String>, Series)> = Vec::new();
    let drawable = |cell: &&Cell| cell.empirical_epsilon.is_finite();
    for cell in cells.iter().filter(drawable) {
        let key: Vec<String> = ASPECTS.iter().map(|aspect| aspect(cell)).collect();
        let point = point(cell, view.x)?;
        match series.iter_mut().find(|(other, _)| *other == key) {
            Some((_, series)) => series.points.push(point),
            None => series.push((
                key,
                Series {
                    label: label(cell, &aspects),
                    claimant: claimant(cell, &claiming),
                    points: vec![point],
                },
            )),
        }
    }
    let series: Vec<Series> = series.into_iter().map(|(_, series)| series).collect();
    draw(
        &series,
        &options(cells, view),
        &directory.join(CURVE),
        &directory.join("curve.png"),
    )
}

/// A property that tells one line from another.
type Aspect = fn(&Cell) -> String;

const ASPECTS: [Aspect; 6] = [
    mechanism,
    dataset,
    |cell| format!("{} attack", cell.attack),
    neighbours,
    |cell| format!("k = {}", cell.k),
    |cell| format!("λ = {}", cell.lambda),
];

/// What a mechanism's claim may depend on, besides its ε.
const CLAIMING: [Aspect; 2] = [dataset, neighbours];

fn mechanism(cell: &Cell) -> String {
    cell.mechanism.clone()
}

fn dataset(cell: &Cell) -> String {
    cell.dataset.clone()
}

fn neighbours(cell: &Cell) -> String {
    format!("{} neighbours", cell.neighbours)
}

/// The label of a cell's line in the legend: the mechanism, and what differs between lines.
fn label(cell: &Cell, differing: &[Aspect]) -> String {
    let mut parts: Vec<String> = differing.iter().map(|aspect| aspect(cell)).collect();
    if !parts.contains(&cell.mechanism) {
        parts.insert(0, cell.mechanism.clone());
    }
    parts.join(", ")
}

/// Whether a mechanism makes more than one claim at one ε.
fn claims_vary(cells: &[Cell]) -> bool {
    let same = |a: &Cell, b: &Cell| a.mechanism == b.mechanism && a.epsilon == b.epsilon;
    let mut firsts: Vec<&Cell> = Vec::new();
    cells
        .iter()
        .any(|cell| match firsts.iter().find(|first| same(first, cell)) {
            Some(first) => first.claimed_epsilon != cell.claimed_epsilon,
            None => {
                firsts.push(cell);
                false
            }
        })
}

/// The label in the legend for whoever makes a cell's claim: the mechanism, and where.
fn claimant(cell: &Cell, differing: &[Aspect]) -> String {
    let place: Vec<String> = differing.iter().map(|aspect| aspect(cell)).collect();
    match place.is_empty() {
        true => cell.mechanism.clone(),
        false => format!("{} ({})", cell.mechanism, place.join(", ")),
    }
}

/// The point of a cell. Its upper end is the greatest ε that the attack's success rate allows at the same tail; it
/// bounds this attack, not the mechanism.
fn point(cell: &Cell, axis: Axis) -> Result<Point> {
    let tail = Level::new(cell.alpha)?.tail();
    let rate = binomial::upper_limit(cell.hits, cell.trials, tail);
    let upper = ((f64::from(cell.k) - 1.0) * rate.p / rate.q).ln().max(0.0);
    let verdict = cell.verdict;
    // A claim at a larger δ than the audit's says nothing about the bound; its verdict says so.
    let claim = cell.claimed_epsilon.filter(|_| verdict != Verdict::NoClaim);
    Ok(Point {
        nominal: axis.of(cell),
        lower: cell.empirical_epsilon,
        upper: upper.max(cell.empirical_epsilon),
        ceiling: cell.ceiling,
        claim,
        verdict,
        failed: cell.failed as f64 > FAILED * cell.trials as f64,
    })
}

/// The caption for a cell: its verdict, and what its attack goes by if it learned.
fn said(cell: &Cell) -> impl Iterator<Item = String> {
    let signs = explanation::signs(cell, SIGNS);
    std::iter::once(explanation::with_verdict(cell)).chain(signs)
}

/// Number of signs in the caption.
const SIGNS: usize = 3;

/// Title, subtitle and units: what all cells share is stated once.
fn options(cells: &[Cell], view: View) -> Options {
    let first = &cells[0];
    let common = |aspect: fn(&Cell) -> String| {
        let value = aspect(first);
        cells
            .iter()
            .all(|cell| aspect(cell) == value)
            .then_some(value)
    };
    let infinite = cells
        .iter()
        .filter(|cell| cell.empirical_epsilon.is_infinite())
        .count();
    let subtitle: Vec<String> = [
        common(dataset),
        common(neighbours),
        common(|cell| format!("k = {}", cell.k)),
        common(|cell| format!("λ = {}", cell.lambda)),
        common(|cell| format!("{} trials a point", cell.trials)),
        common(|cell| format!("{} attack", cell.attack)),
        Some(infinite)
            .filter(|count| *count > 0)
            .map(|count| format!("{count} infinite bounds are not drawn")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let title = common(mechanism).map_or_else(
        || "Empirical against nominal ε".into(),
        |m| format!("Empirical against nominal ε: {m}"),
    );
    let mut units: Vec<&str> = cells
        .iter()
        .filter_map(|cell| cell.epsilon_unit.map(Unit::name))
        .collect();
    units.sort_unstable();
    units.dedup();
    let mut telling = explanation::telling(cells);
    telling.sort_by_key(|cell| cell.verdict != Verdict::Violation);
    Options {
        findings: telling.iter().flat_map(said).collect(),
        title,
        subtitle: subtitle.join(" · "),
        unit: match view.x {
            Axis::Nominal => units.join(" or "),
            Axis::PerText => "text of mean length".to_owned(),
        },
        confidence: 1.0 - first.alpha,
        success: view.success.then_some(first.k),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cell of 1000 trials, with the fields that a picture uses.
    fn cell(dataset: &str, claim: Option<f64>, failed: u64, verdict: &str) -> Cell {
        let cell = serde_json::json!({
            "dataset": dataset, "mechanism": "em", "epsilon": 2.0, "epsilon_unit": "text",
            "neighbours": "one-token", "k": 2, "lambda": 0.0, "attack": "embedding", "trials": 1000,
            "hits": 600, "failed": failed, "success_rate": 0.6, "success_lower": 0.56, "alpha": 0.01,
            "delta": 0.0, "estimator": "teda", "empirical_epsilon": 0.24, "ceiling": 5.2,
            "claimed_epsilon": claim, "verdict": verdict, "seconds": null,
        });
        serde_json::from_value(cell).unwrap()
    }

    fn picture(cells: &[Cell]) -> String {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), cells, View::default()).unwrap();
        std::fs::read_to_string(directory.path().join("curve.svg")).unwrap()
    }

    #[test]
    fn claims_are_named_by_where_they_differ() {
        let snips = cell("snips", Some(2.0), 0, "consistent");
        let same = picture(&[snips.clone(), cell("novels", Some(2.0), 0, "consistent")]);
        assert!(same.contains("\nclaim = nominal ε\n"));
        let other = picture(&[snips.clone(), cell("novels", Some(3.0), 0, "consistent")]);
        assert!(other.contains("claim of em (snips) = nominal ε"));
        assert!(other.contains("claim of em (novels) = 3"));
        // A claim at a larger δ than the audit's does not count, as its verdict says.
        let none = picture(&[cell("snips", Some(2.0), 0, "no-claim")]);
        assert!(!none.contains("\nclaim") && none.contains("no claim between such texts"));
    }

    #[test]
    fn more_than_a_hundredth_of_failures_is_pointed_at() {
        let says = |failed| {
            let cells = [cell("snips", Some(2.0), failed, "consistent")];
            picture(&cells).contains("more than 1 % of trials failed")
        };
        assert!(!says(10) && says(11));
    }

    /// 2 a token and 7.5 tokens a text are 15 a text; what is spent on a text stays.
    #[test]
    fn an_axis_per_text_takes_the_mean_number_of_units() {
        let text = cell("snips", Some(2.0), 0, "consistent");
        let token = Cell {
            epsilon_unit: Some(Unit::Token),
            mean_units: Some(7.5),
            ..text.clone()
        };
        let of = |axis: Axis| [axis.of(&text), axis.of(&token)];
        assert_eq!(of(Axis::Nominal), [Some(2.0), Some(2.0)]);
        assert_eq!(of(Axis::PerText), [Some(2.0), Some(15.0)]);
        let unknown = Cell {
            mean_units: None,
            recall: None,
            ..token.clone()
        };
        let cells = [text.clone(), unknown];
        assert!(Axis::PerText.check(&cells).is_err() && Axis::Nominal.check(&cells).is_ok());
        assert!(Axis::PerText.check(&[text.clone(), token.clone()]).is_ok());
        let view = View {
            x: Axis::PerText,
            success: true,
        };
        let options = options(&[text.clone(), token], view);
        assert_eq!(options.unit, "text of mean length");
        assert_eq!(options.success, Some(2));
        let four = Cell {
            k: 4,
            ..text.clone()
        };
        assert!(view.check(&[text.clone(), four.clone()]).is_err());
        assert!(View::default().check(&[text, four]).is_ok());
    }
}
