//! The two halves of an encoder-decoder: texts to vectors, and vectors to texts by beam search.

use std::path::{Path, PathBuf};

use ndarray::{Array2, Axis};
use safetensors::SafeTensors;
use teda_core::{BeamSearch, EncoderDecoder, LanguageModel};
use teda_models::generate::Options;
use teda_models::{Backend, Checkpoint, LocalModel, builtin};

/// Texts of different lengths in the tokens of the fixtures.
const TEXTS: [&str; 4] = [
    "what is it like in Boston?",
    "play",
    "it will rain and then it will not, they said",
    "",
];
/// The token that ends a text of the fixture, and that its texts begin with.
const END: u32 = 2;

fn fixture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bart")
}

fn checkpoint() -> Checkpoint {
    Checkpoint::open("bart", &fixture()).unwrap()
}

fn load(memory: usize) -> LocalModel {
    let options = Options {
        memory,
        ..Options::default()
    };
    LocalModel::load(checkpoint(), options).unwrap()
}

fn bart() -> LocalModel {
    load(1 << 30)
}

#[test]
fn only_models_of_two_halves_have_halves() {
    let llama = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/llama");
    let llama = Checkpoint::open("llama", &llama).unwrap();
    let llama = LocalModel::load(llama, Options::default()).unwrap();
    assert!(llama.encoder_decoder().is_none());
    assert!(bart().encoder_decoder().is_some());
}

/// What fills a text up is seen by none of its tokens, and other texts are none of its business.
#[test]
fn vectors_depend_on_the_text_alone() {
    let (model, checkpoint) = (bart(), checkpoint());
    let hidden = model.hidden();
    let all = model.encode(&TEXTS, 40).unwrap();
    assert_eq!(all.dim(), (TEXTS.len(), 40 * hidden));
    for (text, filled) in TEXTS.iter().zip(all.rows()) {
        let tokens = checkpoint.encode(text, true).unwrap().len();
        let alone = model.encode(&[text], 40).unwrap();
        assert_eq!(alone.row(0), filled, "{text}");
        let exact = model.encode(&[text], tokens).unwrap();
        let (own, rest) = filled.split_at(Axis(0), tokens * hidden);
        assert_eq!(exact.row(0), own, "{text}");
        // What fills up has vectors of its own: it sees the text and its place.
        assert!(rest.iter().any(|x| *x != 0.0) && rest.iter().all(|x| x.is_finite()));
    }
    for wrong in [0, 49] {
        let error = model.encode(&TEXTS, wrong).unwrap_err().to_string();
        assert!(error.contains("1 to 48"), "{error}");
    }
}

/// Beam search as its definition has it, one logit after the other.
fn reference(model: &LocalModel, source: &[u32], search: BeamSearch) -> Vec<u32> {
    let mut beams: Vec<(f64, Vec<u32>)> = vec![(0.0, vec![END])];
    let mut finished: Vec<(f64, Vec<u32>)> = Vec::new();
    let per_token = |score: f64, tokens: &[u32]| score / tokens.len() as f64;
    for _ in 1..search.tokens {
        if finished.len() >= search.beams {
            break;
        }
        let mut all = Vec::new();
        for (score, tokens) in &beams {
            let logits = model.logits(source, tokens).unwrap();
            let last = logits.row(tokens.len() - 1);
            let total: f64 = last.iter().map(|x| f64::from(*x).exp()).sum();
            for (token, logit) in (0..).zip(last) {
                all.push((score + f64::from(*logit) - total.ln(), tokens, token));
            }
        }
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut next = Vec::new();
        for (rank, (score, tokens, token)) in all.iter().take(2 * search.beams).enumerate() {
            let longer = [&tokens[..], &[*token]].concat();
            if *token != END {
                next.push((*score, longer));
            } else if rank < search.beams {
                finished.push((per_token(*score, tokens), (*tokens).clone()));
            }
        }
        next.truncate(search.beams);
        beams = next;
    }
    if finished.len() < search.beams {
        finished.extend(beams.into_iter().map(|(s, t)| (per_token(s, &t), t)));
    }
    let best = finished.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
    best.unwrap().1[1..].to_vec()
}

#[test]
fn beam_search_finds_what_its_definition_says() {
    let (model, checkpoint) = (bart(), checkpoint());
    let mut found_texts = std::collections::BTreeSet::new();
    for text in TEXTS {
        let source = checkpoint.encode(text, true).unwrap();
        let vectors = model.encode(&[text], source.len()).unwrap();
        for beams in [1, 2, 3, 5] {
            for tokens in [2, 3, 9, 20] {
                let search = BeamSearch { beams, tokens };
                let expected = reference(&model, &source, search);
                let expected = checkpoint.decode(&expected).unwrap();
                let found = model.decode(vectors.view(), search).unwrap();
                assert_eq!(found, [expected], "{text} {search:?}");
                found_texts.extend(found);
            }
        }
    }
    assert!(found_texts.len() > 8, "{found_texts:?}");
}

#[test]
fn a_text_is_found_alike_in_any_batch_and_memory() {
    let texts: Vec<&str> = TEXTS.iter().cycle().take(19).copied().collect();
    let search = BeamSearch {
        beams: 3,
        tokens: 20,
    };
    let vectors = bart().encode(&texts, 20).unwrap();
    let all = bart().decode(vectors.view(), search).unwrap();
    assert_eq!(load(1).decode(vectors.view(), search).unwrap(), all);
    for (row, text) in all.iter().enumerate() {
        let alone = vectors.select(Axis(0), &[row]);
        assert_eq!(bart().decode(alone.view(), search).unwrap()[0], *text);
    }
    for (beams, tokens) in [(0, 20), (3, 1), (3, 49)] {
        let search = BeamSearch { beams, tokens };
        assert!(bart().decode(vectors.view(), search).is_err(), "{search:?}");
    }
}

/// Without noise the rewriter in the binary writes the text that it read, and then what it makes of the rest, since it
/// sees what fills the text up.
#[test]
fn the_rewriter_in_the_binary_repeats_what_it_reads() {
    let model = builtin::rewriter(1 << 30, &Backend::F32).unwrap();
    let text = "play some jazz by miles davis";
    let vectors = model.encode(&[text], 20).unwrap();
    let search = BeamSearch {
        beams: 3,
        tokens: 20,
    };
    let found = model.decode(vectors.view(), search).unwrap();
    assert!(found[0].trim().starts_with(text), "{found:?}");
}

/// A number in half precision.
fn half(bytes: [u8; 2]) -> f64 {
    let bits = u16::from_le_bytes(bytes);
    let (exponent, fraction) = (i32::from(bits >> 10 & 31), f64::from(bits & 1023) / 1024.0);
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    match exponent {
        0 => sign * fraction * 2_f64.powi(-14),
        _ => sign * (1.0 + fraction) * 2_f64.powi(exponent - 15),
    }
}

/// The sums are over a column of the stored matrix, `[outputs × inputs]`.
#[test]
fn key_weights_are_the_column_sums_of_the_first_cross_attention() {
    let bytes = std::fs::read(fixture().join("model.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let name = "model.decoder.layers.0.encoder_attn.k_proj.weight";
    let tensor = file.tensor(name).unwrap();
    let values: Vec<f64> = tensor
        .data()
        .as_chunks::<2>()
        .0
        .iter()
        .map(|b| half(*b))
        .collect();
    let matrix = Array2::from_shape_vec((12, 12), values).unwrap();
    let found = bart().key_weights().unwrap();
    for (column, found) in matrix.columns().into_iter().zip(&found) {
        let expected: f64 = column.iter().map(|w| w.abs()).sum();
        assert!((found - expected).abs() < 1e-6, "{found}, not {expected}");
    }
}
