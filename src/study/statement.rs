//! What a paper says in words, held against what was measured, by tests of stated error.
//!
//! # Definition
//! A statement is a conjunction of m comparisons of measured numbers, each of which can be *established* or *contradicted* by
//! one-sided confidence limits. It **holds** if every comparison is established at the study's error β: if it is false, one of them is
//! false, and that one is established with probability β at most (an intersection-union test needs no correction). It is
//! **refuted** if one of them is contradicted at β/m: if it is true, that happens with probability β at most. Else it is
//! **undecided**. A difference of two numbers has the limits of both, each at half of the level, which holds whatever
//! binds them.
//!
//! Numbers without an error of their own (`bound`, the score of all releases together) are compared as they are printed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use teda_core::{Error, Result};

use super::comparison::{Comparison, Kind};
use super::point::{Coordinate, Point, Text, Where, pooled, shared};

/// A printed statement and how it is tested.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// Where the paper says it.
    pub place: String,
    /// What it says, in one sentence.
    pub text: String,
    /// The points that it is about.
    #[serde(rename = "where")]
    pub about: Where,
    /// How it is tested.
    pub test: Test,
    /// A coordinate over which all trials are counted together first.
    #[serde(default)]
    pub pool: Option<Coordinate>,
}

/// A comparison that each of the groups of points must pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Test {
    /// Every point is at most this.
    AtMost(f64),
    /// Every point is at least this.
    AtLeast(f64),
    /// Points that differ in `by` alone: those of an earlier rank are greater than those of a later one. Established by a
    /// difference above 0, contradicted by one below `margin`.
    Order {
        /// What ranks name.
        by: Coordinate,
        /// From the greatest to the least; texts of one rank are not compared.
        ranks: Vec<Rank>,
        /// The least difference that would be called one.
        margin: f64,
    },
    /// Points that differ in `by` alone are within `margin` of each other.
    Same {
        /// What may differ.
        by: Coordinate,
        /// The greatest difference that would be called none.
        margin: f64,
    },
    /// Along the numbers of `by`, the last point is greater than the first, and none is below the one before it by more than
    /// `margin`.
    Rises {
        /// The numbers along which.
        by: Coordinate,
        /// The least difference that would be called one.
        margin: f64,
    },
    /// Two points that differ in `by` alone stand in the same order whatever `across` is.
    SameOrder {
        /// What is put in order.
        by: Coordinate,
        /// What must not change the order.
        across: Coordinate,
    },
}

/// Texts of one rank.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Rank {
    /// One.
    One(Text),
    /// Several.
    Tied(Vec<Text>),
}

impl Rank {
    fn texts(&self) -> Vec<String> {
        match self {
            Self::One(text) => vec![text.shown()],
            Self::Tied(texts) => texts.iter().map(Text::shown).collect(),
        }
    }
}

/// What became of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It holds, by the test.
    Holds,
    /// It is refuted, by the test.
    Refuted,
    /// Neither.
    Undecided,
    /// Some point that it is about was not measured, or lacks most of its answers.
    NotTested,
}

impl Outcome {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Refuted => "refuted",
            Self::Undecided => "undecided",
            Self::NotTested => "not tested",
        }
    }
}

/// A statement with its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tested {
    /// Where the paper says it.
    pub place: String,
    /// What it says.
    pub text: String,
    /// What became of it.
    pub outcome: Outcome,
    /// Comparisons that were made.
    pub comparisons: usize,
    /// Those that were established at β.
    pub established: usize,
    /// Those that were contradicted at β/m.
    pub contradicted: usize,
    /// Why, in words: the first comparisons that are not established, or what was not measured.
    pub why: Vec<String>,
}

/// Most comparisons that are told one by one.
const TOLD: usize = 4;

impl Statement {
    /// The statement, tested on what was measured, at the error β.
    ///
    /// # Errors
    /// Usage, for a quantity that cannot be pooled, or an order that is no order.
    pub fn tested(&self, points: &[Point], beta: f64) -> Result<Tested> {
        let told = |outcome, why| Tested {
            place: self.place.clone(),
            text: self.text.clone(),
            outcome,
            comparisons: 0,
            established: 0,
            contradicted: 0,
            why,
        };
        let missing = self.missing(points);
        if !missing.is_empty() {
            return Ok(told(Outcome::NotTested, missing));
        }
        let found: Vec<Point> = points
            .iter()
            .filter(|p| self.about.holds(p))
            .cloned()
            .collect();
        let unanswered = found.iter().filter(|point| point.unanswered);
        let unanswered: Vec<String> = unanswered
            .map(|point| format!("most answers are missing: {}", point.place(&[])))
            .collect();
        if !unanswered.is_empty() {
            return Ok(told(Outcome::NotTested, few(unanswered)));
        }
        let found = match self.pool {
            Some(over) => pooled(found, over)?,
            None => found,
        };
        let comparisons = self.test.comparisons(&found)?;
        if comparisons.is_empty() {
            let why = "no two of the points that were measured are to be compared".to_owned();
            return Ok(told(Outcome::NotTested, vec![why]));
        }
        let level = beta / comparisons.len() as f64;
        let contradicted: Vec<bool> = comparisons
            .iter()
            .map(|c| c.is_contradicted(level))
            .collect();
        let established: Vec<bool> = comparisons.iter().map(|c| c.is_established(beta)).collect();
        let count = |of: &[bool]| of.iter().filter(|yes| **yes).count();
        let outcome = match (count(&contradicted), count(&established)) {
            (0, all) if all == comparisons.len() => Outcome::Holds,
            (0, _) => Outcome::Undecided,
            _ => Outcome::Refuted,
        };
        let shared = shared(&found.iter().collect::<Vec<_>>());
        // What speaks against it first.
        let mut against: Vec<usize> = (0..comparisons.len())
            .filter(|i| !established[*i])
            .collect();
        against.sort_by_key(|i| !contradicted[*i]);
        Ok(Tested {
            comparisons: comparisons.len(),
            established: count(&established),
            contradicted: count(&contradicted),
            ..told(outcome, why(&comparisons, &against, &contradicted, &shared))
        })
    }

    /// What the statement names and nobody measured.
    fn missing(&self, points: &[Point]) -> Vec<String> {
        if !points.iter().any(|point| self.about.holds(point)) {
            return vec!["nothing that it is about was measured".to_owned()];
        }
        let about: Vec<&Point> = points.iter().filter(|p| self.about.holds(p)).collect();
        let asked = Coordinate::ALL.into_iter().flat_map(|at| {
            let texts = self.about.texts(at).into_iter();
            texts.chain(self.test.names(at)).map(move |text| (at, text))
        });
        let absent = |(at, text): &(Coordinate, String)| about.iter().all(|p| p.text(*at) != text);
        asked
            .filter(absent)
            .map(|(at, text)| format!("nothing was measured for {} {text}", at.name()))
            .collect()
    }
}

fn why(
    comparisons: &[Comparison<'_>],
    against: &[usize],
    contradicted: &[bool],
    shared: &[Coordinate],
) -> Vec<String> {
    let told = against.iter().map(|i| {
        let how = if contradicted[*i] {
            "contradicted"
        } else {
            "open"
        };
        format!("{how}: {}", comparisons[*i].told(shared))
    });
    few(told.collect())
}

/// The first of these sentences, and how many more there are.
fn few(mut sentences: Vec<String>) -> Vec<String> {
    let all = sentences.len();
    if all > TOLD {
        sentences.truncate(TOLD);
        sentences.push(format!("and {} more", all - TOLD));
    }
    sentences
}

impl Test {
    /// The texts that the test itself names at a coordinate.
    fn names(&self, at: Coordinate) -> Vec<String> {
        match self {
            Self::Order { by, ranks, .. } if *by == at => {
                ranks.iter().flat_map(Rank::texts).collect()
            }
            _ => Vec::new(),
        }
    }

    fn comparisons<'a>(&self, points: &'a [Point]) -> Result<Vec<Comparison<'a>>> {
        let alone = |kind: fn(f64) -> Kind, limit: f64| {
            let one = |left| Comparison {
                left,
                right: None,
                kind: kind(limit),
            };
            points.iter().map(one).collect()
        };
        Ok(match self {
            Self::AtMost(limit) => alone(Kind::AtMost, *limit),
            Self::AtLeast(limit) => alone(Kind::AtLeast, *limit),
            Self::Order { by, ranks, margin } => in_order(points, *by, ranks, *margin)?,
            Self::Same { by, margin } => {
                let within = |[left, right]: [&'a Point; 2]| Comparison {
                    left,
                    right: Some(right),
                    kind: Kind::Within { margin: *margin },
                };
                groups(points, &freely(*by))
                    .iter()
                    .flat_map(|group| pairs(group))
                    .map(within)
                    .collect()
            }
            Self::Rises { by, margin } => rising(points, *by, *margin)?,
            Self::SameOrder { by, across } => in_same_order(points, *by, *across),
        })
    }
}

/// The points in groups that differ in some coordinates alone.
fn groups<'a>(points: &'a [Point], differing: &[Coordinate]) -> Vec<Vec<&'a Point>> {
    let mut groups: BTreeMap<BTreeMap<Coordinate, String>, Vec<&Point>> = BTreeMap::new();
    for point in points {
        let mut at = point.at.clone();
        for coordinate in differing {
            at.remove(coordinate);
        }
        groups.entry(at).or_default().push(point);
    }
    groups.into_values().collect()
}

/// Every two of a group.
fn pairs<'a>(group: &[&'a Point]) -> Vec<[&'a Point; 2]> {
    let all = 0..group.len();
    all.flat_map(|i| (i + 1..group.len()).map(move |j| (i, j)))
        .map(|(i, j)| [group[i], group[j]])
        .collect()
}

/// What may differ between points that are compared by `by`: methods may be measured in parts of their own.
fn freely(by: Coordinate) -> Vec<Coordinate> {
    match by {
        Coordinate::Method => vec![by, Coordinate::Part],
        _ => vec![by],
    }
}

fn in_order<'a>(
    points: &'a [Point],
    by: Coordinate,
    ranks: &[Rank],
    margin: f64,
) -> Result<Vec<Comparison<'a>>> {
    let ranks: Vec<Vec<String>> = ranks.iter().map(Rank::texts).collect();
    if ranks.len() < 2 {
        return Err(Error::usage(
            "an order has two ranks or more: name what is greater than what",
        ));
    }
    let rank = |point: &Point| {
        ranks
            .iter()
            .position(|rank| rank.iter().any(|t| t == point.text(by)))
    };
    let mut found = Vec::new();
    for group in groups(points, &freely(by)) {
        for pair in pairs(&group) {
            let (Some(a), Some(b)) = (rank(pair[0]), rank(pair[1])) else {
                continue;
            };
            if a == b {
                continue;
            }
            let [left, right] = if a < b { pair } else { [pair[1], pair[0]] };
            found.push(Comparison {
                left,
                right: Some(right),
                kind: Kind::Greater { margin },
            });
        }
    }
    Ok(found)
}

fn rising(points: &[Point], by: Coordinate, margin: f64) -> Result<Vec<Comparison<'_>>> {
    let mut found = Vec::new();
    for mut group in groups(points, &freely(by)) {
        if let Some(bad) = group.iter().find(|point| point.number(by).is_none()) {
            return Err(Error::usage(format!(
                "{} = '{}' is no number along which something rises",
                by.name(),
                bad.text(by)
            )));
        }
        let number = |point: &&Point| point.number(by).unwrap_or(f64::NAN);
        group.sort_by(|a, b| number(a).total_cmp(&number(b)));
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        if group.len() < 2 {
            continue;
        }
        found.push(Comparison {
            left: last,
            right: Some(first),
            kind: Kind::Greater { margin },
        });
        found.extend(group.windows(2).map(|pair| Comparison {
            left: pair[1],
            right: Some(pair[0]),
            kind: Kind::NotBelow { margin },
        }));
    }
    Ok(found)
}

fn in_same_order(points: &[Point], by: Coordinate, across: Coordinate) -> Vec<Comparison<'_>> {
    let mut found = Vec::new();
    let mut differing = freely(by);
    differing.push(across);
    for group in groups(points, &differing) {
        let settings: BTreeMap<&str, Vec<&Point>> =
            group.iter().fold(BTreeMap::new(), |mut all, point| {
                all.entry(point.text(across))
                    .or_insert_with(Vec::new)
                    .push(*point);
                all
            });
        let settings: Vec<Vec<&Point>> = settings.into_values().collect();
        for (i, here) in settings.iter().enumerate() {
            for there in &settings[i + 1..] {
                for [left, right] in pairs(here) {
                    let other = |point: &Point| there.iter().find(|p| p.text(by) == point.text(by));
                    if let (Some(a), Some(b)) = (other(left), other(right)) {
                        let others = [a.spread.clone(), b.spread.clone()];
                        found.push(Comparison {
                            left,
                            right: Some(right),
                            kind: Kind::SameSign { others },
                        });
                    }
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use teda_core::Seed;

    use super::super::interval::Spread;
    use super::super::point::coordinates;
    use super::*;

    fn point(method: &str, epsilon: &str, spread: Spread) -> Point {
        let at = coordinates([
            (Coordinate::Part, "part".to_owned()),
            (Coordinate::Method, method.to_owned()),
            (Coordinate::Epsilon, epsilon.to_owned()),
            (Coordinate::Of, "success".to_owned()),
        ]);
        Point::at_level(at, spread, 0.01).unwrap()
    }

    fn share(method: &str, epsilon: &str, hits: u64) -> Point {
        point(method, epsilon, Spread::Share { hits, trials: 1000 })
    }

    fn statement(test: &str) -> Statement {
        let text = format!(
            "place = \"Figure 1\"\ntext = \"It is so\"\nwhere = {{ of = \"success\" }}\ntest = {test}"
        );
        toml::from_str(&text).unwrap_or_else(|e| panic!("{test}: {e}"))
    }

    fn outcome(test: &str, points: &[Point]) -> Outcome {
        statement(test).tested(points, 0.05).unwrap().outcome
    }

    #[test]
    fn limits_hold_for_every_point() {
        let low = [share("a", "1", 510), share("b", "1", 520)];
        assert_eq!(outcome("{ at-most = 0.6 }", &low), Outcome::Holds);
        assert_eq!(outcome("{ at-most = 0.53 }", &low), Outcome::Undecided);
        let high = [share("a", "1", 510), share("b", "1", 700)];
        assert_eq!(outcome("{ at-most = 0.6 }", &high), Outcome::Refuted);
        assert_eq!(outcome("{ at-least = 0.45 }", &high), Outcome::Holds);
    }

    #[test]
    fn an_order_is_tested_at_each_epsilon() {
        const ORDER: &str =
            "{ order = { by = \"method\", ranks = [[\"a\", \"b\"], \"c\"], margin = 0.05 } }";
        let points = |c: u64| {
            vec![
                share("a", "1", 700),
                share("b", "1", 690),
                share("c", "1", 520),
                share("a", "2", 800),
                share("b", "2", 900),
                share("c", "2", c),
            ]
        };
        assert_eq!(outcome(ORDER, &points(600)), Outcome::Holds);
        assert_eq!(outcome(ORDER, &points(790)), Outcome::Undecided);
        // Equal ones are no order, if a difference of the margin would have shown.
        assert_eq!(outcome(ORDER, &points(830)), Outcome::Refuted);
        let mut missing = points(600);
        missing.truncate(2);
        let tested = statement(ORDER).tested(&missing, 0.05).unwrap();
        assert_eq!(tested.outcome, Outcome::NotTested);
        assert_eq!(tested.why, ["nothing was measured for method c"]);
    }

    #[test]
    fn rising_flat_and_the_same_order() {
        const RISES: &str = "{ rises = { by = \"epsilon\", margin = 0.05 } }";
        const FLAT: &str = "{ same = { by = \"epsilon\", margin = 0.15 } }";
        // Epsilons are numbers: 10 comes after 2.
        let curve = |hits: [u64; 3]| -> Vec<Point> {
            let all = ["1", "10", "2"].into_iter().zip(hits);
            all.map(|(epsilon, hits)| share("a", epsilon, hits))
                .collect()
        };
        assert_eq!(outcome(RISES, &curve([500, 900, 700])), Outcome::Holds);
        assert_eq!(outcome(RISES, &curve([500, 700, 900])), Outcome::Refuted);
        assert_eq!(outcome(FLAT, &curve([500, 520, 510])), Outcome::Holds);
        assert_eq!(outcome(FLAT, &curve([500, 800, 510])), Outcome::Refuted);
        const ALIKE: &str = "{ same-order = { by = \"method\", across = \"epsilon\" } }";
        let two = |first: u64, second: u64| {
            [
                share("a", "1", 800),
                share("b", "1", 600),
                share("a", "2", first),
                share("b", "2", second),
            ]
        };
        assert_eq!(outcome(ALIKE, &two(900, 700)), Outcome::Holds);
        assert_eq!(outcome(ALIKE, &two(700, 900)), Outcome::Refuted);
        assert_eq!(outcome(ALIKE, &two(700, 700)), Outcome::Undecided);
    }

    #[test]
    fn nothing_is_tested_on_coins() {
        let mut points = [share("a", "1", 900), share("b", "1", 600)];
        let order = "{ order = { by = \"method\", ranks = [\"a\", \"b\"], margin = 0.01 } }";
        assert_eq!(outcome(order, &points), Outcome::Holds);
        points[1].unanswered = true;
        let tested = statement(order).tested(&points, 0.05).unwrap();
        assert_eq!(tested.outcome, Outcome::NotTested);
        assert!(
            tested.why[0].starts_with("most answers are missing: b"),
            "{:?}",
            tested.why
        );
    }

    /// Methods may stand in parts of their own; parts are compared method by method.
    #[test]
    fn methods_are_compared_across_parts_and_parts_by_method() {
        let at = |part: &str, method: &str, hits: u64| {
            let mut point = share(method, "1", hits);
            point.at.insert(Coordinate::Part, part.to_owned());
            point
        };
        let apart = [at("first", "1", 500), at("second", "2", 700)];
        assert_eq!(
            outcome("{ rises = { by = \"method\", margin = 0.05 } }", &apart),
            Outcome::Holds
        );
        assert_eq!(
            outcome("{ same = { by = \"method\", margin = 0.05 } }", &apart),
            Outcome::Refuted
        );
        let both = [
            at("first", "a", 500),
            at("first", "b", 900),
            at("second", "a", 510),
            at("second", "b", 905),
        ];
        let tested = statement("{ same = { by = \"part\", margin = 0.1 } }")
            .tested(&both, 0.05)
            .unwrap();
        assert_eq!((tested.outcome, tested.comparisons), (Outcome::Holds, 2));
    }

    #[test]
    fn pooling_counts_all_epsilons_together() {
        let points = [
            share("a", "1", 560),
            share("a", "2", 570),
            share("b", "1", 520),
            share("b", "2", 510),
        ];
        let order = "{ order = { by = \"method\", ranks = [\"a\", \"b\"], margin = 0.01 } }";
        assert_eq!(outcome(order, &points), Outcome::Undecided);
        let pooled = Statement {
            pool: Some(Coordinate::Epsilon),
            ..statement(order)
        };
        let tested = pooled.tested(&points, 0.05).unwrap();
        assert_eq!((tested.outcome, tested.comparisons), (Outcome::Holds, 1));
    }

    #[test]
    fn what_has_no_error_is_compared_as_it_is() {
        let exact = |method: &str, value| point(method, "1", Spread::Exact { value });
        let points = [exact("a", 1.0), exact("b", 0.9)];
        let order = "{ order = { by = \"method\", ranks = [\"a\", \"b\"], margin = 0.01 } }";
        assert_eq!(outcome(order, &points), Outcome::Holds);
        assert_eq!(
            outcome("{ same = { by = \"method\", margin = 0.2 } }", &points),
            Outcome::Holds
        );
        assert_eq!(
            outcome("{ same = { by = \"method\", margin = 0.05 } }", &points),
            Outcome::Refuted
        );
    }

    /// Shares of `trials` coins of probability `p`.
    fn drawn(seed: Seed, p: f64, trials: u64) -> u64 {
        let mut stream = seed.stream();
        (0..trials).filter(|_| stream.uniform() < p).count() as u64
    }

    /// At the edge of a statement, both errors are at most β: three false comparisons of equal shares never hold more often,
    /// and true ones by exactly the margin are never refuted more often.
    #[test]
    fn both_errors_are_at_most_beta() {
        const RUNS: u64 = 2000;
        const ORDER: &str = "{ order = { by = \"method\", ranks = [\"a\", \"b\"], margin = 0.1 } }";
        let share_of = |difference: f64, wanted: Outcome| {
            let one = |epsilon: u64, method: &str, p: f64, seed: Seed| {
                let hits = drawn(seed.at(epsilon), p, 200);
                point(
                    method,
                    &epsilon.to_string(),
                    Spread::Share { hits, trials: 200 },
                )
            };
            let count = (0..RUNS).filter(|run| {
                let seed = |method: &str| Seed::root(7).named(method).at(*run);
                let pair = |epsilon: u64| {
                    [
                        one(epsilon, "a", 0.6 + difference, seed("a")),
                        one(epsilon, "b", 0.6, seed("b")),
                    ]
                };
                let points: Vec<Point> = (0..3).flat_map(pair).collect();
                outcome(ORDER, &points) == wanted
            });
            count.count() as f64 / RUNS as f64
        };
        assert!(share_of(0.0, Outcome::Holds) <= 0.05);
        assert!(share_of(0.1, Outcome::Refuted) <= 0.05);
        // And it is a test: a large difference is seen, and so is none.
        assert!(share_of(0.3, Outcome::Holds) > 0.9);
        assert!(share_of(-0.2, Outcome::Refuted) > 0.9);
    }
}
