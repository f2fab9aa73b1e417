//! Sentence vectors from a server.

use serde_json::json;
use teda_core::Encoder;
use teda_server::{Http, Options};

use crate::model::{answer, open};
use crate::server::{Act, Server};

#[test]
fn vectors_have_norm_1_and_the_order_of_the_texts() {
    let server = Server::start(answer);
    let http = Http::open_encoder(&server.url(""), Options::default()).unwrap();
    assert_eq!((http.dimension(), server.requests()), (3, 3));
    let texts: Vec<String> = (1..=70).map(|length| "x".repeat(length)).collect();
    let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    texts.insert(5, " ");
    let vectors = http.encode(&texts).unwrap();
    assert_eq!(vectors.dim(), (71, 3));
    for (text, vector) in texts.iter().zip(vectors.rows()) {
        if text.trim().is_empty() {
            assert_eq!(vector.to_vec(), [0.0; 3]);
            continue;
        }
        let norm = (9.0 + (text.len() as f32).powi(2)).sqrt();
        assert!((vector[0] - 3.0 / norm).abs() < 1e-6 && vector[1] == 0.0);
        assert!((vector[2] - text.len() as f32 / norm).abs() < 1e-6);
    }
    assert_eq!(server.requests(), 3 + 3, "batches of 32");
    assert_eq!(http.encode(&[]).unwrap().dim(), (0, 3));
    assert_eq!(http.usage().tokens, 30);
}

#[test]
fn a_vector_is_paid_for_once_whatever_it_was_asked_for_with() {
    let server = Server::start(answer);
    let directory = tempfile::tempdir().unwrap();
    let options = Options {
        cache: Some(directory.path().to_owned()),
        ..Options::default()
    };
    let first = Http::open_encoder(&server.url(""), options.clone()).unwrap();
    let together = first.encode(&["a", "bb", "ccc"]).unwrap();
    assert_eq!(server.requests(), 3 + 1);
    let second = Http::open_encoder(&server.url(""), options).unwrap();
    let alone = second.encode(&["ccc"]).unwrap();
    assert_eq!(alone.row(0), together.row(2));
    assert_eq!((server.requests(), second.usage().cached), (4, 4));
    second.encode(&["bb", "dddd", "a"]).unwrap();
    assert_eq!(server.seen()[4].body["input"], json!(["dddd"]));
}

#[test]
fn a_server_that_mixes_texts_up_is_asked_for_one_at_a_time() {
    let server = Server::start(|seen| match seen.body["input"].as_array().unwrap().len() {
        1 => answer(seen),
        // Every text gets the first one's vector.
        count => {
            let data = vec![json!({"embedding": [1, 0, 0]}); count];
            Act::Answer(json!({"data": data}))
        }
    });
    let http = Http::open_encoder(&server.url(""), Options::default()).unwrap();
    let vectors = http.encode(&["xxx", "xxxx"]).unwrap();
    assert_eq!(vectors.row(1).to_vec(), [0.6, 0.0, 0.8]);
    assert_eq!(server.requests(), 3 + 2);
}

#[test]
fn what_is_not_one_vector_a_text_is_an_error() {
    let server = Server::start(|seen| {
        let texts = seen.body["input"].as_array().unwrap();
        match texts[0].as_str().unwrap() {
            "short" => Act::Answer(json!({"data": [{"embedding": [1, 2]}]})),
            "none" => Act::Answer(json!({"data": []})),
            "never" => Act::Status(400, "", "no embeddings here".into()),
            _ => answer(seen),
        }
    });
    let http = open(&server.url("retries=1"));
    http.encode(&["a"]).unwrap();
    for (text, part) in [
        ("short", "2 numbers, others have 3"),
        ("none", "0 embeddings for 1 texts"),
        ("never", "no embeddings here"),
    ] {
        let error = http.encode(&[text]).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}
