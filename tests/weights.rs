//! Real weights against sentence-transformers and transformers (scripts/models/real_weights.py), where
//! they are on this machine.

use ndarray::Array2;
use safetensors::SafeTensors;
use serde::Deserialize;
use teda_core::Encoder;
use teda_hub::{Resolved, Store};
use teda_models::generate::Options;
use teda_models::{Checkpoint, LocalModel, SentenceEncoder};

/// The vectors have every third dimension of the encoder's.
const DIMENSION_STEP: usize = 3;

#[derive(Deserialize)]
struct Minilm {
    texts: Vec<String>,
}

#[derive(Deserialize)]
struct Smollm2 {
    /// Tokens whose log-probabilities are recorded in every case.
    fixed: Vec<u32>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    text: String,
    ids: Vec<u32>,
    likely: Vec<u32>,
    likely_log_probs: Vec<f64>,
    fixed_log_probs: Vec<f64>,
    entropy: f64,
}

fn weights(name: &str) -> Option<Resolved> {
    let options = teda_hub::Options {
        offline: true,
        quiet: true,
    };
    // Without a home directory there is no store, and so no weights.
    let store = Store::open(options).ok();
    let found = store.and_then(|store| store.cached(name).unwrap());
    if found.is_none() {
        eprintln!(
            "skipped: the weights of {name} are not on this machine; `teda models pull {name}` fetches them"
        );
    }
    found
}

fn recorded(name: &str) -> Vec<f32> {
    let bytes = include_bytes!("../models/tests/fixtures/minilm.safetensors");
    let file = SafeTensors::deserialize(bytes).unwrap();
    let values = file.tensor(name).unwrap().data().as_chunks::<4>().0;
    values.iter().map(|b| f32::from_le_bytes(*b)).collect()
}

fn dot<'a>(a: impl IntoIterator<Item = &'a f32>, b: impl IntoIterator<Item = &'a f32>) -> f64 {
    let pairs = a.into_iter().zip(b);
    pairs.map(|(x, y)| f64::from(*x) * f64::from(*y)).sum()
}

#[test]
fn minilm_agrees_with_sentence_transformers() {
    let Some(found) = weights("minilm") else {
        return;
    };
    let fixture: Minilm =
        serde_json::from_slice(include_bytes!("../models/tests/fixtures/minilm.json")).unwrap();
    let texts: Vec<&str> = fixture.texts.iter().map(String::as_str).collect();
    let encoder = SentenceEncoder::load(Checkpoint::open("minilm", &found.path).unwrap()).unwrap();
    let vectors = encoder.encode(&texts).unwrap();
    let columns = encoder.dimension().div_ceil(DIMENSION_STEP);
    let expected = Array2::from_shape_vec((texts.len(), columns), recorded("vectors")).unwrap();
    let cosines = recorded("cosines");
    assert_eq!(cosines.len(), texts.len());
    for (index, next) in cosines.iter().enumerate() {
        let (vector, expected) = (vectors.row(index), expected.row(index));
        let found = vector.iter().step_by(DIMENSION_STEP);
        for (place, (x, y)) in found.clone().zip(expected).enumerate() {
            let dimension = place * DIMENSION_STEP;
            assert!(
                (x - y).abs() <= 1e-4,
                "text {index} dimension {dimension}: {x} for {y}"
            );
        }
        let norms = dot(found.clone(), found.clone()) * dot(expected, expected);
        let cosine = dot(found, expected) / norms.sqrt();
        assert!(cosine >= 1.0 - 1e-6, "text {index}: cosine {cosine}");
        let cosine = dot(vector, vectors.row((index + 1) % texts.len()));
        let expected = f64::from(*next);
        assert!(
            (cosine - expected).abs() <= 1e-4,
            "text {index} and the next: cosine {cosine} for {expected}"
        );
    }
}

/// ln P of every token.
fn log_probabilities(logits: &[f32]) -> Vec<f64> {
    let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let shifted = |x: &f32| f64::from(*x) - f64::from(highest);
    let total: f64 = logits.iter().map(|x| shifted(x).exp()).sum();
    logits.iter().map(|x| shifted(x) - total.ln()).collect()
}

#[test]
fn smollm2_agrees_with_transformers() {
    let name = "smollm2-135m";
    let Some(found) = weights(name) else {
        return;
    };
    if found.path.extension().is_none_or(|e| e != "gguf") {
        eprintln!(
            "skipped: the weights of {name} on this machine are not those that were recorded, the GGUF file of the Python package, but from {}",
            found.source
        );
        return;
    }
    let fixture: Smollm2 =
        serde_json::from_slice(include_bytes!("../models/tests/fixtures/smollm2.json")).unwrap();
    let checkpoint = Checkpoint::open(name, &found.path).unwrap();
    for case in &fixture.cases {
        // The file asks for no special token around a text.
        for special in [false, true] {
            let ids = checkpoint.encode(&case.text, special).unwrap();
            assert_eq!(ids, case.ids, "{:?}", case.text);
        }
    }
    let options = Options {
        chat: false,
        ..Options::default()
    };
    let model = LocalModel::load(checkpoint, options).unwrap();
    for case in &fixture.cases {
        let what = &case.text;
        let logits = model.logits(&[], &case.ids).unwrap();
        let last = logits.row(case.ids.len() - 1).to_vec();
        let found = log_probabilities(&last);
        assert_eq!(case.likely.len(), case.likely_log_probs.len(), "{what:?}");
        assert_eq!(fixture.fixed.len(), case.fixed_log_probs.len(), "{what:?}");
        let ids = case.likely.iter().chain(&fixture.fixed);
        let expected = case.likely_log_probs.iter().chain(&case.fixed_log_probs);
        for (id, expected) in ids.zip(expected) {
            let found = found[*id as usize];
            assert!(
                (found - expected).abs() <= 1e-3,
                "{what:?} token {id}: {found} for {expected}"
            );
        }
        let entropy: f64 = found.iter().map(|x| -x.exp() * x).sum();
        let expected = case.entropy;
        assert!(
            (entropy - expected).abs() <= 1e-3,
            "{what:?}: entropy {entropy} for {expected}"
        );
    }
}

/// Tokens as llama.cpp makes them of the same file: merges rebuilt from scores cut texts as the
/// original does.
#[test]
fn rebuilt_merges_cut_texts_as_the_reference_does() {
    let Some(found) = weights("gemma3-270m") else {
        return;
    };
    if found.path.extension().is_none_or(|e| e != "gguf") {
        eprintln!("skipped: gemma3-270m is here with a tokenizer.json, which needs no rebuilding");
        return;
    }
    let checkpoint = Checkpoint::open("gemma3-270m", &found.path).unwrap();
    for (text, ids) in [
        (
            "play some jazz by miles davis",
            &[2, 1555, 1070, 32_286, 684, 7_635, 21_890, 511][..],
        ),
        (
            "Ünïcode €5 “x”  two spaces",
            &[
                2, 238_194, 236_749, 238_527, 3_970, 11_361, 236_810, 999, 236_781, 236_919, 138,
                13_498, 9_952,
            ],
        ),
    ] {
        assert_eq!(checkpoint.encode(text, true).unwrap(), ids, "{text}");
    }
}
