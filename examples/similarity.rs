//! How similar releases are to their texts: the mean cosine of sentence vectors at each ε, with its standard error.
//!
//!     cargo run --release --example similarity -- em:paper medquad-answers 500 builtin 0.25 0.5 1 2 4
//!
//! Arguments: a mechanism, with a preset after a colon if one is meant; a data set; how many of its texts; a sentence
//! encoder; values of ε. `teda list mechanisms`, `teda data list` and `teda models list` have the names. Phase 1 of
//! PrivRewrite at ε is `em:paper`, as printed, or `em:as-shown`.

use teda::Result;
use teda::audit::config::Config;
use teda::audit::run;
use teda::audit::source::Source;
use teda::models::{Access, Models};
use teda_core::{Error, Mechanism, Query, Seed};
use teda_datasets::Request;

/// Texts rewritten together.
const BATCH: usize = 64;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mechanism, dataset, count, encoder, epsilons @ ..] = &arguments[..] else {
        return Err(Error::usage(
            "write: similarity MECHANISM[:PRESET] DATASET TEXTS ENCODER EPSILON…",
        ));
    };
    let number = |text: &String| -> Result<f64> {
        let number = text.parse().ok();
        number.ok_or_else(|| Error::usage(format!("'{text}' is not a number")))
    };
    let (name, preset) = mechanism.split_once(':').unwrap_or((mechanism, ""));
    let config = Config {
        preset: (!preset.is_empty()).then(|| preset.to_owned()),
        encoder: encoder.clone(),
        datasets: vec![Request {
            source: dataset.clone(),
            limit: Some(number(count)? as usize),
            ..Request::default()
        }],
        ..Config::new(vec![Source::parse(name)?])
    };
    let access = Access::default();
    let texts = config.load(access.limits)?.remove(0).texts;
    let encoder = Models::load(&config.wanted(), &access)?.encoder;
    let sources = encoder.encode(&texts.iter().map(String::as_str).collect::<Vec<_>>())?;
    for epsilon in epsilons {
        let epsilons = Some(vec![number(epsilon)?]);
        let mechanism = run::mechanism(
            &Config {
                epsilons,
                ..config.clone()
            },
            &access,
        )?;
        let releases = releases(&*mechanism, &texts)?;
        let vectors = encoder.encode(&releases.iter().map(String::as_str).collect::<Vec<_>>())?;
        let rows = sources.rows().into_iter().zip(vectors.rows());
        let cosines: Vec<f64> = rows
            .map(|(text, release)| f64::from(text.dot(&release)))
            .collect();
        let n = cosines.len() as f64;
        let mean = cosines.iter().sum::<f64>() / n;
        let variance = cosines.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / (n - 1.0);
        println!(
            "ε = {epsilon}: {mean:.3} ± {:.3} over {n} texts",
            (variance / n).sqrt()
        );
    }
    Ok(())
}

fn releases(mechanism: &dyn Mechanism, texts: &[String]) -> Result<Vec<String>> {
    let root = Seed::root(0).named("similarity");
    let queries: Vec<Query<'_>> = texts
        .iter()
        .zip(0..)
        .map(|(text, number)| Query {
            text,
            seed: root.at(number),
        })
        .collect();
    let mut releases = Vec::new();
    for batch in queries.chunks(BATCH) {
        for (release, query) in mechanism.rewrite(batch)?.into_iter().zip(batch) {
            if let Some(failure) = release.failure {
                return Err(Error::failed(format!("'{}': {failure}", query.text)));
            }
            releases.push(release.text);
        }
    }
    Ok(releases)
}
