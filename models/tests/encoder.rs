//! The built-in encoder against the vectors that its training exported, and its token map.

use ndarray::Axis;
use rayon::ThreadPoolBuilder;
use serde::Deserialize;
use teda_core::{Encoder, TokenMap};
use teda_models::builtin::{self, Model};

#[derive(Deserialize)]
struct Fixture {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    text: String,
    ids: Vec<u32>,
    vector: Vec<f32>,
}

#[test]
fn ids_and_vectors_agree_with_the_training() {
    let fixture: Fixture = serde_json::from_slice(include_bytes!("fixtures/encoder.json")).unwrap();
    let encoder = builtin::encoder().unwrap();
    let texts: Vec<&str> = fixture
        .cases
        .iter()
        .map(|case| case.text.as_str())
        .collect();
    let vectors = encoder.encode(&texts).unwrap();
    for (case, vector) in fixture.cases.iter().zip(vectors.rows()) {
        assert_eq!(encoder.tokenize(&case.text), case.ids, "{}", case.text);
        for (x, expected) in vector.iter().zip(&case.vector) {
            assert!(
                (x - expected).abs() <= 1e-5,
                "{}: {x}, {expected}",
                case.text
            );
        }
    }
}

#[test]
fn a_vector_depends_on_its_text_alone() {
    let encoder = builtin::encoder().unwrap();
    let texts: Vec<String> = (0..500)
        .map(|i| format!("play track {i}, please"))
        .collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let all = encoder.encode(&texts).unwrap();
    for threads in [1, 2] {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        for batch in [1, 7, 64] {
            for (index, chunk) in texts.chunks(batch).enumerate() {
                let part = pool.install(|| encoder.encode(chunk)).unwrap();
                let rows: Vec<usize> = (index * batch..).take(chunk.len()).collect();
                assert_eq!(part, all.select(Axis(0), &rows));
            }
        }
    }
    assert_eq!(encoder.encode(&[]).unwrap().dim(), (0, encoder.dimension()));
}

#[test]
fn every_text_has_a_defined_result() {
    let encoder = builtin::encoder().unwrap();
    let norm = |text: &str| {
        let vector = encoder.encode(&[text]).unwrap();
        vector
            .iter()
            .map(|x| f64::from(*x).powi(2))
            .sum::<f64>()
            .sqrt()
    };
    for text in ["", " \n", "\0\u{1}\u{7f}", "\u{200b}"] {
        assert_eq!(norm(text), 0.0, "{text:?}");
        assert!(encoder.tokenize(text).is_empty(), "{text:?}");
    }
    assert!((norm("hello") - 1.0).abs() < 1e-6);
    assert_eq!(encoder.tokenize("he\0llo"), encoder.tokenize("hello"));
    // WordPiece gives up on a word of more than 100 characters: one unknown token.
    assert_eq!(
        encoder.tokenize(&"a".repeat(101)),
        encoder.tokenize("[UNK]")
    );
    assert_eq!(encoder.tokenize(&"a".repeat(100_000)).len(), 1);
    assert_eq!(encoder.tokenize(&"!".repeat(100_000)).len(), 100_000);
    let long = "many words and more ".repeat(5_000);
    assert_eq!(encoder.tokenize(&long).len(), 20_000);
    assert!((norm(&long) - 1.0).abs() < 1e-6);
}

#[test]
fn the_token_map_is_consistent() {
    let encoder = builtin::encoder().unwrap();
    let vectors = encoder.vectors();
    assert_eq!(vectors.dim(), (30_522, encoder.dimension()));
    let released = encoder.released();
    assert!(released.is_sorted_by(|a, b| a < b));
    for (id, vector) in vectors.rows().into_iter().enumerate() {
        let norm = vector.dot(&vector).sqrt();
        if norm == 0.0 {
            assert!(released.binary_search(&(id as u32)).is_err());
        } else {
            assert!((norm - 1.0).abs() < 1e-5, "token {id} has norm {norm}");
        }
    }
    for name in ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] {
        for token in encoder.tokenize(name) {
            assert!(released.binary_search(&token).is_err(), "{name}");
        }
    }
    assert!(released.binary_search(&1).is_err(), "[unused0]");
    let text = "please play unbelievably obscure krautrock";
    assert_eq!(encoder.detokenize(&encoder.tokenize(text)), text);
    let question = encoder.tokenize("What's up?");
    assert_eq!(encoder.detokenize(&question), "what ' s up ?");
    assert_eq!(encoder.detokenize(&[]), "");
    assert_eq!(encoder.detokenize(&[u32::MAX]), "[UNK]");
}

#[test]
fn digests_name_every_shipped_file() {
    let models = [
        Model::Encoder,
        Model::Infill,
        Model::Rewriter,
        Model::Autoencoder,
    ];
    let digests: Vec<_> = models.into_iter().flat_map(builtin::digests).collect();
    // The tokenizer of rewriter and autoencoder is the infilling model's.
    assert_eq!(digests.len(), 2 + 3 + 3 + 3);
    for (name, digest) in digests {
        let path = format!("{}/{name}", env!("CARGO_MANIFEST_DIR"));
        assert!(std::path::Path::new(&path).exists(), "{path}");
        assert!(digest.len() == 64 && digest.chars().all(|c| c.is_ascii_hexdigit()));
    }
}
