//! The gate of the built-in rewriting model: it ships because it copies clean held-out texts.

use teda_core::{LanguageModel, MaxNewTokens, Prompt, Seed, Sequence, Stream};
use teda_datasets::Request;
use teda_models::{Backend, builtin};

/// Texts tried, and those that must come back unchanged when the likeliest token is always taken.
const TEXTS: usize = 200;
const COPIED: usize = 190;

#[test]
fn held_out_texts_are_copied() {
    let request = Request {
        source: "snips".to_owned(),
        split: Some("test".to_owned()),
        limit: Some(TEXTS),
        min_words: None,
        max_words: None,
    };
    let texts = teda_datasets::load(
        &request,
        teda_datasets::Limits::default(),
        &mut std::io::empty(),
    )
    .unwrap()
    .texts;
    let model = builtin::rewriter(1 << 30, &Backend::F32).unwrap();
    let sequences: Vec<Sequence<'_>> = texts
        .iter()
        .map(|text| Sequence {
            text,
            seed: Seed::root(0),
            max_new_tokens: MaxNewTokens::AsPrompt,
            banned: &[],
        })
        .collect();
    let greedy = |logits: &mut [f32], _: &mut Stream| {
        let best = (0..logits.len()).max_by(|a, b| logits[*a].total_cmp(&logits[*b]));
        best.unwrap_or(0) as u32
    };
    let made = model
        .generate(&Prompt::new("{}"), &sequences, &greedy)
        .unwrap();
    let copied = made
        .iter()
        .zip(&texts)
        .filter(|(made, text)| {
            made.as_ref()
                .is_ok_and(|made| made.text.trim() == text.trim())
        })
        .count();
    assert_eq!(texts.len(), TEXTS);
    assert!(copied >= COPIED, "{copied} of {TEXTS} copied");
}
