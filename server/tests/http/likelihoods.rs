//! Likelihoods from a server that echoes, and from servers that do not.

use serde_json::json;
use teda_core::{Error, LogLikelihood, Prompt, Scorer};

use crate::model::{answer, open};
use crate::server::{Act, Server};

#[test]
fn the_continuations_tokens_are_summed() {
    let server = Server::start(answer);
    let http = open(&server.url("concurrency=2"));
    // The toy's tokens are words with the space after them.
    let pairs = [
        ("naïve ", "größe here"),
        ("b ", "c"),
        ("b ", ""),
        ("b c ", "dd ee"),
    ];
    let scores = http.log_likelihood(&Prompt::new("a {}"), &pairs).unwrap();
    let expected = [(-10.0, 2), (-1.0, 1), (0.0, 0), (-5.0, 2)];
    for (score, (total, tokens)) in scores.iter().zip(expected) {
        assert_eq!(*score, Ok(LogLikelihood { total, tokens }));
    }
    assert_eq!(
        server.requests(),
        2 + pairs.len(),
        "2 to see whether it echoes rightly"
    );
    let body = &server.seen()[2].body;
    assert_eq!(
        (&body["echo"], &body["max_tokens"]),
        (&json!(true), &json!(1))
    );
}

#[test]
fn one_pair_without_a_likelihood_fails_alone() {
    let server = Server::start(|seen| match seen.body["prompt"].as_str().unwrap() {
        "a long" => Act::Status(400, "", json!({"error": "too long"}).to_string()),
        _ => answer(seen),
    });
    let http = open(&server.url(""));
    let scores = http
        .log_likelihood(&Prompt::new("a {}"), &[("", "b"), ("", "long")])
        .unwrap();
    assert!(scores[0].is_ok());
    assert_eq!(scores[1].as_ref().unwrap_err().reason, "HTTP 400: too long");
    let first = http
        .log_likelihood(&Prompt::new("{}"), &[("", "b c")])
        .unwrap();
    assert!(
        first[0]
            .as_ref()
            .unwrap_err()
            .reason
            .contains("first token")
    );
}

#[test]
fn a_server_that_gives_none_says_so_at_once() {
    let acts: [fn() -> Act; 4] = [
        || Act::Answer(json!({"choices": [{"text": " new", "logprobs": null}]})),
        || Act::Answer(json!({"choices": [{"text": "only what is new"}]})),
        || Act::Answer(json!({"choices": [{"text": "a b c new", "logprobs": null}]})),
        || {
            Act::Status(
                400,
                "",
                json!({"error": "'echo' is not supported"}).to_string(),
            )
        },
    ];
    for act in acts {
        let server = Server::start(move |seen| match seen.body["prompt"].as_str() {
            // As if it had passed the test before.
            Some("The capital of France is") | Some("The capital of France is new") => answer(seen),
            _ => act(),
        });
        let http = open(&server.url("concurrency=1"));
        let pairs = [("b", " c"); 5];
        let error = http
            .log_likelihood(&Prompt::new("a {}"), &pairs)
            .unwrap_err();
        assert!(matches!(error, Error::Failed(_)));
        let message = error.to_string();
        assert!(message.contains("echo and logprobs"), "{message}");
        assert!(server.requests() <= 2 + 5);
    }
}

#[test]
fn a_server_that_echoes_wrong_ones_is_found_out() {
    let server = Server::start(|seen| match seen.body["echo"] == true {
        true => {
            let text = seen.body["prompt"].as_str().unwrap();
            let logprobs = json!({"text_offset": [0, 24], "token_logprobs": [null, -8.7]});
            Act::Answer(json!({"choices": [{"text": text, "logprobs": logprobs}]}))
        }
        false => answer(seen),
    });
    let error = open(&server.url("")).log_likelihood(&Prompt::new("a {}"), &[("b", " c")]);
    let message = error.unwrap_err().to_string();
    assert!(message.contains("not those it samples by"), "{message}");
    assert!(message.contains("' new' -6.00, and -8.70"), "{message}");
    assert_eq!(server.requests(), 2);
    let without = Server::start(|_| Act::Answer(json!({"choices": [{"text": " new"}]})));
    let error = open(&without.url("")).log_likelihood(&Prompt::new("a {}"), &[("b", " c")]);
    assert!(error.unwrap_err().to_string().contains("no logprobs"));
}
