//! Models that think before they answer: they are asked not to, and what they thought is not read.

use serde_json::json;
use teda_server::Http;

use crate::model::{answer, ask, check, number, open};
use crate::server::{Act, Seen, Server};

/// An answer with `thought` before what was asked for.
fn thinks(seen: &Seen, thought: &str) -> Act {
    let Act::Answer(mut document) = answer(seen) else {
        panic!("{seen:?}");
    };
    let content = &mut document["choices"][0]["message"]["content"];
    *content = json!(format!("{thought}{}", content.as_str().unwrap()));
    Act::Answer(document)
}

#[test]
fn what_a_model_thinks_is_no_part_of_its_answer() {
    let server = Server::start(|seen| thinks(seen, "<think>\nsecret\n</think>\n\n"));
    let http = open(&server.url(""));
    check(&ask(&http, 1, 0..4, 2).unwrap(), 0..4, 2);
    let off = json!({"enable_thinking": false});
    let all = server.seen();
    assert!(
        all.iter()
            .all(|seen| seen.body["chat_template_kwargs"] == off)
    );
    let untold = open(&server.url("thinking=on"));
    check(&ask(&untold, 1, 0..1, 1).unwrap(), 0..1, 1);
    let last = server.seen().pop().unwrap();
    assert!(last.body.get("chat_template_kwargs").is_none());
    assert_eq!(last.body["max_tokens"], 40 + 4096);
}

#[test]
fn an_answer_that_ends_within_the_thinking_is_none() {
    let server = Server::start(|seen| match number(seen) {
        1 => thinks(seen, "<think>\n"),
        _ => answer(seen),
    });
    let answers = ask(&open(&server.url("")), 1, 0..3, 1).unwrap();
    check(&answers[..1], 0..1, 1);
    let failure = answers[1].as_ref().unwrap_err();
    assert!(failure.reason.contains("thinking=on"), "{failure}");
    check(&answers[2..], 2..3, 1);
    assert_eq!(server.requests(), 3);
}

/// Servers that know no such field say so in these ways.
fn refuses(said: &'static str) -> (Server, Http) {
    let server = Server::start(move |seen| match seen.body.get("chat_template_kwargs") {
        Some(_) => Act::Status(400, "", said.into()),
        None => answer(seen),
    });
    let http = open(&server.url("concurrency=1"));
    (server, http)
}

#[test]
fn a_server_without_the_switch_is_asked_without_it_from_then_on() {
    for said in [
        r#"{"error": {"message": "Unrecognized request argument supplied: chat_template_kwargs"}}"#,
        r#"[{"error": {"message": "Unknown name \"chat_template_kwargs\": Cannot find field."}}]"#,
        r#"{"detail": [{"type": "extra_forbidden", "loc": ["body", "chat_template_kwargs"]}]}"#,
    ] {
        let (server, http) = refuses(said);
        check(&ask(&http, 1, 0..5, 1).unwrap(), 0..5, 1);
        assert_eq!(server.requests(), 6, "{said}");
    }
}

#[test]
fn a_switch_that_was_asked_for_is_not_left_out() {
    let (server, _) = refuses("chat_template_kwargs: no such field");
    let error = ask(&open(&server.url("thinking=off")), 1, 0..5, 1).unwrap_err();
    assert!(error.to_string().contains("thinking=on"), "{error}");
}
