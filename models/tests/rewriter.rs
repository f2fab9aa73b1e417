//! The built-in rewriting model: against transformers, and at its edges.

use std::path::Path;

use serde::Deserialize;
use teda_core::{Lane, LanguageModel, Longest, Prompt, Scorer, Seed, Stream};
use teda_models::{LocalModel, builtin};

#[derive(Deserialize)]
struct Case {
    text: String,
    continuation: String,
    tokens: usize,
    log_likelihood: f64,
    greedy: String,
}

fn cases() -> Vec<Case> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/rewriter.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn model() -> LocalModel {
    builtin::rewriter(1 << 30).unwrap()
}

/// The first of the highest logits.
fn greedy(logits: &mut [f32], _: &mut Stream) -> u32 {
    let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    logits.iter().position(|logit| *logit == highest).unwrap() as u32
}

fn write(model: &LocalModel, texts: &[&str], banned: &[String]) -> Vec<Result<String, String>> {
    let lanes: Vec<Lane<'_>> = texts
        .iter()
        .map(|text| Lane {
            text,
            seed: Seed::root(0),
            longest: Longest::Tokens(40),
            banned,
        })
        .collect();
    let made = model.generate(&Prompt::new("{}"), &lanes, &greedy).unwrap();
    made.into_iter()
        .map(|answer| answer.map(|generated| generated.text.trim().to_owned()))
        .collect()
}

#[test]
fn likelihoods_and_greedy_rewrites_are_those_of_transformers() {
    let (model, cases) = (model(), cases());
    // It follows no instructions: only the text of a prompt is read.
    let prompt = Prompt::new("Document : {}\nParaphrase of the document :");
    let pairs: Vec<(&str, &str)> = cases
        .iter()
        .map(|case| (&case.text[..], &case.continuation[..]))
        .collect();
    let found = model.log_likelihood(&prompt, &pairs).unwrap();
    let texts: Vec<&str> = cases.iter().map(|case| &case.text[..]).collect();
    let rewrites = write(&model, &texts, &[]);
    for ((case, found), rewrite) in cases.iter().zip(found).zip(rewrites) {
        let found = found.unwrap();
        assert_eq!(found.tokens, case.tokens, "{}", case.text);
        let error = (found.total - case.log_likelihood).abs();
        assert!(
            error < 1e-3,
            "{}: {found:?}, not {}",
            case.text,
            case.log_likelihood
        );
        // Of an empty text the fixture holds the beginning alone.
        let rewrite = rewrite.unwrap();
        assert!(
            rewrite.starts_with(&case.greedy),
            "{}: {rewrite}",
            case.text
        );
        assert!(case.text.is_empty() || rewrite == case.greedy, "{rewrite}");
    }
}

#[test]
fn banned_words_are_not_written_and_others_stay() {
    let banned = ["jazz", "play"].map(String::from);
    let texts = ["play some jazz music", "Jazz is what they play"];
    for (text, written) in texts.iter().zip(write(&model(), &texts, &banned)) {
        let written = written.unwrap();
        let words: Vec<String> = written.split_whitespace().map(str::to_lowercase).collect();
        assert!(
            !words.iter().any(|word| banned.contains(word)),
            "{text}: {written}"
        );
    }
}

#[test]
fn a_text_beyond_its_window_fails_alone_and_an_empty_one_is_read() {
    let long = "word ".repeat(300);
    let written = write(&model(), &["play some jazz music", &long, ""], &[]);
    assert_eq!(written[0].as_deref(), Ok("play some jazz music"));
    assert!(
        written[1].as_ref().unwrap_err().contains("room for 128"),
        "{:?}",
        written[1]
    );
    assert!(written[2].is_ok());
}
