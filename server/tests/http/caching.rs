//! Answers are paid for once, and no key is written or said anywhere.

use std::path::Path;

use serde_json::json;
use teda_core::{Prompt, Scorer};
use teda_server::{Http, Options};

use crate::model::{answer, ask, check, number, open_with};
use crate::server::{Act, Server};

fn kept(directory: &Path) -> Options {
    Options {
        cache: Some(directory.to_owned()),
        ..Options::default()
    }
}

fn files(directory: &Path) -> String {
    std::fs::read_dir(directory)
        .unwrap()
        .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
        .collect()
}

#[test]
fn a_second_run_sends_nothing() {
    let server = Server::start(answer);
    let directory = tempfile::tempdir().unwrap();
    let first = open_with(&server.url(""), kept(directory.path()));
    let answers = ask(&first, 1, 0..10, 3).unwrap();
    let pairs = [("a", " b"), ("a b", " c")];
    let scores = first
        .log_likelihood(&Prompt::new("Say {}:"), &pairs)
        .unwrap();
    assert_eq!(server.requests(), 34);
    // Limits are no part of what was asked.
    let second = open_with(&server.url("concurrency=1"), kept(directory.path()));
    assert_eq!(ask(&second, 1, 0..10, 3).unwrap(), answers);
    assert_eq!(
        (second.usage().cached_tokens, second.usage().tokens),
        (300, 0)
    );
    let again = second
        .log_likelihood(&Prompt::new("Say {}:"), &pairs)
        .unwrap();
    assert_eq!(again, scores);
    let usage = second.usage();
    assert_eq!((usage.requests, usage.cached, usage.tokens), (0, 33, 0));
    assert_eq!(server.requests(), 34);
    // Another trial's coins, another endpoint, another model: other answers.
    check(&ask(&second, 2, 0..10, 3).unwrap(), 0..10, 3);
    assert_eq!(server.requests(), 64);
    let third = open_with(&server.url("api=completions"), kept(directory.path()));
    ask(&third, 1, 0..10, 3).unwrap();
    assert_eq!(server.requests(), 94);
    let other = server.url("").replace("model=toy", "model=toy2");
    ask(&open_with(&other, kept(directory.path())), 1, 0..10, 3).unwrap();
    assert_eq!(server.requests(), 124);
}

#[test]
fn an_answer_of_no_words_without_a_seed_is_still_one_per_trial() {
    let server = Server::start(answer);
    let directory = tempfile::tempdir().unwrap();
    let http = open_with(&server.url("seed=no"), kept(directory.path()));
    ask(&http, 1, 0..1, 4).unwrap();
    ask(&http, 2, 0..1, 4).unwrap();
    assert_eq!(server.requests(), 8, "the same body stands for fresh coins");
}

#[test]
fn failures_are_not_kept() {
    let server = Server::start(|seen| match (number(seen), seen.before) {
        (1, 0) => Act::Status(400, "", "not now".into()),
        _ => answer(seen),
    });
    let directory = tempfile::tempdir().unwrap();
    let http = open_with(&server.url(""), kept(directory.path()));
    assert!(ask(&http, 1, 0..2, 1).unwrap()[1].is_err());
    check(&ask(&http, 1, 0..2, 1).unwrap(), 0..2, 1);
    assert_eq!(server.requests(), 3);
}

/// The tests' key: a variable that cargo sets, since tests cannot set any without unsafe code.
const VARIABLE: &str = "CARGO_MANIFEST_DIR";

#[test]
fn the_key_reaches_the_server_and_nothing_else() {
    let key = std::env::var(VARIABLE).unwrap();
    let authorization = format!("Bearer {key}");
    let expected = authorization.clone();
    let server = Server::start(move |seen| {
        assert_eq!(seen.authorization.as_ref(), Some(&expected));
        let repeated = format!("bad key {expected}");
        match (number(seen), seen.before) {
            (1, _) => Act::Status(400, "", json!({"error": repeated}).to_string()),
            (2, _) => Act::Status(500, "", repeated),
            (3, _) => Act::Answer(json!({"error": repeated})),
            (4, _) => Act::Status(200, "", repeated),
            (9, _) => Act::Status(401, "", repeated),
            _ => answer(seen),
        }
    });
    let directory = tempfile::tempdir().unwrap();
    let url = server.url(&format!("key_env={VARIABLE}&retries=1"));
    let http = open_with(&url, kept(directory.path()));
    let mut said = format!("{:?}", ask(&http, 1, 0..6, 2).unwrap());
    said += &ask(&http, 1, 9..10, 1).unwrap_err().to_string();
    assert!(said.contains("bad key Bearer [key]"), "{said}");
    assert_eq!(said.matches("[key]").count(), 5, "{said}");
    said += &format!("{http:?} {:?} {}", http.usage(), http.name());
    said += &files(directory.path());
    said += &format!("{:?}", std::fs::read_dir(directory.path()).unwrap().next());
    assert!(said.contains("\"answer\":"), "{said}");
    assert!(!said.contains(&key), "{said}");
}

/// A model that repeats its instructions, and among them the header of the request.
#[test]
fn a_key_in_what_a_model_says_is_neither_kept_nor_shown() {
    let key = std::env::var(VARIABLE).unwrap();
    let spaced: Vec<String> = key.chars().map(String::from).collect();
    let said = format!("It is {key}, or {}.", spaced.join(" "));
    let text = said.clone();
    let server = Server::start(move |seen| match number(seen) {
        0 => {
            let message = json!({"role": "assistant", "content": text});
            Act::Answer(json!({"choices": [{"message": message}]}))
        }
        // A faulty answer, which the message quotes.
        _ => Act::Answer(json!({"choices": [], "said": text})),
    });
    let directory = tempfile::tempdir().unwrap();
    let url = server.url(&format!("key_env={VARIABLE}&retries=0"));
    let http = open_with(&url, kept(directory.path()));
    let answers = ask(&http, 1, 0..2, 1).unwrap();
    let told = &answers[0].as_ref().unwrap()[0];
    assert!(
        told.starts_with("It is [key], or ") && told.ends_with("[key]."),
        "{told}"
    );
    let reason = &answers[1].as_ref().unwrap_err().reason;
    assert!(reason.contains("[key]"), "{reason}");
    let stored = files(directory.path());
    assert!(stored.contains("[key]"), "{stored}");
    for secret in [&key, &spaced.join(" ")] {
        assert!(!stored.contains(secret.as_str()) && !reason.contains(secret.as_str()));
    }
}

#[test]
fn a_directory_that_cannot_be_made_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    std::fs::write(&file, "").unwrap();
    let error = Http::open("http://127.0.0.1:1/v1?model=m", kept(&file.join("answers")));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("answers: the directory"), "{error}");
}
