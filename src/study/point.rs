//! Everything a study measures, as points with coordinates: one form for success rates, bounds, utilities and scores.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use teda_core::estimator::Level;
use teda_core::{Error, Result, Unit, Verdict};
use teda_results::{Cell, UtilityCell};

use super::interval::Spread;
use crate::task;

/// What tells one point from another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coordinate {
    /// The name of the audit or task in the study.
    Part,
    /// What the part calls its method, or the mechanism's name.
    Method,
    /// The data set.
    Dataset,
    /// The relation of the candidates.
    Neighbours,
    /// Candidates a trial.
    K,
    /// The sampling temperature of the candidates.
    Lambda,
    /// The attack; of tasks, what was trained on what.
    Attack,
    /// The nominal ε.
    Epsilon,
    /// The quantity: `success`, `epsilon`, `bound`, a utility, `accuracy`, `macro-f1`, ….
    Of,
}

impl Coordinate {
    /// All of them, in the order in which places are told.
    pub const ALL: [Self; 9] = [
        Self::Part,
        Self::Method,
        Self::Dataset,
        Self::Neighbours,
        Self::K,
        Self::Lambda,
        Self::Attack,
        Self::Epsilon,
        Self::Of,
    ];

    /// Its name in study files and results.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Part => "part",
            Self::Method => "method",
            Self::Dataset => "dataset",
            Self::Neighbours => "neighbours",
            Self::K => "k",
            Self::Lambda => "lambda",
            Self::Attack => "attack",
            Self::Epsilon => "epsilon",
            Self::Of => "of",
        }
    }
}

/// The success rate of an attack that guesses in every trial: a share of trials.
pub const SUCCESS: &str = "success";
/// The ε of which that success rate would be the most: ln((k − 1) p / (1 − p)), at least 0, at δ = 0.
pub const EPSILON: &str = "epsilon";
/// The empirical ε as it is printed: a lower bound.
pub const BOUND: &str = "bound";
/// The score of all releases together, of a utility that has one.
const CORPUS: &str = "-corpus";

/// The estimator whose count is that of independent guesses, one a trial.
const GUESSES: &str = "teda";

/// One measured number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Where it stands.
    pub at: BTreeMap<Coordinate, String>,
    /// The number; missing where none is defined.
    pub value: Option<f64>,
    /// What is known of its error.
    pub spread: Spread,
    /// Ends of the confidence interval that tables and pictures show.
    pub interval: Option<(f64, f64)>,
    /// The nominal ε of a text of mean length, where it is known: that of a unit times the mean number of units.
    #[serde(default)]
    pub epsilon_of_text: Option<f64>,
    /// Whether most of its answers are missing, so that coins were counted: no statement is tested on it.
    #[serde(default)]
    pub unanswered: bool,
}

impl Point {
    fn new(at: BTreeMap<Coordinate, String>, spread: Spread, tail: f64) -> Self {
        let interval = match &spread {
            Spread::Exact { .. } => None,
            other => {
                Some(other.limits(tail)).filter(|(low, high)| low.is_finite() && high.is_finite())
            }
        };
        Self {
            at,
            value: spread.value().filter(|value| value.is_finite()),
            spread,
            interval,
            epsilon_of_text: None,
            unanswered: false,
        }
    }

    /// A point with its interval at the two-sided level `alpha`.
    ///
    /// # Errors
    /// Usage, for an α outside (0, 1).
    pub fn at_level(at: BTreeMap<Coordinate, String>, spread: Spread, alpha: f64) -> Result<Self> {
        Ok(Self::new(at, spread, Level::new(alpha)?.tail()))
    }

    /// The text at a coordinate; empty where it has none.
    #[must_use]
    pub fn text(&self, coordinate: Coordinate) -> &str {
        self.at.get(&coordinate).map_or("", String::as_str)
    }

    /// The number at a coordinate, if it is one.
    #[must_use]
    pub fn number(&self, coordinate: Coordinate) -> Option<f64> {
        self.text(coordinate).parse().ok()
    }

    /// Its coordinates but some, as words; `part` is left out, since it is a name of the study's own.
    #[must_use]
    pub fn place(&self, without: &[Coordinate]) -> String {
        let all = self.at.iter();
        let words = all.filter(|(at, text)| {
            **at != Coordinate::Part && !without.contains(at) && !text.is_empty()
        });
        let words = words.map(|(at, text)| match at {
            Coordinate::Epsilon => format!("ε = {text}"),
            Coordinate::K => format!("k = {text}"),
            Coordinate::Lambda => format!("λ = {text}"),
            _ => text.clone(),
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

/// The points with given texts at given coordinates.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Where(BTreeMap<Coordinate, Texts>);

/// One text, or several of which any will do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Texts {
    One(Text),
    Any(Vec<Text>),
}

/// A text, or a number that stands for its shortest decimal form.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Text {
    /// A number.
    Number(f64),
    /// A text.
    Words(String),
}

impl Text {
    /// As points have it.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Words(words) => words.clone(),
        }
    }
}

impl Where {
    /// Whether a point is meant.
    #[must_use]
    pub fn holds(&self, point: &Point) -> bool {
        self.0.iter().all(|(coordinate, texts)| {
            let found = point.text(*coordinate);
            match texts {
                Texts::One(text) => text.shown() == found,
                Texts::Any(texts) => texts.iter().any(|text| text.shown() == found),
            }
        })
    }

    /// The texts asked for at a coordinate.
    #[must_use]
    pub fn texts(&self, coordinate: Coordinate) -> Vec<String> {
        match self.0.get(&coordinate) {
            None => Vec::new(),
            Some(Texts::One(text)) => vec![text.shown()],
            Some(Texts::Any(texts)) => texts.iter().map(Text::shown).collect(),
        }
    }

    /// The same with one more text, if there is none at its coordinate.
    #[must_use]
    pub fn or(&self, coordinate: Coordinate, text: &str) -> Self {
        let mut with = self.clone();
        with.0
            .entry(coordinate)
            .or_insert_with(|| Texts::One(Text::Words(text.to_owned())));
        with
    }
}

/// The points of one audit: of each cell its bound, and where the attack guesses in every trial its success rate and the ε of
/// that; of each utility its mean, and the score of all releases together.
///
/// # Errors
/// Usage, for an α outside (0, 1).
pub fn of_audit(
    part: &str,
    called: Option<&str>,
    cells: &[Cell],
    utilities: &[UtilityCell],
) -> Result<Vec<Point>> {
    let mut points = Vec::new();
    for cell in cells {
        let at = |of: &str| {
            coordinates([
                (Coordinate::Part, part.to_owned()),
                (
                    Coordinate::Method,
                    called.unwrap_or(&cell.mechanism).to_owned(),
                ),
                (Coordinate::Dataset, cell.dataset.clone()),
                (Coordinate::Neighbours, cell.neighbours.to_string()),
                (Coordinate::K, cell.k.to_string()),
                (Coordinate::Lambda, cell.lambda.to_string()),
                (Coordinate::Attack, cell.attack.clone()),
                (Coordinate::Epsilon, shown(cell.epsilon)),
                (Coordinate::Of, of.to_owned()),
            ])
        };
        let tail = Level::new(cell.alpha)?.tail();
        let (hits, trials, k) = (cell.hits, cell.trials, cell.k);
        let mut measured = Vec::new();
        if cell.estimator == GUESSES {
            measured.push((SUCCESS, Spread::Share { hits, trials }));
            measured.push((EPSILON, Spread::Epsilon { hits, trials, k }));
        }
        let value = cell.empirical_epsilon;
        measured.push((BOUND, Spread::Exact { value }));
        let epsilon_of_text = match cell.epsilon_unit {
            None | Some(Unit::Text) => cell.epsilon,
            Some(_) => cell
                .epsilon
                .zip(cell.mean_units)
                .map(|(epsilon, units)| epsilon * units),
        };
        points.extend(measured.into_iter().map(|(of, spread)| Point {
            epsilon_of_text,
            unanswered: Verdict::is_unanswered(cell.unanswered(), cell.trials),
            ..Point::new(at(of), spread, tail)
        }));
    }
    for utility in utilities {
        let at = |of: String| {
            coordinates([
                (Coordinate::Part, part.to_owned()),
                (
                    Coordinate::Method,
                    called.unwrap_or(&utility.mechanism).to_owned(),
                ),
                (Coordinate::Dataset, utility.dataset.clone()),
                (Coordinate::Neighbours, utility.neighbours.to_string()),
                (Coordinate::K, utility.k.to_string()),
                (Coordinate::Lambda, utility.lambda.to_string()),
                (Coordinate::Epsilon, shown(utility.epsilon)),
                (Coordinate::Of, of),
            ])
        };
        let Some(mean) = utility.mean else {
            continue;
        };
        let n = utility.trials - utility.failed - utility.undefined;
        let spread = Spread::Mean {
            mean,
            deviation: utility.deviation,
            n,
        };
        let tail = Level::new(utility.alpha)?.tail();
        points.push(Point::new(at(utility.utility.clone()), spread, tail));
        if let Some(value) = utility.corpus {
            let of = format!("{}{CORPUS}", utility.utility);
            points.push(Point::new(at(of), Spread::Exact { value }, tail));
        }
    }
    Ok(points)
}

/// The points of one task: accuracy and macro F1 of each mode, and by how much the accuracy exceeds the majority class's.
///
/// # Errors
/// Usage, for an α outside (0, 1).
pub fn of_task(
    part: &str,
    called: Option<&str>,
    alpha: f64,
    document: &task::Document,
) -> Result<Vec<Point>> {
    let tail = Level::new(alpha)?.tail();
    let majority = document
        .results
        .iter()
        .find(|line| line.mode == task::Mode::Majority);
    let majority = majority.map(|line| line.accuracy.mean);
    let mut points = Vec::new();
    for line in &document.results {
        let method = match (&line.mechanism, called) {
            (None, _) => "",
            (Some(_), Some(called)) => called,
            (Some(name), None) => name,
        };
        let mut point = |of: &str, score: &task::Spread, less: f64| {
            let at = coordinates([
                (Coordinate::Part, part.to_owned()),
                (Coordinate::Method, method.to_owned()),
                (Coordinate::Dataset, document.data.name.clone()),
                (Coordinate::Attack, line.mode.name().to_owned()),
                (Coordinate::Epsilon, shown(line.epsilon)),
                (Coordinate::Of, of.to_owned()),
            ]);
            let mean = score.mean - less;
            let spread = match score.deviation {
                // One classifier without coins, tested on all texts there are to test on.
                None => Spread::Exact { value: mean },
                deviation => Spread::Mean {
                    mean,
                    deviation,
                    n: score.values.len() as u64,
                },
            };
            points.push(Point::new(at, spread, tail));
        };
        point("accuracy", &line.accuracy, 0.0);
        point("macro-f1", &line.macro_f1, 0.0);
        if let Some(majority) = majority.filter(|_| line.mechanism.is_some()) {
            point("accuracy-over-majority", &line.accuracy, majority);
        }
    }
    Ok(points)
}

/// Coordinates, without those that are empty.
pub(super) fn coordinates<const N: usize>(
    pairs: [(Coordinate, String); N],
) -> BTreeMap<Coordinate, String> {
    pairs
        .into_iter()
        .filter(|(_, text)| !text.is_empty())
        .collect()
}

fn shown(epsilon: Option<f64>) -> String {
    epsilon.map_or(String::new(), |epsilon| epsilon.to_string())
}

/// The coordinates at which all of some points stand alike: nothing is to be said of them one by one.
#[must_use]
pub fn shared(points: &[&Point]) -> Vec<Coordinate> {
    let alike = |at: &Coordinate| {
        points
            .iter()
            .all(|point| point.text(*at) == points[0].text(*at))
    };
    Coordinate::ALL.into_iter().filter(alike).collect()
}

/// Joins points that differ in `over` alone into one of all of them.
///
/// # Errors
/// Usage, for quantities that cannot be joined.
pub fn pooled(points: Vec<Point>, over: Coordinate) -> Result<Vec<Point>> {
    let mut groups: BTreeMap<BTreeMap<Coordinate, String>, Vec<Spread>> = BTreeMap::new();
    for point in points {
        let mut at = point.at;
        at.remove(&over);
        groups.entry(at).or_default().push(point.spread);
    }
    groups
        .into_iter()
        .map(|(at, spreads)| {
            let spread = Spread::pooled(&spreads).ok_or_else(|| {
                Error::usage(format!(
                    "of = \"{}\" cannot be pooled over {}: take success, or a mean",
                    at.get(&Coordinate::Of).map_or("", String::as_str),
                    over.name()
                ))
            })?;
            Ok(Point {
                at,
                value: spread.value(),
                spread,
                interval: None,
                epsilon_of_text: None,
                unanswered: false,
            })
        })
        .collect()
}
