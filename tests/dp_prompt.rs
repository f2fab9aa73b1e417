//! DP-Prompt on a random FLAN-T5-shaped checkpoint against exact probabilities: what the audit runs is what the
//! formula says, through file, tokenizer, encoder, decoder, clipping and temperature.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use statrs::distribution::{ChiSquared, ContinuousCDF};
use teda_core::{Mechanism, Query, Seed};
use teda_mechanisms::{Context, registry};
use teda_models::generate::Options;
use teda_models::{Checkpoint, LocalModel, builtin};

const TEXT: &str = "what is it like in Boston?";
const CLIP: (f64, f64) = (-2.0, 3.0);
const END: u32 = 2;

fn checkpoint() -> Checkpoint {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/tests/fixtures/t5");
    Checkpoint::open("t5", &path).unwrap()
}

fn model() -> LocalModel {
    LocalModel::load(checkpoint(), Options::default()).unwrap()
}

/// Rows of two tokens, or of one and the end, with their probabilities from the definition: the decoder starts from
/// token 1 and ends at token 2.
fn rows(epsilon: f64) -> Vec<(Vec<u32>, f64)> {
    let (checkpoint, model) = (checkpoint(), model());
    let prompt = format!("Document : {TEXT}\nParaphrase of the document :");
    let source = checkpoint.encode(&prompt, true).unwrap();
    let step = |before: &[u32]| -> Vec<f64> {
        let row = [&[1][..], before].concat();
        let logits = model.logits(&source, &row).unwrap();
        let temperature = 2.0 * (CLIP.1 - CLIP.0) / epsilon;
        let weights: Vec<f64> = logits
            .row(before.len())
            .iter()
            .map(|l| (f64::from(*l).clamp(CLIP.0, CLIP.1) / temperature).exp())
            .collect();
        let total: f64 = weights.iter().sum();
        weights.into_iter().map(|w| w / total).collect()
    };
    let mut rows = Vec::new();
    for (first, p) in (0..).zip(step(&[])) {
        if first == END {
            rows.push((vec![first], p));
            continue;
        }
        for (second, q) in (0..).zip(step(&[first])) {
            rows.push((vec![first, second], p * q));
        }
    }
    rows
}

/// The probabilities of the texts that they write.
fn exact(epsilon: f64) -> BTreeMap<String, f64> {
    let checkpoint = checkpoint();
    let mut releases = BTreeMap::new();
    for (tokens, p) in rows(epsilon) {
        let text = checkpoint.decode(&tokens).unwrap().trim().to_owned();
        *releases.entry(text).or_default() += p;
    }
    releases
}

fn mechanism(epsilon: f64) -> Box<dyn Mechanism> {
    let encoder = Arc::new(builtin::encoder().unwrap());
    let texts = [TEXT.to_owned()].into();
    let context = Context {
        language_model: Some(Arc::new(model())),
        ..Context::without_models(texts, encoder.clone(), encoder)
    };
    let entry = registry::entry("dp-prompt").unwrap();
    let set = [("clip_low", CLIP.0), ("clip_high", CLIP.1), ("length", 2.0)];
    let settings = entry
        .settings(
            None,
            &set.map(|(name, value)| (name.to_owned(), value.to_string())),
        )
        .unwrap();
    entry.instance(&context, Some(epsilon), &settings).unwrap()
}

#[test]
fn releases_follow_the_exact_probabilities() {
    for epsilon in [2.0, 25.0] {
        let mechanism = mechanism(epsilon);
        let draws = 20_000;
        let queries: Vec<Query<'_>> = (0..draws)
            .map(|i| Query {
                text: TEXT,
                seed: Seed::root(17).at(i),
            })
            .collect();
        let mut counts: BTreeMap<String, f64> = BTreeMap::new();
        for release in mechanism.rewrite(&queries).unwrap() {
            assert_eq!(release.failure, None);
            *counts.entry(release.text).or_default() += 1.0;
        }
        let exact = exact(epsilon);
        // Rare releases are one cell together.
        let (mut chi, mut cells, mut rare) = (0.0, 0.0, (0.0, 0.0));
        for (release, p) in &exact {
            let (mean, seen) = (
                p * draws as f64,
                counts.get(release).copied().unwrap_or(0.0),
            );
            if mean >= 8.0 {
                chi += (seen - mean).powi(2) / mean;
                cells += 1.0;
            } else {
                rare = (rare.0 + mean, rare.1 + seen);
            }
        }
        chi += (rare.1 - rare.0).powi(2) / rare.0;
        assert!(counts.keys().all(|release| exact.contains_key(release)));
        let p = ChiSquared::new(cells).unwrap().sf(chi);
        assert!(p > 1e-4, "ε={epsilon}: χ²={chi} over {cells} cells, p={p}");
    }
}

/// What is stated of a text is the probability of one row: that which the tokenizer reads, ended or not.
#[test]
fn likelihoods_are_those_of_the_rows_that_the_tokenizer_reads() {
    let checkpoint = checkpoint();
    for epsilon in [2.0, 25.0] {
        let mechanism = mechanism(epsilon);
        let likelihood = mechanism.likelihood().unwrap();
        let read = |(tokens, p): (Vec<u32>, f64)| {
            let text = checkpoint.decode(&tokens).unwrap().trim().to_owned();
            let own = tokens.strip_suffix(&[END]).unwrap_or(&tokens);
            let same = !own.is_empty() && checkpoint.encode(&text, false).unwrap() == own;
            same.then_some((text, own.len(), p))
        };
        let read: Vec<(String, usize, f64)> = rows(epsilon).into_iter().filter_map(read).collect();
        for length in [1, 2] {
            let count = read
                .iter()
                .filter(|(_, tokens, _)| *tokens == length)
                .count();
            assert!(count >= 20, "{count} texts are rows of {length}");
        }
        let pairs: Vec<(&str, &str)> = read.iter().map(|(text, ..)| (&text[..], TEXT)).collect();
        let found = likelihood.log_likelihood(&pairs).unwrap();
        for ((text, _, p), found) in read.iter().zip(found) {
            let found = found.unwrap();
            assert!(
                (found - p.ln()).abs() < 1e-4,
                "'{text}': {found}, not {}",
                p.ln()
            );
        }
    }
}

/// What has no room in the model's window is rewritten to nothing, and so to no release.
#[test]
fn a_text_beyond_the_window_is_nobodys_source() {
    let mechanism = mechanism(2.0);
    let long = "what is it like ".repeat(10_000);
    let query = Query {
        text: &long,
        seed: Seed::root(1),
    };
    assert!(mechanism.rewrite(&[query]).unwrap()[0].failure.is_some());
    let likelihood = mechanism.likelihood().unwrap();
    let pairs = [("what is", &long[..]), ("what is", TEXT)];
    let found = likelihood.log_likelihood(&pairs).unwrap();
    assert_eq!(found[0], Ok(f64::NEG_INFINITY));
    assert!(
        found[1].as_ref().is_ok_and(|ln| ln.is_finite()),
        "{found:?}"
    );
}
