//! The mechanisms' claims, as dashed lines in the unit of the bounds.
//!
//! Claims are joined from point to point in the same way as the bounds ([`Axis::joined`]): a line of bounds is above
//! the claim only next to a point that is.

use plotters::style::RGBColor;

use super::axis::{Axis, number};
use super::canvas;
use super::series::Series;
use super::style::{REFERENCE, Style};

/// Narrower pieces of a line are not drawn.
const SHORTEST: f64 = 12.0;
/// Half the length of the dash for a claim at a single nominal ε.
const HALF_DASH: f64 = 15.0;
/// Claims whose relative difference is below this count as equal.
const SAME: f64 = 1e-9;
/// Claims that the legend lists; of the others only the number is shown.
const LISTED: usize = 4;
/// Claimants that the legend names in one entry.
const NAMED: usize = 3;

/// A claim, whoever makes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    shape: Shape,
    /// Who makes the claim.
    claimants: Vec<String>,
    /// The first series with this claim.
    series: usize,
    pub colour: RGBColor,
}

/// How a claim depends on the nominal ε.
#[derive(Debug, Clone, PartialEq)]
enum Shape {
    /// This multiple of the nominal ε, at these of its values.
    Times(f64, Vec<f64>),
    /// These claims at these nominal ε, ascending.
    Through(Vec<(f64, f64)>),
    /// A single claim, of a mechanism without a nominal ε.
    Level(f64),
}

/// The claims of all series; those that coincide are merged.
pub fn of(series: &[Series]) -> Vec<Claim> {
    let each = series.iter().enumerate();
    let mut shapes: Vec<(usize, Shape)> = each
        .flat_map(|(index, series)| shapes(series).into_iter().map(move |shape| (index, shape)))
        .collect();
    // Lines first: single points may be on them.
    shapes.sort_by_key(|(_, shape)| !matches!(shape, Shape::Times(..)));
    let mut claims: Vec<Claim> = Vec::new();
    for (index, shape) in shapes {
        let claimant = &series[index].claimant;
        match claims.iter_mut().find(|claim| claim.shape.holds(&shape)) {
            Some(claim) => {
                claim.shape.widen(shape);
                if !claim.claimants.contains(claimant) {
                    claim.claimants.push(claimant.clone());
                }
            }
            None => claims.push(Claim {
                shape,
                claimants: vec![claimant.clone()],
                series: index,
                colour: REFERENCE,
            }),
        }
    }
    // A single claim on the grid is grey; if there are several, each has the colour of one series that makes it.
    let levels = claims.iter().filter(|claim| claim.is_level()).count();
    let several = claims.len() - levels > 1;
    for claim in &mut claims {
        if several || claim.is_level() {
            claim.colour = Style::of(claim.series).edge;
        }
    }
    claims
}

/// The claims of a series.
fn shapes(series: &Series) -> Vec<Shape> {
    let claims = || {
        let points = series.points.iter();
        points.filter_map(|p| p.claim.map(|claim| (p.nominal, claim)))
    };
    let mut through: Vec<(f64, f64)> = claims().filter_map(|(x, y)| Some((x?, y))).collect();
    through.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    through.dedup();
    let mut levels: Vec<f64> = claims()
        .filter(|(x, _)| x.is_none())
        .map(|(_, y)| y)
        .collect();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let mut shapes: Vec<Shape> = levels.into_iter().map(Shape::Level).collect();
    if let Some(&(x, y)) = through.last() {
        let times = if x > 0.0 { y / x } else { 1.0 };
        let proportional = through.iter().all(|&(x, y)| same(y, times * x));
        // One point does not make a line, except for a claim that equals the nominal ε.
        shapes.push(if proportional && (through.len() > 1 || same(times, 1.0)) {
            Shape::Times(times, through.into_iter().map(|(x, _)| x).collect())
        } else {
            Shape::Through(through)
        });
    }
    shapes
}

fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= SAME * a.abs().max(b.abs())
}

impl Shape {
    /// Whether `other` lies on the line of this one.
    fn holds(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Times(a, _), Self::Times(b, _)) | (Self::Level(a), Self::Level(b)) => {
                same(*a, *b)
            }
            (Self::Times(times, _), Self::Through(points)) => {
                points.iter().all(|&(x, y)| same(y, times * x))
            }
            (Self::Through(a), Self::Through(b)) => a == b,
            _ => false,
        }
    }

    /// Extends this line to the nominal ε of `other`, which lies on it.
    fn widen(&mut self, other: Self) {
        if let Self::Times(_, nominal) = self {
            match other {
                Self::Times(_, more) => nominal.extend(more),
                Self::Through(points) => nominal.extend(points.into_iter().map(|(x, _)| x)),
                Self::Level(_) => {}
            }
            nominal.sort_by(f64::total_cmp);
            nominal.dedup();
        }
    }

    /// The claims at the nominal ε of the points.
    fn values(&self) -> Vec<f64> {
        match self {
            Self::Times(times, nominal) => nominal.iter().map(|x| times * x).collect(),
            Self::Through(points) => points.iter().map(|&(_, y)| y).collect(),
            Self::Level(value) => vec![*value],
        }
    }
}

impl Claim {
    /// The claims at the nominal ε of the points.
    pub fn values(&self) -> Vec<f64> {
        self.shape.values()
    }

    fn is_level(&self) -> bool {
        matches!(self.shape, Shape::Level(_))
    }

    /// The pieces of the line within the frame; if a piece would be too short to be seen, a dash at the claim.
    pub fn pieces(&self, x: &Axis, y: &Axis, (left, right): (f64, f64)) -> Vec<Vec<canvas::Point>> {
        let place = |&(nominal, claim): &(f64, f64)| (x.at(nominal), y.at(claim));
        let (points, ends): (Vec<_>, Vec<_>) = match &self.shape {
            Shape::Level(value) => {
                return clipped(&[(left, y.at(*value)), (right, y.at(*value))], y);
            }
            Shape::Through(points) => (points.clone(), Vec::new()),
            // Such a claim is also known at both ends of the axis.
            Shape::Times(times, nominal) => {
                let at = |&x: &f64| (x, times * x);
                let ends = [x.range().0, x.range().1];
                (
                    nominal.iter().map(at).collect(),
                    ends.iter().map(at).collect(),
                )
            }
        };
        // The 0 of a logarithmic axis is separate.
        let apart = |p: &&(f64, f64)| x.zero.is_some() && p.0 == 0.0;
        let mut line: Vec<canvas::Point> = points
            .iter()
            .filter(|p| !apart(p))
            .chain(&ends)
            .map(place)
            .collect();
        line.sort_by(|a, b| a.0.total_cmp(&b.0));
        line.dedup();
        let mut pieces = clipped(&x.joined(&line), y);
        for (at, height) in points.iter().map(place) {
            let shown =
                |piece: &Vec<canvas::Point>| piece[0].0 <= at && at <= piece[piece.len() - 1].0;
            if height >= y.at(y.range().1) && !pieces.iter().any(shown) {
                let ends = [at - HALF_DASH, at + HALF_DASH];
                pieces.push(ends.map(|end| (end.clamp(left, right), height)).to_vec());
            }
        }
        pieces
    }

    /// The legend's text: who claims what (`named`, unless all claim the same), and where the claim is if it is not in
    /// the frame.
    fn text(&self, named: bool, highest: f64, visible: bool) -> String {
        let values = self.values();
        let greatest = values.iter().copied().fold(0.0, f64::max);
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let what = match &self.shape {
            Shape::Times(times, _) if same(*times, 1.0) => " = nominal ε".to_owned(),
            Shape::Times(times, _) => format!(" = {} × nominal ε", number(*times)),
            Shape::Through(_) | Shape::Level(_) if least == greatest => {
                format!(" = {}", number(least))
            }
            Shape::Through(_) | Shape::Level(_) => {
                format!(" = {} to {}", number(least), number(greatest))
            }
        };
        let place = match (visible, greatest > highest) {
            (false, _) => ", beyond the frame",
            (true, true) => ", goes beyond the frame",
            (true, false) => "",
        };
        let who = if named { self.who() } else { String::new() };
        format!("claim{who}{what}{place}")
    }

    fn who(&self) -> String {
        let (shown, more) = self.claimants.split_at(self.claimants.len().min(NAMED));
        let more = match more.len() {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        format!(" of {}{more}", shown.join(", "))
    }
}

/// The legend's entries for `claims`, with their colour; without a colour if an entry only counts.
pub fn entries(
    claims: &[Claim],
    series: &[Series],
    x: &Axis,
    y: &Axis,
) -> Vec<(Option<RGBColor>, String)> {
    let all = |s: &Series| s.points.iter().all(|p| p.claim.is_some());
    let named = claims.len() > 1 || !series.iter().all(all);
    let listed = if claims.len() > LISTED {
        LISTED - 1
    } else {
        claims.len()
    };
    let mut entries: Vec<(Option<RGBColor>, String)> = claims[..listed]
        .iter()
        .map(|claim| {
            let visible = !claim.pieces(x, y, (0.0, 1000.0)).is_empty();
            let text = claim.text(named, y.range().1, visible);
            (Some(claim.colour), text)
        })
        .collect();
    if listed < claims.len() {
        let more = claims.len() - listed;
        entries.push((None, format!("… and {more} more claims")));
    }
    entries
}

/// The pieces of a line that are not above the axis, if they are wide enough to be seen.
fn clipped(line: &[canvas::Point], y: &Axis) -> Vec<Vec<canvas::Point>> {
    let top = y.at(y.range().1);
    let mut pieces: Vec<Vec<canvas::Point>> = Vec::new();
    for pair in line.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        if a.1 < top && b.1 < top {
            continue;
        }
        let crossing = || (a.0 + (b.0 - a.0) * (top - a.1) / (b.1 - a.1), top);
        let from = if a.1 < top { crossing() } else { a };
        let to = if b.1 < top { crossing() } else { b };
        match pieces.last_mut() {
            Some(piece) if piece.last() == Some(&from) => piece.push(to),
            _ => pieces.push(vec![from, to]),
        }
    }
    pieces.retain(|piece| piece[piece.len() - 1].0 - piece[0].0 >= SHORTEST);
    pieces
}
