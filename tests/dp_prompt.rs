//! DP-Prompt on a random FLAN-T5-shaped checkpoint against exact probabilities: what the audit runs is what the
//! formula says, through file, tokenizer, encoder, decoder, clipping and temperature.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use statrs::distribution::{ChiSquared, ContinuousCDF};
use teda_core::{Query, Seed};
use teda_mechanisms::{Context, registry};
use teda_models::generate::Options;
use teda_models::{Checkpoint, LocalModel, builtin};

const TEXT: &str = "what is it like in Boston?";
const CLIP: (f64, f64) = (-2.0, 3.0);

fn checkpoint() -> Checkpoint {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("models/tests/fixtures/t5");
    Checkpoint::open("t5", &path).unwrap()
}

fn model() -> LocalModel {
    LocalModel::load(checkpoint(), Options::default()).unwrap()
}

/// Releases of two tokens from the definition: the decoder starts from token 1 and ends at token 2.
fn exact(epsilon: f64) -> BTreeMap<String, f64> {
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
    let mut releases = BTreeMap::new();
    let mut add = |tokens: &[u32], p: f64| {
        let text = checkpoint.decode(tokens).unwrap().trim().to_owned();
        *releases.entry(text).or_default() += p;
    };
    for (first, p) in (0..).zip(step(&[])) {
        if first == 2 {
            add(&[first], p);
            continue;
        }
        for (second, q) in (0..).zip(step(&[first])) {
            add(&[first, second], p * q);
        }
    }
    releases
}

#[test]
fn releases_follow_the_exact_probabilities() {
    let encoder = Arc::new(builtin::encoder().unwrap());
    let context = Context {
        texts: [TEXT.to_owned()].into(),
        tokens: encoder.clone(),
        encoder,
        generator: None,
        sampler: None,
        language_model: Some(Arc::new(model())),
    };
    let entry = registry::entry("dp-prompt").unwrap();
    let set = [("clip_low", CLIP.0), ("clip_high", CLIP.1), ("length", 2.0)];
    let settings = entry
        .settings(
            None,
            &set.map(|(name, value)| (name.to_owned(), value.to_string())),
        )
        .unwrap();
    for epsilon in [2.0, 25.0] {
        let mechanism = entry.instance(&context, Some(epsilon), &settings).unwrap();
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
