//! Places everything: from the data to lines, markers and texts with their pixels.

use super::axis::{self, Axis, Tick};
use super::canvas;
use super::claims::{self, Claim};
use super::curve::{Curve, Level, Place};
use super::font;
use super::labels::{self, Label};
use super::legend::{Legend, Sample};
use super::nested;
use super::series::{Options, Point, Series};
use super::sign::{FAILED, Sign};
use super::style::{
    AXIS_TITLE, FINDING_LINE, MARGIN, MARKER, MUTED, SIZE, SMALL, SUBTITLE, Style, TITLE,
};
use plotters::style::RGBColor;

/// Greatest width of a label at the right edge.
const LABEL_LIMIT: f64 = 230.0;
/// The plot keeps at least this height, whatever the legend contains.
const LEAST_HEIGHT: f64 = 300.0;
/// Most ceilings drawn individually; with more, only the lowest and the highest are drawn.
const CEILINGS: usize = 3;
/// How far below the x axis a marker may reach.
const CLEAR: f64 = 11.5;
/// Lines for the findings; of those that do not fit, the number is shown.
const FINDING_LINES: usize = 6;
/// Most lines in one finding.
const LINES: usize = 3;
/// From the right edge of the plot to the marker of a level.
const LEVEL_INDENT: f64 = 16.0;

/// Everything in its place, ready to be drawn on any canvas.
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
    /// The claims: each one's colour and its visible pieces.
    pub claims: Vec<(RGBColor, Vec<Vec<canvas::Point>>)>,
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
        let claims = claims::of(series);
        let range = vertical_range(points(), &claims);
        let ceilings = shown_ceilings(points());

        // The legend says which claims are in view, and its height decides where the plot ends. Which claims are in
        // view depends on values, so pixels of about the plot's size are enough for that.
        let x = Axis::nominal(&grid, (0.0, 1000.0));
        let claim_entries =
            claims::entries(&claims, series, &x, &Axis::linear(range, (500.0, 0.0)));
        let edge_labels = |bottom: f64| -> Vec<Label> {
            edge_labels(series, &ceilings, &Axis::linear(range, (bottom, top)))
        };
        // Labels go at the edge if they have room there, otherwise in the legend.
        let rough = edge_labels(height - 200.0);
        let at_edge = labels::height(&rough) <= LEAST_HEIGHT;
        let signs = signs(series, claim_entries, !ceilings.is_empty());
        let below = 62.0 + MARGIN;
        let room = height - top - below - LEAST_HEIGHT;
        let legend = Legend::new(
            &listed(series, !at_edge),
            &signs,
            width - 2.0 * MARGIN,
            room,
        );
        let bottom = height - below - legend.height();

        let y_title = y_title(options, bottom - top);
        let label_width = if at_edge { labels::width(&rough) } else { 0.0 };
        let right = width - MARGIN - label_width.max(12.0);
        let sides = |y: &Axis| {
            let left = left_edge(&ticks(y, options), &y_title);
            (left, Axis::nominal(&grid, (left, right)))
        };
        // Large markers at the axis keep clear of its ticks: the lowest value is placed higher.
        let y = Axis::linear(range, (bottom, top));
        let lowest = lowest(&places(series, &sides(&y).1, &y, right));
        let y = Axis::linear(range, (bottom - (lowest - bottom - CLEAR).max(0.0), top));
        let (left, x) = sides(&y);
        let labels = if at_edge {
            edge_labels(y.at(range.0))
        } else {
            Vec::new()
        };
        let claims = claims.iter().map(|claim| {
            let pieces = claim.pieces(&x, &y, (left, right));
            (claim.colour, pieces)
        });
        let claims = claims.collect();
        let (curves, levels) = places(series, &x, &y, right);
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
            y_ticks: ticks(&y, options),
            y_title,
            has_grid: !grid.is_empty(),
            ceilings: ceilings.iter().map(|&(value, _)| y.at(value)).collect(),
            x,
            curves,
            levels,
            claims,
            labels,
            legend,
        }
    }
}

/// The ticks of the y axis.
fn ticks(y: &Axis, options: &Options) -> Vec<Tick> {
    match options.success {
        Some(k) => y.success_ticks(k),
        None => y.round_ticks(),
    }
}

/// Where the plot begins, right of the y axis's title and labels.
fn left_edge(ticks: &[Tick], title: &[String]) -> f64 {
    let widths = ticks
        .iter()
        .filter_map(|tick| tick.label.as_deref())
        .map(|text| font::width(text, SMALL));
    let title_width = title.len() as f64 * AXIS_TITLE * 1.2;
    MARGIN + title_width + 10.0 + widths.fold(0.0, f64::max) + 10.0
}

/// How far down the markers reach.
fn lowest((curves, levels): &(Vec<Curve>, Vec<Level>)) -> f64 {
    let on_curves = curves.iter().flat_map(|(_, places)| places);
    let all = on_curves.chain(levels.iter().map(|(_, place)| place));
    all.map(|place| place.lower + place.reach())
        .fold(0.0, f64::max)
}

/// As many findings as fit, whole if possible, in lines of at most `width`.
fn findings(sentences: &[String], width: f64) -> Vec<String> {
    let mut lines = Vec::new();
    for (shown, sentence) in sentences.iter().enumerate() {
        let wrapped = font::wrap(sentence, SMALL, width, LINES);
        let left = sentences.len() - shown;
        // One line is kept for saying that there are more, unless this is the last finding.
        let room = FINDING_LINES - usize::from(left > 1);
        if lines.len() + wrapped.len() > room {
            lines.push(format!("… and {left} more: see the table"));
            break;
        }
        lines.extend(wrapped);
    }
    lines
}

/// The title of the y axis, in two lines if a single line is longer than the axis.
fn y_title(options: &Options, length: f64) -> Vec<String> {
    let percent = axis::number(options.confidence * 100.0);
    let what = match options.success {
        Some(k) => format!("empirical ε · success among {k}"),
        None => "empirical ε".to_owned(),
    };
    let how = format!("(lower bound, {percent} % confidence)");
    let whole = format!("{what} {how}");
    if font::width(&whole, AXIS_TITLE) <= length {
        vec![whole]
    } else {
        vec![what, how]
    }
}

/// The y values of the plot: all bounds and ceilings with some space above, and upper limits and claims as far as they
/// do not squeeze the rest.
fn vertical_range<'a>(
    points: impl Iterator<Item = &'a Point> + Clone,
    claims: &[Claim],
) -> (f64, f64) {
    let ceilings = points.clone().map(|p| p.ceiling).filter(|c| c.is_finite());
    let bounds = points.clone().map(|p| p.lower);
    let least = bounds.clone().fold(0.0, f64::min);
    let greatest = bounds.chain(ceilings).fold(0.0, f64::max);
    let uppers = points
        .map(|p| p.upper)
        .filter(|&u| greatest == 0.0 && u.is_finite() || u <= 1.25 * greatest);
    let claims = claims.iter().flat_map(Claim::values);
    let claims = claims.filter(|&claim| claim <= 1.25 * greatest);
    let held = uppers.chain(claims).fold(greatest, f64::max);
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

/// The series that the legend lists: those on the grid, and also the others if no label names them.
fn listed(series: &[Series], levels_too: bool) -> Vec<(Sample, String)> {
    let shown = series.iter().enumerate().filter(|(_, series)| {
        !series.points.is_empty()
            && (levels_too || series.points.iter().any(|p| p.nominal.is_some()))
    });
    shown
        .map(|(i, series)| (Sample::Series(Style::of(i)), series.label.clone()))
        .collect()
}

/// The legend's entries about all series: claims, ceilings, the verdicts that occur, and failures.
fn signs(
    series: &[Series],
    claims: Vec<(Option<RGBColor>, String)>,
    has_ceilings: bool,
) -> Vec<(Sample, String)> {
    let sample = |colour: Option<RGBColor>| colour.map_or(Sample::Note, Sample::Claim);
    let mut entries: Vec<(Sample, String)> = claims
        .into_iter()
        .map(|(colour, text)| (sample(colour), text))
        .collect();
    if has_ceilings {
        let text = "ceiling: the most these trials can show";
        entries.push((Sample::Ceiling, text.to_owned()));
    }
    let mut verdicts: Vec<Sign> = Vec::new();
    for point in series.iter().flat_map(|s| &s.points) {
        let sign = Sign::of(point.verdict);
        if !verdicts.contains(&sign) {
            verdicts.push(sign);
        }
    }
    entries.extend(
        verdicts
            .into_iter()
            .map(|sign| (Sample::Verdict(sign), sign.text.to_owned())),
    );
    if series.iter().flat_map(|s| &s.points).any(|p| p.failed) {
        entries.push((Sample::Failed, FAILED.to_owned()));
    }
    if series.iter().all(|s| s.points.is_empty()) {
        entries.push((Sample::Note, "no cells".to_owned()));
    }
    entries
}

/// Curves with their points from left to right, and single levels; markers have their radii.
fn places(series: &[Series], x: &Axis, y: &Axis, right: f64) -> (Vec<Curve>, Vec<Level>) {
    let place = |point: &Point, x: f64| Place {
        x,
        lower: y.at(point.lower),
        upper: y.at(point.upper.min(y.range().1)),
        cut: point.upper > y.range().1,
        sign: Sign::of(point.verdict),
        failed: point.failed,
        radius: MARKER,
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
    let on_levels = levels.iter_mut().map(|(_, place)| place);
    let on_curves = curves.iter_mut().flat_map(|(_, places)| places);
    nested::nest(on_levels.chain(on_curves).collect());
    (curves, levels)
}
