//! From the cells of one or several runs to one picture.

use std::path::Path;

use teda_core::estimator::{Level, binomial};
use teda_core::{Result, Verdict};
use teda_results::Cell;

use crate::explanation;
use crate::plot::{Options, Point, Series, draw};

/// Draws all cells into `curve.svg` and `curve.png` in `directory`: one line for each data set,
/// mechanism, attack, k and λ.
///
/// # Errors
/// Failed, where a file cannot be written.
pub fn write(directory: &Path, cells: &[Cell]) -> Result<()> {
    let Some(first) = cells.first() else {
        return Ok(());
    };
    let aspects: Vec<Aspect> = ASPECTS
        .into_iter()
        .filter(|aspect| cells.iter().any(|cell| aspect(cell) != aspect(first)))
        .collect();
    let mut series: Vec<(Vec<String>, Series)> = Vec::new();
    let drawable = |cell: &&Cell| cell.empirical_epsilon.is_finite();
    for cell in cells.iter().filter(drawable) {
        let key: Vec<String> = ASPECTS.iter().map(|aspect| aspect(cell)).collect();
        let point = point(cell)?;
        match series.iter_mut().find(|(other, _)| *other == key) {
            Some((_, series)) => series.points.push(point),
            None => series.push((
                key,
                Series {
                    label: label(cell, &aspects),
                    points: vec![point],
                },
            )),
        }
    }
    let series: Vec<Series> = series.into_iter().map(|(_, series)| series).collect();
    draw(
        &series,
        &options(cells),
        &directory.join("curve.svg"),
        &directory.join("curve.png"),
    )
}

/// Something that tells one line from another.
type Aspect = fn(&Cell) -> String;

const ASPECTS: [Aspect; 5] = [
    |cell| cell.mechanism.clone(),
    |cell| cell.dataset.clone(),
    |cell| format!("{} attack", cell.attack),
    |cell| format!("k = {}", cell.k),
    |cell| format!("λ = {}", cell.lambda),
];

/// What the legend calls a cell's line: the mechanism, and what differs between lines.
fn label(cell: &Cell, differing: &[Aspect]) -> String {
    let mut parts: Vec<String> = differing.iter().map(|aspect| aspect(cell)).collect();
    if !parts.contains(&cell.mechanism) {
        parts.insert(0, cell.mechanism.clone());
    }
    parts.join(", ")
}

/// The point of a cell. Its upper end is what the attack's success rate can be at most at the same
/// tail; it bounds this attack, not the mechanism.
fn point(cell: &Cell) -> Result<Point> {
    let tail = Level::new(cell.alpha)?.tail();
    let rate = binomial::upper_limit(cell.hits, cell.trials, tail);
    let upper = ((f64::from(cell.k) - 1.0) * rate.p / rate.q).ln().max(0.0);
    Ok(Point {
        nominal: cell.epsilon,
        lower: cell.empirical_epsilon,
        upper: upper.max(cell.empirical_epsilon),
        ceiling: cell.ceiling,
        verdict: Verdict::parse(&cell.verdict)?,
    })
}

/// What the caption says of a cell: its verdict, and what an attack goes by that learned.
fn said(cell: &Cell) -> impl Iterator<Item = String> {
    let signs = explanation::signs(cell, SIGNS);
    std::iter::once(explanation::with_verdict(cell)).chain(signs)
}

/// Signs in the caption.
const SIGNS: usize = 3;

/// Title, subtitle and units: what is the same in all cells is said once.
fn options(cells: &[Cell]) -> Options {
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
        common(|cell| cell.dataset.clone()),
        common(|cell| format!("{} neighbours", cell.neighbours)),
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
    let title = common(|cell| cell.mechanism.clone()).map_or_else(
        || "Empirical against nominal ε".into(),
        |m| format!("Empirical against nominal ε: {m}"),
    );
    let mut units: Vec<&str> = cells
        .iter()
        .filter_map(|cell| cell.epsilon_unit.as_deref())
        .collect();
    units.sort_unstable();
    units.dedup();
    let mut telling = explanation::telling(cells);
    telling.sort_by_key(|cell| cell.verdict != Verdict::Violation.name());
    Options {
        findings: telling.iter().flat_map(said).collect(),
        title,
        subtitle: subtitle.join(" · "),
        unit: units.join(" or "),
        confidence: 1.0 - first.alpha,
    }
}
