//! What is asked and what comes back when nothing goes wrong.

use teda_core::Sampling;
use teda_server::Http;

use crate::model::{SAMPLING, answer, ask, check, open, prompt};
use crate::server::Server;

#[test]
fn answers_keep_the_order_of_queries_and_candidates() {
    let server = Server::start(answer);
    for api in ["chat", "completions"] {
        let before = server.requests();
        let http = open(&server.url(&format!("api={api}&concurrency=5")));
        let answers = ask(&http, 1, 0..20, 3).unwrap();
        check(&answers, 0..20, 3);
        assert_eq!(server.requests() - before, 60);
        let usage = http.usage();
        assert_eq!((usage.requests, usage.retries, usage.cached), (60, 0, 0));
        assert_eq!((usage.tokens, usage.estimated_tokens), (600, 0));
        assert!(usage.failures.is_empty());
        assert_eq!(ask(&http, 1, 0..20, 3).unwrap(), answers, "the same seeds");
        assert_ne!(ask(&http, 2, 0..20, 3).unwrap(), answers, "fresh coins");
    }
}

#[test]
fn a_request_says_what_the_mechanism_set() {
    let server = Server::start(answer);
    ask(&open(&server.url("")), 1, 7..8, 1).unwrap();
    ask(&open(&server.url("api=completions")), 1, 7..8, 1).unwrap();
    let other = "seed=no&length=max_completion_tokens";
    ask(&open(&server.url(other)), 1, 7..8, 1).unwrap();
    let seen = server.seen();
    let [chat, completion, other] = &seen[..] else {
        panic!("{seen:?}");
    };
    assert_eq!(chat.path, "/v1/chat/completions");
    assert_eq!(chat.body["model"], "toy");
    assert_eq!(chat.body["temperature"], 0.75);
    assert_eq!(chat.body["max_tokens"], 40);
    assert!((1..1 << 31).contains(&chat.body["seed"].as_u64().unwrap()));
    let message = serde_json::json!([{"role": "user", "content": "Say text 7, please"}]);
    assert_eq!(chat.body["messages"], message);
    assert_eq!(completion.path, "/v1/completions");
    assert_eq!(completion.body["prompt"], "Say text 7, please");
    assert_eq!(completion.body["seed"], chat.body["seed"]);
    assert!(completion.body.get("messages").is_none());
    assert!(other.body.get("seed").is_none() && other.body.get("max_tokens").is_none());
    assert_eq!(other.body["max_completion_tokens"], 40);
    assert!(seen.iter().all(|seen| seen.authorization.is_none()));
}

#[test]
fn nothing_asked_is_nothing_sent() {
    let server = Server::start(answer);
    let http = open(&server.url(""));
    assert!(ask(&http, 1, 0..0, 3).unwrap().is_empty());
    assert_eq!(ask(&http, 1, 0..2, 0).unwrap(), [Ok(vec![]), Ok(vec![])]);
    assert_eq!(server.requests(), 0);
}

#[test]
fn a_temperature_that_is_none_is_refused() {
    use teda_core::TextGenerator;
    let http = open("http://127.0.0.1:1/v1?model=toy");
    let sampling = Sampling {
        temperature: -1.0,
        ..SAMPLING
    };
    let error = http.complete(&prompt(), &[], 1, sampling).unwrap_err();
    assert!(error.to_string().contains("temperature -1"), "{error}");
}

#[test]
fn a_model_is_named_without_limits_and_keys() {
    let url = "http://127.0.0.1:1/v1/?model=org/toy&key_env=PATH&retries=1&api=completions";
    let http = Http::open(url, teda_server::Options::default()).unwrap();
    let name = "http://127.0.0.1:1/v1?model=org/toy&api=completions";
    assert_eq!(http.name(), name);
    assert_eq!(
        format!("{http:?}"),
        format!("Http {{ name: {name:?}, .. }}")
    );
}
