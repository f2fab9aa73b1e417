//! Utilities against the field's reference packages (`scripts/utilities/fixture.py`).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use teda_models::generate::{self, LocalModel};
use teda_models::{Checkpoint, SentenceEncoder};
use teda_utilities::{Context, Pair, registry};

#[derive(Deserialize)]
struct Expected {
    corpus_bleu: f64,
    signature: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    source: String,
    release: String,
    rouge1: f64,
    #[serde(rename = "rougeL")]
    rouge_l: f64,
    bleu: f64,
    bertscore: f64,
    cosine: f64,
    perplexity: Option<f64>,
}

fn expected() -> Expected {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/pairs.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn folder(name: &str) -> PathBuf {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/tests/fixtures");
    models.join(name)
}

/// The tiny BERT and GPT-2, the latter with the tokens of RoBERTa's tokenizer.
fn context() -> Context {
    let bert = Checkpoint::open("bert", &folder("bert")).unwrap();
    let together = tempfile::tempdir().unwrap();
    for name in ["config.json", "model.safetensors"] {
        std::fs::copy(folder("gpt2").join(name), together.path().join(name)).unwrap();
    }
    // As GPT-2's: it puts nothing around a text.
    let tokenizer = std::fs::read(folder("roberta").join("tokenizer.json")).unwrap();
    let mut tokenizer: serde_json::Value = serde_json::from_slice(&tokenizer).unwrap();
    tokenizer["post_processor"].take();
    let place = together.path().join("tokenizer.json");
    std::fs::write(place, tokenizer.to_string()).unwrap();
    let gpt2 = Checkpoint::open("gpt2", together.path()).unwrap();
    let gpt2 = LocalModel::load(gpt2, generate::Options::default()).unwrap();
    Context {
        encoder: (
            Arc::new(SentenceEncoder::load(bert).unwrap()),
            "bert".into(),
        ),
        scorer: Some((Arc::new(gpt2), "gpt2".into())),
    }
}

#[test]
fn scores_are_those_of_the_reference_packages() {
    let Expected {
        corpus_bleu,
        signature,
        cases,
    } = expected();
    assert!(cases.len() >= 100);
    let pairs: Vec<Pair<'_>> = cases
        .iter()
        .map(|case| Pair {
            source: &case.source,
            release: &case.release,
        })
        .collect();
    let context = context();
    type Score = fn(&Case) -> Option<f64>;
    let columns: [(&str, Score); 6] = [
        ("rouge1", |case| Some(case.rouge1)),
        ("rougeL", |case| Some(case.rouge_l)),
        ("bleu", |case| Some(case.bleu)),
        ("bertscore", |case| Some(case.bertscore)),
        ("cosine", |case| Some(case.cosine)),
        ("perplexity", |case| case.perplexity),
    ];
    for (name, expected) in columns {
        let utility = (registry::entry(name).unwrap().build)(&context).unwrap();
        let found = utility.scores(&pairs).unwrap();
        for (case, found) in cases.iter().zip(found) {
            let expected = expected(case);
            assert_eq!(
                found.is_some(),
                expected.is_some(),
                "{name}: {:?}",
                case.source
            );
            let (found, expected) = (found.unwrap_or(0.0), expected.unwrap_or(0.0));
            // A perplexity is above 1 and grows without bound: its relative error counts.
            let allowed = 1e-4 * expected.abs().max(1.0);
            assert!(
                (found - expected).abs() < allowed,
                "{name}: {found}, not {expected}: {:?} → {:?}",
                case.source,
                case.release
            );
        }
        let scores: Vec<Option<f64>> = pairs
            .iter()
            .flat_map(|pair| utility.scores(&[*pair]).unwrap())
            .collect();
        assert_eq!(scores, utility.scores(&pairs).unwrap(), "{name} in a batch");
        if let Some(mut corpus) = utility.corpus() {
            corpus.add(&pairs[..30]);
            corpus.add(&pairs[30..]);
            assert!(
                (corpus.score() - corpus_bleu).abs() < 1e-9,
                "{}",
                corpus.score()
            );
            assert!(signature.starts_with(&corpus.signature()), "{signature}");
        }
    }
}
