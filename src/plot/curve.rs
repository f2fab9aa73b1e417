//! One series: its line, band, markers and rings.

use super::canvas::{Canvas, Point, dashed};
use super::style::{ALARM, BAND, LINE, MARKER, Style, WHITE, regular};
use teda_core::Result;

/// Radius of the ring around a violation.
const RING: f64 = 12.0;
/// Half the width of the cap of an interval.
const CAP: f64 = 5.0;

/// A point of a series on the sheet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Place {
    pub x: f64,
    /// Height of the lower bound, which the line goes through.
    pub lower: f64,
    /// Height of the upper limit, cut at the plot's edge.
    pub upper: f64,
    /// Whether it was cut there.
    pub cut: bool,
    /// Drawn hollow: no bound could have exceeded the claim.
    pub saturated: bool,
    /// Drawn with a ring: the bound exceeds the claim.
    pub violation: bool,
}

/// A line with its markers, from left to right.
pub type Curve = (Style, Vec<Place>);
/// A horizontal line with its one marker.
pub type Level = (Style, Place);

/// The band from the lower bounds to the upper limits, or the interval of a lone point.
pub fn band(canvas: &mut dyn Canvas, places: &[Place], style: &Style) -> Result<()> {
    if let [place] = places {
        return interval(canvas, place, style);
    }
    let lower = places.iter().map(|p| (p.x, p.lower));
    let upper = places.iter().rev().map(|p| (p.x, p.upper));
    let corners: Vec<Point> = lower.chain(upper).collect();
    canvas.fill(&corners, style.colour, BAND)
}

/// The interval of one point.
fn interval(canvas: &mut dyn Canvas, place: &Place, style: &Style) -> Result<()> {
    let ends = [(place.x, place.lower), (place.x, place.upper)];
    canvas.line(&ends, style.edge, 1.4)?;
    // An interval that goes on beyond the plot has no end to mark.
    if place.cut {
        return Ok(());
    }
    let (x, y) = ends[1];
    canvas.line(&[(x - CAP, y), (x + CAP, y)], style.edge, 1.4)
}

/// The line through `points`.
pub fn line(canvas: &mut dyn Canvas, points: &[Point], style: &Style) -> Result<()> {
    if style.pale {
        dashed(canvas, points, style.edge, LINE + 1.6, style.dash)?;
    }
    dashed(canvas, points, style.colour, LINE, style.dash)
}

/// The marker at a point, hollow or filled.
///
/// Drawn as shapes one on the other, each a little smaller than the one below, for plotters leaves
/// holes where the stroke of a closed outline meets itself.
pub fn marker(canvas: &mut dyn Canvas, at: Point, style: &Style, hollow: bool) -> Result<()> {
    let (edge, inside) = match hollow {
        true if style.pale => (style.edge, WHITE),
        true => (style.colour, WHITE),
        false => (style.edge, style.colour),
    };
    let inner = MARKER - if hollow { 2.4 } else { 1.0 };
    // The white rim sets markers off from each other and from lines.
    for (radius, colour) in [(MARKER + 2.0, WHITE), (MARKER, edge), (inner, inside)] {
        let corners = style.marker.outline(radius);
        let corners: Vec<Point> = corners.iter().map(|(x, y)| (at.0 + x, at.1 + y)).collect();
        canvas.fill(&corners, colour, 1.0)?;
    }
    Ok(())
}

/// All markers of a series.
pub fn markers(canvas: &mut dyn Canvas, places: &[Place], style: &Style) -> Result<()> {
    places
        .iter()
        .try_for_each(|p| marker(canvas, (p.x, p.lower), style, p.saturated))
}

/// The rings of a series' violations.
pub fn rings(canvas: &mut dyn Canvas, places: &[Place]) -> Result<()> {
    places
        .iter()
        .filter(|p| p.violation)
        .try_for_each(|p| ring(canvas, (p.x, p.lower)))
}

/// The ring around a violation.
pub fn ring(canvas: &mut dyn Canvas, (x, y): Point) -> Result<()> {
    let circle = regular(64, RING);
    let around = circle.iter().chain(circle.first());
    let around: Vec<Point> = around.map(|(dx, dy)| (x + dx, y + dy)).collect();
    canvas.line(&around, WHITE, 5.0)?;
    canvas.line(&around, ALARM, 2.6)
}
