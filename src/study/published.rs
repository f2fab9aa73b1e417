//! Numbers that a paper prints, beside those that were measured.

use serde::{Deserialize, Serialize};
use teda_core::{Error, Result};

use super::point::{Coordinate, Point, Where};

/// How a published number is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Known {
    /// Printed in a table or the text.
    Printed,
    /// Read off a figure, good to about ±0.01 of its scale.
    ReadOff,
    /// In the history of the authors' repository, not in the paper.
    Repository,
    /// Computed from what the paper prints.
    Derived,
}

impl Known {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Printed => "printed",
            Self::ReadOff => "read off the figure",
            Self::Repository => "authors' repository",
            Self::Derived => "derived",
        }
    }
}

/// A row of published numbers along one coordinate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The table or figure.
    pub place: String,
    /// How its numbers are known.
    pub known: Known,
    /// What the row is called in the paper.
    pub row: String,
    /// The points that measure the same.
    #[serde(rename = "where")]
    pub about: Where,
    /// The coordinate along which the numbers go.
    #[serde(default = "epsilon")]
    pub along: Coordinate,
    /// Their texts at it.
    pub at: Vec<super::point::Text>,
    /// The numbers, as published.
    pub values: Vec<f64>,
    /// What a published number is divided by to be on the measured scale: 100 for percent.
    #[serde(default = "one")]
    pub scale: f64,
}

fn epsilon() -> Coordinate {
    Coordinate::Epsilon
}

fn one() -> f64 {
    1.0
}

/// One published number and its measured counterpart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Beside {
    /// The table or figure.
    pub place: String,
    /// How the published number is known.
    pub known: Known,
    /// What the row is called in the paper.
    pub row: String,
    /// The coordinate along which the row goes, and where on it this number is.
    pub along: (Coordinate, String),
    /// As published, on the measured scale.
    pub published: f64,
    /// As measured here; missing if it was not.
    pub measured: Option<f64>,
    /// The confidence interval of the measured number.
    pub interval: Option<(f64, f64)>,
    /// Whether most of its answers are missing, so that coins were counted.
    #[serde(default)]
    pub unanswered: bool,
}

impl Published {
    /// Refuses a row whose numbers have no places.
    ///
    /// # Errors
    /// Usage.
    pub fn check(&self) -> Result<()> {
        if self.at.len() == self.values.len() && self.scale > 0.0 {
            return Ok(());
        }
        Err(Error::usage(format!(
            "published '{}' of {}: {} values at {} places, and a scale of {}: each value has a place, and the scale is above 0",
            self.row,
            self.place,
            self.values.len(),
            self.at.len(),
            self.scale
        )))
    }

    /// Its numbers beside the points that measure the same.
    ///
    /// # Errors
    /// Usage, if several points do.
    pub fn beside(&self, points: &[Point]) -> Result<Vec<Beside>> {
        let places = self.at.iter().map(super::point::Text::shown);
        let one = |(place, value): (String, &f64)| {
            let found: Vec<&Point> = points
                .iter()
                .filter(|p| self.about.holds(p) && p.text(self.along) == place)
                .collect();
            if let [first, second, ..] = found[..] {
                return Err(Error::usage(format!(
                    "published '{}' of {}: at {place} stand ({}) and ({}): say in `where` which is meant",
                    self.row,
                    self.place,
                    first.place(&[]),
                    second.place(&[])
                )));
            }
            let point = found.first();
            Ok(Beside {
                place: self.place.clone(),
                known: self.known,
                row: self.row.clone(),
                along: (self.along, place),
                published: value / self.scale,
                measured: point.and_then(|point| point.value),
                interval: point.and_then(|point| point.interval),
                unanswered: point.is_some_and(|point| point.unanswered),
            })
        };
        places.zip(&self.values).map(one).collect()
    }
}
