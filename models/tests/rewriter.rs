//! The built-in rewriting model: against transformers, and at its edges.

use std::path::Path;

use serde::Deserialize;
use teda_core::{
    Answer, LanguageModel, MaxNewTokens, Prompt, Scorer, Seed, Sequence, Stream, ln_softmax_over,
};
use teda_models::generate::Options;
use teda_models::{Backend, Checkpoint, LocalModel, builtin};

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
    builtin::rewriter(1 << 30, &Backend::F32).unwrap()
}

/// The first of the highest logits.
fn greedy(logits: &mut [f32], _: &mut Stream) -> u32 {
    let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    logits.iter().position(|logit| *logit == highest).unwrap() as u32
}

fn write(model: &LocalModel, texts: &[&str], banned: &[String]) -> Vec<Answer<String>> {
    let sequences: Vec<Sequence<'_>> = texts
        .iter()
        .map(|text| Sequence {
            text,
            seed: Seed::root(0),
            max_new_tokens: MaxNewTokens::Tokens(40),
            banned,
        })
        .collect();
    let made = model
        .generate(&Prompt::new("{}"), &sequences, &greedy)
        .unwrap();
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

/// What is followed is what is generated: along its own greedy rewrite every token, and then the end, is the
/// likeliest. Both see the same logits, bit by bit.
#[test]
fn along_a_greedy_rewrite_every_token_is_the_likeliest() {
    let model = model();
    let texts = ["play some jazz music", "what is the weather in boston"];
    let rewrites = write(&model, &texts, &[]);
    let rewrites: Vec<String> = rewrites.into_iter().map(Result::unwrap).collect();
    let pairs = [0, 1].map(|i| (texts[i], &rewrites[i][..]));
    let prompt = Prompt::new("{}");
    let below_the_highest = |logits: &[f32], tokens: &[u32]| {
        let highest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let own = tokens.iter().map(|token| logits[*token as usize]);
        f64::from(own.fold(f32::NEG_INFINITY, f32::max) - highest)
    };
    for followed in model.follow(&prompt, &pairs, &below_the_highest).unwrap() {
        let followed = followed.unwrap();
        assert!(followed.likelihood.tokens >= 4, "{followed:?}");
        assert_eq!((followed.likelihood.total, followed.end), (0.0, 0.0));
    }
    // Weighed by the softmax it is the likelihood that is held against transformers above.
    let softmax = |logits: &[f32], tokens: &[u32]| ln_softmax_over(logits, tokens, f64::from);
    let followed = model.follow(&prompt, &pairs, &softmax).unwrap();
    let scores = model.log_likelihood(&prompt, &pairs).unwrap();
    for (followed, score) in followed.into_iter().zip(scores) {
        let followed = followed.unwrap();
        assert_eq!(followed.likelihood, score.unwrap());
        assert!(followed.end < 0.0 && followed.end > -1.0, "{followed:?}");
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
        written[1]
            .as_ref()
            .unwrap_err()
            .reason
            .contains("room for 128"),
        "{:?}",
        written[1]
    );
    assert!(written[2].is_ok());
}

/// A checkpoint can say that it was trained to rewrite: of a prompt it then reads the text alone, as this model does.
#[test]
fn a_checkpoint_that_was_trained_to_rewrite_reads_no_prompt() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bart");
    let folder = tempfile::tempdir().unwrap();
    for file in std::fs::read_dir(&fixture).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    let load = |path: &Path| {
        let checkpoint = Checkpoint::open("bart", path).unwrap();
        LocalModel::load(checkpoint, Options::default()).unwrap()
    };
    let config = folder.path().join("config.json");
    let mut fields: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&config).unwrap()).unwrap();
    fields["teda_reads"] = "text".into();
    std::fs::write(&config, fields.to_string()).unwrap();
    let (usual, rewriter) = (load(&fixture), load(folder.path()));
    assert!(usual.follows_instructions() && !rewriter.follows_instructions());
    let tokens = |model: &LocalModel, prompt| {
        let prompt = Prompt::new(prompt);
        model.prompt_tokens(&prompt, "a b").unwrap()
    };
    let asked = "Rewrite this text: {} in your own words";
    assert_eq!(tokens(&rewriter, asked), tokens(&rewriter, "{}"));
    assert!(tokens(&usual, asked) > tokens(&usual, "{}"));
}
