//! Where everything goes: from the data to lines, markers and texts with their pixels.

use super::apart::{LEVEL_INDENT, move_apart, move_levels_apart};
use super::axis::{self, Axis, Tick};
use super::canvas;
use super::curve::{Curve, Level, Place};
use super::figure::{Options, Point, Series};
use super::font;
use super::labels::{self, Label};
use super::legend::{Legend, Sample};
use super::style::{AXIS_TITLE, FINDING_LINE, MARGIN, MUTED, SIZE, SMALL, SUBTITLE, Style, TITLE};
use teda_core::Verdict;

/// Greatest width of a label at the right edge.
const LABEL_LIMIT: f64 = 230.0;
/// The plot keeps at least this height, whatever the legend holds.
const LEAST_HEIGHT: f64 = 300.0;
/// Ceilings drawn one by one; of more, the lowest and the highest.
const CEILINGS: usize = 3;
/// Findings that are shown; of more, how many are not.
const FINDINGS: usize = 3;

/// Everything placed, ready to be drawn on any canvas.
pub struct Figure<'a> {
    pub options: &'a Options,
    pub title: Vec<String>,
    pub subtitle: Vec<String>,
    pub findings: Vec<String>,
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    pub x: Axis,
    pub x_ticks: Vec<Tick>,
    pub y_ticks: Vec<Tick>,
    pub y_title: Vec<String>,
    /// Whether any series has a nominal ε.
    pub has_grid: bool,
    pub curves: Vec<Curve>,
    /// Points without a nominal ε.
    pub levels: Vec<Level>,
    /// Heights of the ceilings.
    pub ceilings: Vec<f64>,
    pub diagonal: Vec<canvas::Point>,
    pub labels: Vec<Label>,
    pub legend: Legend,
}

impl<'a> Figure<'a> {
    /// Lays the picture out.
    pub fn new(series: &[Series], options: &'a Options) -> Self {
        let (width, height) = (f64::from(SIZE.0), f64::from(SIZE.1));
        let title = font::wrap(&options.title, TITLE, width - 2.0 * MARGIN, 2);
        let subtitle = font::wrap(&options.subtitle, SUBTITLE, width - 2.0 * MARGIN, 2);
        let findings = findings(&options.findings, width - 2.0 * MARGIN);
        let top = MARGIN
            + title.len() as f64 * TITLE * 1.25
            + subtitle.len() as f64 * SUBTITLE * 1.35
            + findings.len() as f64 * FINDING_LINE
            + 18.0;
        let points = || series.iter().flat_map(|s| &s.points);
        let grid: Vec<f64> = points().filter_map(|p| p.nominal).collect();
        let range = vertical_range(points());
        let ceilings = shown_ceilings(points());

        // The legend says whether the diagonal is in view, and its height decides where the plot
        // ends; whether the diagonal is in view depends on values alone, so any pixels do for it.
        let x = Axis::nominal(&grid, (0.0, 1000.0));
        let in_view =
            !grid.is_empty() && !diagonal(&x, &Axis::linear(range, (500.0, 0.0))).is_empty();
        let label_heights = |bottom: f64| -> Vec<Label> {
            let y = Axis::linear(range, (bottom, top));
            edge_labels(series, &ceilings, &y)
        };
        // Labels at the edge if they have room there, and in the legend if not.
        let rough = label_heights(height - 200.0);
        let at_edge = labels::height(&rough) <= LEAST_HEIGHT;
        let entries = entries(
            series,
            !grid.is_empty(),
            in_view,
            !at_edge,
            !ceilings.is_empty(),
        );
        let below = 62.0 + MARGIN;
        let room = height - top - below - LEAST_HEIGHT;
        let legend = Legend::new(&entries, width - 2.0 * MARGIN, room);
        let bottom = height - below - legend.height();

        let y = Axis::linear(range, (bottom, top));
        let y_title = y_title(options, bottom - top);
        let y_ticks = y.round_ticks();
        let tick_width = y_ticks.iter().filter_map(|tick| tick.label.as_deref());
        let tick_width = tick_width
            .map(|text| font::width(text, SMALL))
            .fold(0.0, f64::max);
        let title_width = y_title.len() as f64 * AXIS_TITLE * 1.2;
        let left = MARGIN + title_width + 10.0 + tick_width + 10.0;
        let labels = if at_edge {
            label_heights(bottom)
        } else {
            Vec::new()
        };
        let right = width - MARGIN - labels::width(&labels).max(12.0);
        let x = Axis::nominal(&grid, (left, right));
        let diagonal = if grid.is_empty() {
            Vec::new()
        } else {
            diagonal(&x, &y)
        };

        let (mut curves, mut levels) = places(series, &x, &y, right);
        move_apart(&mut curves, (left, right));
        move_levels_apart(&mut levels);
        Self {
            options,
            title,
            subtitle,
            findings,
            left,
            right,
            top,
            bottom,
            x_ticks: x.grid_ticks(&grid),
            y_ticks,
            y_title,
            has_grid: !grid.is_empty(),
            ceilings: ceilings.iter().map(|&(value, _)| y.at(value)).collect(),
            x,
            curves,
            levels,
            diagonal,
            labels,
            legend,
        }
    }
}

/// The first findings in lines of at most `width`, two a sentence.
fn findings(sentences: &[String], width: f64) -> Vec<String> {
    let (shown, more) = sentences.split_at(sentences.len().min(FINDINGS));
    let mut lines: Vec<String> = shown
        .iter()
        .flat_map(|sentence| font::wrap(sentence, SMALL, width, 2))
        .collect();
    if !more.is_empty() {
        lines.push(format!("… and {} more in the table", more.len()));
    }
    lines
}

/// The title of the y axis, in two lines if one is longer than the axis.
fn y_title(options: &Options, length: f64) -> Vec<String> {
    let percent = axis::number(options.confidence * 100.0);
    let (what, how) = (
        "empirical ε",
        format!("(lower bound, {percent} % confidence)"),
    );
    let whole = format!("{what} {how}");
    if font::width(&whole, AXIS_TITLE) <= length {
        vec![whole]
    } else {
        vec![what.to_owned(), how]
    }
}

/// The y values of the plot: all bounds and ceilings with some space above, and upper limits as far
/// as they do not press the rest together.
fn vertical_range<'a>(points: impl Iterator<Item = &'a Point> + Clone) -> (f64, f64) {
    let ceilings = points.clone().map(|p| p.ceiling).filter(|c| c.is_finite());
    let bounds = points.clone().map(|p| p.lower);
    let least = bounds.clone().fold(0.0, f64::min);
    let greatest = bounds.chain(ceilings).fold(0.0, f64::max);
    let uppers = points
        .map(|p| p.upper)
        .filter(|&u| greatest == 0.0 && u.is_finite() || u <= 1.25 * greatest);
    let held = uppers.fold(greatest, f64::max);
    let to = if held > 0.0 { held * 1.06 } else { 1.0 };
    (least * 1.06, to)
}

/// The ceilings to draw and their names, ascending.
fn shown_ceilings<'a>(points: impl Iterator<Item = &'a Point>) -> Vec<(f64, String)> {
    let mut values: Vec<f64> = points
        .map(|p| p.ceiling)
        .filter(|c| c.is_finite() && *c > 0.0)
        .collect();
    values.sort_by(f64::total_cmp);
    values.dedup_by_key(|value| axis::number(*value));
    let name =
        |value: &f64, which: &str| (*value, format!("{which}ceiling {}", axis::number(*value)));
    match values.as_slice() {
        [lowest, .., highest] if values.len() > CEILINGS => {
            vec![name(lowest, "lowest "), name(highest, "highest ")]
        }
        few => few.iter().map(|value| name(value, "")).collect(),
    }
}

/// The labels beside the right edge: ceilings, and series without a nominal ε.
fn edge_labels(series: &[Series], ceilings: &[(f64, String)], y: &Axis) -> Vec<Label> {
    let of_ceilings = ceilings
        .iter()
        .map(|(value, text)| Label::new(text, MUTED, y.at(*value), LABEL_LIMIT));
    let of_levels = series.iter().enumerate().flat_map(|(i, series)| {
        let levels = series.points.iter().filter(|p| p.nominal.is_none());
        levels
            .map(move |p| Label::new(&series.label, Style::of(i).edge, y.at(p.lower), LABEL_LIMIT))
    });
    of_ceilings.chain(of_levels).collect()
}

/// What the legend explains.
fn entries(
    series: &[Series],
    has_grid: bool,
    diagonal_in_view: bool,
    levels_too: bool,
    has_ceilings: bool,
) -> Vec<(Sample, String)> {
    let listed = series.iter().enumerate().filter(|(_, series)| {
        !series.points.is_empty()
            && (levels_too || series.points.iter().any(|p| p.nominal.is_some()))
    });
    let mut entries: Vec<(Sample, String)> = listed
        .map(|(i, series)| (Sample::Series(Style::of(i)), series.label.clone()))
        .collect();
    if has_grid {
        let aside = if diagonal_in_view {
            ""
        } else {
            " (out of view)"
        };
        entries.push((Sample::Diagonal, format!("empirical = nominal{aside}")));
    }
    if has_ceilings {
        entries.push((
            Sample::Ceiling,
            "ceiling: the most these trials can show".to_owned(),
        ));
    }
    let any = |verdict| {
        series
            .iter()
            .flat_map(|s| &s.points)
            .any(|p| p.verdict == verdict)
    };
    if any(Verdict::Violation) {
        entries.push((
            Sample::Violation,
            "violation: bound above the claim".to_owned(),
        ));
    }
    if any(Verdict::Saturated) {
        entries.push((
            Sample::Saturated,
            "hollow: ceiling below the claim".to_owned(),
        ));
    }
    if any(Verdict::Inconclusive) {
        entries.push((
            Sample::Saturated,
            "hollow: inconclusive, most answers are missing".to_owned(),
        ));
    }
    if entries.is_empty() && series.iter().all(|s| s.points.is_empty()) {
        entries.push((Sample::Note, "no cells".to_owned()));
    }
    entries
}

/// The visible part of the line on which empirical and nominal ε are equal, if it is long enough
/// to be seen; a curve on a logarithmic axis.
fn diagonal(x: &Axis, y: &Axis) -> Vec<canvas::Point> {
    const PIECES: u32 = 200;
    let (low, high) = (x.range().0.max(y.range().0), x.range().1.min(y.range().1));
    if low >= high || x.at(high) - x.at(low) < 12.0 {
        return Vec::new();
    }
    let (start, end) = (x.at(low), x.at(high));
    (0..=PIECES)
        .map(|i| {
            let at = start + (end - start) * f64::from(i) / f64::from(PIECES);
            (at, y.at(x.value(at)))
        })
        .collect()
}

/// Curves with their points from left to right, and single levels.
fn places(series: &[Series], x: &Axis, y: &Axis, right: f64) -> (Vec<Curve>, Vec<Level>) {
    let place = |point: &Point, x: f64| Place {
        x,
        lower: y.at(point.lower),
        upper: y.at(point.upper.min(y.range().1)),
        cut: point.upper > y.range().1,
        saturated: matches!(point.verdict, Verdict::Saturated | Verdict::Inconclusive),
        violation: point.verdict == Verdict::Violation,
    };
    let mut curves = Vec::new();
    let mut levels = Vec::new();
    for (i, series) in series.iter().enumerate() {
        let mut curve = Vec::new();
        for point in &series.points {
            match point.nominal {
                Some(nominal) => curve.push(place(point, x.at(nominal))),
                None => levels.push((Style::of(i), place(point, right - LEVEL_INDENT))),
            }
        }
        curve.sort_by(|a, b| a.x.total_cmp(&b.x));
        if !curve.is_empty() {
            curves.push((Style::of(i), curve));
        }
    }
    (curves, levels)
}
