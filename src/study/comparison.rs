//! What a statement says of two points, or of one, and when that is established or contradicted.

use super::interval::Spread;
use super::point::{Coordinate, Point};

/// Two points, or one and a limit, and what is said of them.
pub struct Comparison<'a> {
    /// What something is said of.
    pub left: &'a Point,
    /// What it is compared with, unless that is a limit.
    pub right: Option<&'a Point>,
    /// What is said.
    pub kind: Kind,
}

/// What is said of points.
pub enum Kind {
    /// left ≤ limit.
    AtMost(f64),
    /// left ≥ limit.
    AtLeast(f64),
    /// left > right, and not by less than `margin` if it is to be contradicted.
    Greater {
        /// The least difference that would be called one.
        margin: f64,
    },
    /// |left − right| ≤ margin.
    Within {
        /// The greatest difference that would be called none.
        margin: f64,
    },
    /// left ≥ right − margin.
    NotBelow {
        /// The least difference that would be called one.
        margin: f64,
    },
    /// left − right has the sign of the difference of two others.
    SameSign {
        /// These.
        others: [Spread; 2],
    },
}

/// Limits of a − b, each wrong with probability `tail` at most.
fn difference(a: &Spread, b: &Spread, tail: f64) -> (f64, f64) {
    let ((a_low, a_high), (b_low, b_high)) = (a.limits(tail / 2.0), b.limits(tail / 2.0));
    (a_low - b_high, a_high - b_low)
}

impl Comparison<'_> {
    /// Limits of what is compared: a difference, or the left number itself.
    fn limits(&self, tail: f64) -> (f64, f64) {
        match self.right {
            Some(right) => difference(&self.left.spread, &right.spread, tail),
            None => self.left.spread.limits(tail),
        }
    }

    /// Whether what is said is established: if it is false, with probability `level` at most.
    pub fn is_established(&self, level: f64) -> bool {
        let (low, high) = self.limits(level);
        match &self.kind {
            Kind::AtMost(limit) => high <= *limit,
            Kind::AtLeast(limit) => low >= *limit,
            Kind::Greater { .. } => low > 0.0,
            // Each side is a test of its own, and both must be passed.
            Kind::Within { margin } => low >= -margin && high <= *margin,
            Kind::NotBelow { margin } => low >= -margin,
            Kind::SameSign { others: [a, b] } => {
                let (other_low, other_high) = difference(a, b, level);
                (low > 0.0 && other_low > 0.0) || (high < 0.0 && other_high < 0.0)
            }
        }
    }

    /// Whether it is contradicted: if it is true, with probability `level` at most.
    pub fn is_contradicted(&self, level: f64) -> bool {
        let (low, high) = self.limits(level);
        match &self.kind {
            Kind::AtMost(limit) => low > *limit,
            Kind::AtLeast(limit) => high < *limit,
            Kind::Greater { margin } => high < *margin && low <= 0.0,
            // Either side contradicts it.
            Kind::Within { margin } => {
                let (low, high) = self.limits(level / 2.0);
                low > *margin || high < -margin
            }
            Kind::NotBelow { margin } => high < -margin,
            Kind::SameSign { others: [a, b] } => {
                let (low, high) = self.limits(level / 2.0);
                let (other_low, other_high) = difference(a, b, level / 2.0);
                (low > 0.0 && other_high < 0.0) || (high < 0.0 && other_low > 0.0)
            }
        }
    }

    /// What is said, in words and numbers, without coordinates that are the same everywhere.
    pub fn told(&self, shared: &[Coordinate]) -> String {
        let number = |point: &Point| {
            point
                .value
                .map_or("∞".to_owned(), |value| format!("{value:.3}"))
        };
        let left = format!("{} ({})", number(self.left), self.left.place(shared));
        match (&self.kind, self.right) {
            (Kind::AtMost(limit), _) => format!("{left} at most {limit}"),
            (Kind::AtLeast(limit), _) => format!("{left} at least {limit}"),
            (kind, Some(right)) => {
                let right_place = differing(self.left, right);
                let right = format!("{} ({right_place})", number(right));
                match kind {
                    Kind::Greater { margin } => format!("{left} above {right} by {margin}"),
                    Kind::Within { margin } => format!("{left} within {margin} of {right}"),
                    Kind::NotBelow { margin } => format!("{left} not below {right} by {margin}"),
                    _ => format!("{left} beside {right}, in the same order elsewhere"),
                }
            }
            (_, None) => left,
        }
    }
}

/// Where a second point stands, as far as it stands elsewhere than the first.
fn differing(first: &Point, second: &Point) -> String {
    let all = second
        .at
        .iter()
        .filter(|(at, text)| first.text(**at) != text.as_str());
    all.map(|(_, text)| text.clone())
        .collect::<Vec<_>>()
        .join(", ")
}
