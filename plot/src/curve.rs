//! One series: its line, band, markers and rings.

use super::axis::Axis;
use super::canvas::{Canvas, Point, dashed};
use super::sign::Sign;
use super::style::{ALARM, BAND, LINE, MUTED, Style, WHITE};
use plotters::style::RGBColor;
use teda_core::Result;

/// From a marker to the middle of a ring around it, and from one ring to the next.
const RING_GAP: f64 = 5.4;
/// Half the width of a ring.
const HALF_RING: f64 = 1.3;
/// Pieces of a broken ring.
const RING_PIECES: u32 = 8;
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
    /// What the marker says of the verdict.
    pub sign: Sign,
    /// Drawn with a broken ring: more than 1 % of the trials failed.
    pub failed: bool,
    /// Radius of the marker.
    pub radius: f64,
}

impl Place {
    /// Radii of the ring of a violation and of the broken one of failures, where they are.
    fn rings(&self) -> (Option<f64>, Option<f64>) {
        let inner = self.radius + RING_GAP;
        match (self.sign.ring, self.failed) {
            (true, true) => (Some(inner), Some(inner + RING_GAP)),
            (ring, failed) => (ring.then_some(inner), failed.then_some(inner)),
        }
    }

    /// The radius of all that is drawn of the marker.
    pub fn reach(&self) -> f64 {
        let (inner, outer) = self.rings();
        outer.or(inner).map_or(self.radius, |ring| ring + HALF_RING)
    }
}

/// A line with its markers, from left to right.
pub type Curve = (Style, Vec<Place>);
/// A horizontal line with its one marker.
pub type Level = (Style, Place);

/// The band from the lower bounds to the upper limits, or the interval of a lone point.
pub fn band(canvas: &mut dyn Canvas, places: &[Place], style: &Style, x: &Axis) -> Result<()> {
    if let [place] = places {
        return interval(canvas, place, style);
    }
    let edge = |height: fn(&Place) -> f64| {
        let points: Vec<Point> = places.iter().map(|p| (p.x, height(p))).collect();
        x.joined(&points)
    };
    let (mut corners, upper) = (edge(|p| p.lower), edge(|p| p.upper));
    corners.extend(upper.into_iter().rev());
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

/// The marker of a point with its rings.
///
/// Drawn as shapes one on the other, each a little smaller than the one below, for plotters leaves
/// holes where the stroke of a closed outline meets itself.
pub fn marker(canvas: &mut dyn Canvas, place: &Place, style: &Style) -> Result<()> {
    let at = (place.x, place.lower);
    let Sign { core, tint, .. } = place.sign;
    // A marker that is not filled shows its colour at its edge, where that is not too pale.
    let (edge, width) = match core < 1.0 {
        true if style.pale => (style.edge, 2.4),
        true => (style.colour, 2.4),
        false => (style.edge, 1.0),
    };
    let inner = place.radius - width;
    // The white rim sets markers off from each other and from lines.
    let mut shapes = vec![
        (place.radius + 2.0, WHITE),
        (place.radius, edge),
        (inner, mixed(style.colour, tint)),
    ];
    if core > 0.0 {
        shapes.push((inner * core, style.colour));
    }
    for (radius, colour) in shapes {
        let corners = style.marker.outline(radius);
        let corners: Vec<Point> = corners.iter().map(|(x, y)| (at.0 + x, at.1 + y)).collect();
        canvas.fill(&corners, colour, 1.0)?;
    }
    rings(canvas, place)
}

/// The rings of a point.
pub fn rings(canvas: &mut dyn Canvas, place: &Place) -> Result<()> {
    let at = (place.x, place.lower);
    let (violation, failed) = place.rings();
    if let Some(radius) = violation {
        let around = arc(at, radius, (0.0, 1.0));
        canvas.line(&around, WHITE, 5.0)?;
        canvas.line(&around, ALARM, 2.0 * HALF_RING)?;
    }
    if let Some(radius) = failed {
        for piece in 0..RING_PIECES {
            let start = f64::from(piece) / f64::from(RING_PIECES);
            let piece = arc(at, radius, (start, start + 0.6 / f64::from(RING_PIECES)));
            canvas.line(&piece, WHITE, 5.0)?;
            canvas.line(&piece, MUTED, 2.0 * HALF_RING)?;
        }
    }
    Ok(())
}

/// A part of a circle, from and to these shares of a full turn.
fn arc((x, y): Point, radius: f64, (from, to): (f64, f64)) -> Vec<Point> {
    let pieces = (64.0 * (to - from)).ceil() as u32;
    (0..=pieces)
        .map(|i| {
            let share = from + (to - from) * f64::from(i) / f64::from(pieces);
            let angle = share * std::f64::consts::TAU;
            (x + angle.sin() * radius, y - angle.cos() * radius)
        })
        .collect()
}

/// `colour` on white at this strength.
fn mixed(colour: RGBColor, strength: f64) -> RGBColor {
    let mix = |channel: u8| (255.0 - (255.0 - f64::from(channel)) * strength).round() as u8;
    RGBColor(mix(colour.0), mix(colour.1), mix(colour.2))
}
