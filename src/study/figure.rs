//! The pictures of a study: measured lines, and published ones beside them.

use std::path::Path;

use serde::{Deserialize, Serialize};
use teda_core::{Error, Result};
use teda_plot::{Chart, ChartLine, ChartPoint, Scale};

use super::point::{Coordinate, Point, Where};
use super::published::Beside;

/// A picture: one line for all points that differ in `x` alone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its file, without ending.
    pub name: String,
    /// The figure of the paper.
    pub place: String,
    /// What it shows.
    pub title: String,
    /// Its points.
    #[serde(rename = "where")]
    pub about: Where,
    /// What is on the x axis, a number.
    #[serde(default = "epsilon")]
    pub x: Coordinate,
    /// Whether the x axis shows the nominal ε of a text of mean length instead.
    #[serde(default)]
    pub of_text: bool,
    /// What is written on the x axis.
    #[serde(default)]
    pub x_title: Option<String>,
    /// What is written on the y axis.
    pub y_title: String,
    /// The place in the paper whose published numbers are drawn, too.
    #[serde(default)]
    pub published: Option<String>,
}

fn epsilon() -> Coordinate {
    Coordinate::Epsilon
}

impl Figure {
    /// Draws it as `NAME.svg` and `NAME.png` in `directory`; `false`, and no file, if there is nothing to draw.
    ///
    /// # Errors
    /// Usage, for a name that is no file name; failed, if a file cannot be written.
    pub fn draw(
        &self,
        directory: &Path,
        points: &[Point],
        published: &[Beside],
        subtitle: &str,
    ) -> Result<bool> {
        if !self
            .name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '-')
            || self.name.is_empty()
        {
            return Err(Error::usage(format!(
                "figure '{}': its name is that of a file: letters, digits and '-'",
                self.name
            )));
        }
        let about: Vec<&Point> = points
            .iter()
            .filter(|point| self.about.holds(point))
            .collect();
        let mut lines: Vec<ChartLine> = Vec::new();
        for point in &about {
            let x = match self.of_text {
                true => point.epsilon_of_text,
                false => point.number(self.x),
            };
            let (Some(x), Some(y)) = (x, point.value) else {
                continue;
            };
            let drawn = ChartPoint {
                x,
                y,
                interval: point.interval,
                label: None,
            };
            add(&mut lines, self.label(point, &about), drawn);
        }
        let rows = published
            .iter()
            .filter(|row| Some(&row.place) == self.published.as_ref());
        for row in rows.filter(|row| row.along.0 == self.x) {
            if let Ok(x) = row.along.1.parse() {
                let drawn = ChartPoint {
                    x,
                    y: row.published,
                    interval: None,
                    label: None,
                };
                add(&mut lines, format!("{} (published)", row.row), drawn);
            }
        }
        for line in &mut lines {
            line.points.sort_by(|a, b| a.x.total_cmp(&b.x));
        }
        if lines.is_empty() {
            return Ok(false);
        }
        let chart = Chart {
            title: format!("{}: {}", self.place, self.title),
            subtitle: subtitle.to_owned(),
            x: self
                .x_title
                .clone()
                .unwrap_or_else(|| self.axis().to_owned()),
            y: self.y_title.clone(),
            scale: Scale::Nominal,
            lines,
        };
        let file = |end: &str| directory.join(format!("{}.{end}", self.name));
        teda_plot::chart(&chart, &file("svg"), &file("png"))?;
        Ok(true)
    }

    /// What is on the x axis, where the study does not say it.
    fn axis(&self) -> &'static str {
        match self.x {
            Coordinate::Epsilon if self.of_text => "nominal ε of a text of mean length",
            Coordinate::Epsilon => "nominal ε",
            Coordinate::K => "candidates k",
            Coordinate::Lambda => "λ",
            other => other.name(),
        }
    }

    /// The label of a point's line: where it stands, as far as not all points stand there; and of which part it is, where
    /// parts have points at one place.
    fn label(&self, point: &Point, all: &[&Point]) -> String {
        let elsewhere = |at: Coordinate| all.iter().any(|other| other.text(at) != point.text(at));
        let told = LABELS
            .into_iter()
            .filter(|at| *at != self.x && elsewhere(*at));
        let words = told.map(|at| match at {
            Coordinate::K => format!("k = {}", point.text(at)),
            Coordinate::Lambda => format!("λ = {}", point.text(at)),
            _ => point.text(at).to_owned(),
        });
        let mut words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
        if words.is_empty() {
            words.push(match self.x {
                Coordinate::Method => "measured".to_owned(),
                _ => point.text(Coordinate::Method).to_owned(),
            });
        }
        let rivals = |other: &&Point| {
            let mut at = LABELS.into_iter().chain([Coordinate::Epsilon]);
            other.text(Coordinate::Part) != point.text(Coordinate::Part)
                && at.all(|at| other.text(at) == point.text(at))
        };
        if all.iter().any(rivals) {
            words.push(point.text(Coordinate::Part).to_owned());
        }
        words.join(", ")
    }
}

/// What labels tell, in this order.
const LABELS: [Coordinate; 7] = [
    Coordinate::Method,
    Coordinate::Dataset,
    Coordinate::Attack,
    Coordinate::Neighbours,
    Coordinate::K,
    Coordinate::Lambda,
    Coordinate::Of,
];

fn add(lines: &mut Vec<ChartLine>, label: String, point: ChartPoint) {
    match lines.iter_mut().find(|line| line.label == label) {
        Some(line) => line.points.push(point),
        None => lines.push(ChartLine {
            label,
            points: vec![point],
        }),
    }
}
