//! The gate of the built-in rewriting model: it ships because it copies clean held-out texts.

use teda_core::{Lane, LanguageModel, Longest, Prompt, Seed, Stream};
use teda_datasets::Request;
use teda_models::builtin;

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
    let texts = teda_datasets::load(&request, &mut std::io::empty())
        .unwrap()
        .texts;
    let model = builtin::rewriter(1 << 30).unwrap();
    let lanes: Vec<Lane<'_>> = texts
        .iter()
        .map(|text| Lane {
            text,
            seed: Seed::root(0),
            longest: Longest::AsPrompt,
            banned: &[],
        })
        .collect();
    let greedy = |logits: &mut [f32], _: &mut Stream| {
        let best = (0..logits.len()).max_by(|a, b| logits[*a].total_cmp(&logits[*b]));
        best.unwrap_or(0) as u32
    };
    let made = model.generate(&Prompt::new("{}"), &lanes, &greedy).unwrap();
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
