//! Some releases to look at: what the mechanisms make of given texts, and how much that depends on the seed.

use std::collections::HashSet;
use std::fmt::Write;

use teda_core::{Query, Release, Result, Seed, shown};

use super::definition::Samples;
use super::interval::Spread;
use super::point::{Coordinate, Point, coordinates};
use crate::audit::config::Config;
use crate::audit::run;
use crate::models::{Access, Models};

/// What was measured on samples: units of a text (tokens, words), the share of releases of a text that differ, and the mean
/// cosine of two releases of one text under two seeds.
const UNITS: &str = "units";
const DISTINCT: &str = "distinct";
const BETWEEN: &str = "cosine-between-seeds";

/// The texts that are shown where none are named.
const SHOWN: usize = 3;

/// The releases, as lines to read, and what was measured on them.
///
/// # Errors
/// Usage, for a configuration that cannot be satisfied; failed, if a mechanism or the encoder fails.
pub fn run(
    part: &str,
    called: Option<&str>,
    samples: &Samples,
    access: &Access,
) -> Result<(String, Vec<Point>)> {
    let config = &samples.config;
    let texts = match &samples.texts[..] {
        [] => {
            let data =
                teda_datasets::load(&config.datasets[0], access.limits, &mut std::io::stdin())?;
            data.texts
                .iter()
                .take(SHOWN)
                .map(ToString::to_string)
                .collect()
        }
        named => named.to_vec(),
    };
    let encoder = Models::load(&config.wanted(), access)?.encoder;
    let (mut said, mut points) = (String::new(), Vec::new());
    for source in &config.mechanisms {
        for epsilon in source.grid(config.epsilons.as_deref())? {
            let one = Config {
                mechanisms: vec![source.clone()],
                epsilons: epsilon.map(|epsilon| vec![epsilon]),
                ..config.clone()
            };
            let mechanism = run::mechanism(&one, access)?;
            let method = called.map_or_else(|| source.name(), ToOwned::to_owned);
            let point = |of: &str, values: Vec<f64>| {
                Point::at_level(
                    coordinates([
                        (Coordinate::Part, part.to_owned()),
                        (Coordinate::Method, method.clone()),
                        (
                            Coordinate::Epsilon,
                            epsilon.map_or(String::new(), |e| e.to_string()),
                        ),
                        (Coordinate::Of, of.to_owned()),
                    ]),
                    Spread::of(&values),
                    config.alpha,
                )
            };
            let units: Vec<f64> = texts
                .iter()
                .filter_map(|text| mechanism.units(text))
                .map(|n| n as f64)
                .collect();
            if !units.is_empty() {
                points.push(point(UNITS, units)?);
            }
            let root = Seed::root(config.seed).named("samples").named(&method);
            let (mut distinct, mut between) = (Vec::new(), Vec::new());
            for (place, text) in texts.iter().enumerate() {
                let queries: Vec<Query<'_>> = (0..u64::from(samples.seeds))
                    .map(|number| Query {
                        text,
                        seed: root.at(place as u64).at(number),
                    })
                    .collect();
                let releases = mechanism.rewrite(&queries)?;
                let _ = writeln!(said, "{method}{}: {}", at(epsilon), shown(text));
                for release in &releases {
                    let _ = writeln!(said, "    {}", told(release));
                }
                let texts: Vec<&str> = releases.iter().map(|release| &release.text[..]).collect();
                let different: HashSet<&str> = texts.iter().copied().collect();
                distinct.push(different.len() as f64 / texts.len() as f64);
                if texts.len() > 1 {
                    between.push(mean_cosine(&encoder.encode(&texts)?));
                }
            }
            points.push(point(DISTINCT, distinct)?);
            if !between.is_empty() {
                points.push(point(BETWEEN, between)?);
            }
        }
    }
    Ok((said, points))
}

fn at(epsilon: Option<f64>) -> String {
    epsilon.map_or(String::new(), |epsilon| format!(", ε = {epsilon}"))
}

/// A release on one line, or why there is none.
fn told(release: &Release) -> String {
    match crate::audit::trial::failure(release) {
        None => shown(&release.text),
        Some(failure) => format!("(no release: {})", shown(&failure.reason)),
    }
}

/// The mean inner product of every two rows, which are of norm 1, or 0 for an empty release.
fn mean_cosine(vectors: &ndarray::Array2<f32>) -> f64 {
    let rows: Vec<_> = vectors.rows().into_iter().collect();
    let (mut sum, mut pairs) = (0.0, 0.0);
    for (i, row) in rows.iter().enumerate() {
        for other in &rows[i + 1..] {
            sum += f64::from(row.dot(other));
            pairs += 1.0;
        }
    }
    sum / pairs
}
