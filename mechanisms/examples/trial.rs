//! How long a trial of an audit takes where the mechanism is the least that can be: randomised response over
//! two texts, attacked by its likelihoods, on one core.
//!
//! Prints nanoseconds a trial, of the whole and of its parts, each the best of seven passes:
//! `cargo run --release -p teda-mechanisms --example trial`.

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use ndarray::{Array2, ArrayView2};
use teda_core::{Encoder, Mechanism, Query, Result, Role, Seed, TokenMap};
use teda_mechanisms::{Context, registry};

/// Stands where randomised response needs no model.
struct NoModel;

impl Encoder for NoModel {
    fn encode(&self, texts: &[&str]) -> Result<Array2<f32>> {
        Ok(Array2::zeros((texts.len(), 0)))
    }

    fn dimension(&self) -> usize {
        0
    }
}

impl TokenMap for NoModel {
    fn tokenize(&self, _: &str) -> Vec<u32> {
        Vec::new()
    }

    fn detokenize(&self, _: &[u32]) -> String {
        String::new()
    }

    fn vectors(&self) -> ArrayView2<'_, f32> {
        ArrayView2::from_shape((0, 0), &[]).expect("an empty view")
    }

    fn released(&self) -> &[u32] {
        &[]
    }
}

/// Trials of a pass.
const TRIALS: u64 = 1_000_000;
/// Trials rewritten in one call, as an audit does.
const BATCH: u64 = 500;
/// Texts, all of them candidates.
const TEXTS: usize = 2;
const PASSES: usize = 7;
const EPSILON: f64 = 1.0;

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let texts: Arc<[String]> = (1..=TEXTS).map(|i| format!("category {i}")).collect();
    let model = Arc::new(NoModel);
    let context = Context {
        texts: texts.clone(),
        tokens: model.clone(),
        encoder: model,
        generator: None,
        sampler: None,
        language_model: None,
    };
    let entry = registry::entry("grr")?;
    let mechanism = entry.instance(&context, Some(EPSILON), &entry.settings(None, &[])?)?;
    let series = Seed::root(1).named("speed");

    let hits = audit(&*mechanism, &texts, series)?;
    let rate = hits as f64 / TRIALS as f64;
    let best = EPSILON.exp() / (EPSILON.exp() + 1.0);
    println!("guessed right {rate:.4} of the trials; the best there is is {best:.4}");

    let report = |what: &str, nanoseconds: f64| {
        println!(
            "{what:<44} {nanoseconds:8.1} ns {:8.2} million/s",
            1e3 / nanoseconds
        );
    };
    let trial = time(|| drop(black_box(audit(&*mechanism, &texts, series))));
    report("trial: secret, release, likelihoods, guess", trial);
    let set_up = time(|| {
        let word = |t| series.role(t, Role::Mechanism).stream().uniform();
        black_box((0..TRIALS).map(word).sum::<f64>());
    });
    report("  a stream and its first word (2 to 3 a trial)", set_up);
    let secret = &texts[0];
    let releases = time(|| {
        for batch in 0..TRIALS / BATCH {
            let query = |t| Query {
                text: secret,
                seed: series.role(batch * BATCH + t, Role::Mechanism),
            };
            let queries: Vec<Query<'_>> = (0..BATCH).map(query).collect();
            drop(black_box(mechanism.rewrite(&queries)));
        }
    });
    report("  a release (one stream in it)", releases);
    let likelihood = mechanism.likelihood().ok_or("no likelihood")?;
    let likelihoods = time(|| {
        let pairs: Vec<(&str, &str)> = (0..BATCH)
            .flat_map(|_| texts.iter().map(|text| (&secret[..], &text[..])))
            .collect();
        for _ in 0..TRIALS / BATCH {
            drop(black_box(likelihood.log_likelihood(&pairs)));
        }
    });
    report("  likelihoods under both candidates", likelihoods);
    let mut stream = series.stream();
    let words = time(|| {
        black_box((0..TRIALS).map(|_| stream.uniform()).sum::<f64>());
    });
    report("for comparison: the next word of one stream", words);
    Ok(())
}

/// Right guesses of [`TRIALS`] trials.
fn audit(mechanism: &dyn Mechanism, texts: &[String], series: Seed) -> Result<u64> {
    let mut hits = 0;
    for batch in 0..TRIALS / BATCH {
        let trials = batch * BATCH..(batch + 1) * BATCH;
        let secrets: Vec<usize> = trials
            .clone()
            .map(|t| series.role(t, Role::Secret).stream().below(texts.len()))
            .collect();
        let queries: Vec<Query<'_>> = trials
            .zip(&secrets)
            .map(|(t, secret)| Query {
                text: &texts[*secret],
                seed: series.role(t, Role::Mechanism),
            })
            .collect();
        let releases = mechanism.rewrite(&queries)?;
        let pairs: Vec<(&str, &str)> = releases
            .iter()
            .flat_map(|r| texts.iter().map(|text| (&r.text[..], &text[..])))
            .collect();
        let likelihood = mechanism.likelihood().expect("GRR has a likelihood");
        let logs = likelihood.log_likelihood(&pairs)?;
        for (logs, secret) in logs.chunks(texts.len()).zip(secrets) {
            let score = |i: &usize| logs[*i].as_ref().map_or(f64::NEG_INFINITY, |log| *log);
            let guess = (0..texts.len()).max_by(|a, b| score(a).total_cmp(&score(b)));
            hits += u64::from(guess == Some(secret));
        }
    }
    Ok(hits)
}

/// Nanoseconds a trial of a pass over [`TRIALS`], the best of [`PASSES`]: others share the machine.
fn time(mut pass: impl FnMut()) -> f64 {
    let once = |_| {
        let started = Instant::now();
        pass();
        started.elapsed().as_secs_f64() * 1e9 / TRIALS as f64
    };
    (0..PASSES).map(once).fold(f64::INFINITY, f64::min)
}
