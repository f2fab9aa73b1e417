//! What goes wrong is repeated, counted, or ends the run; nothing is lost and nothing counted twice.

use std::time::{Duration, Instant};

use serde_json::json;
use teda_core::{Cause, Error, Failure};

use teda_server::Options;

use crate::model::{answer, ask, check, number, open, open_with};
use crate::server::{Act, Seen, Server};

/// A fault by the text's number, six kinds in turn; the first kind is none.
fn fault(seen: &Seen) -> Option<Act> {
    Some(match number(seen) % 6 {
        1 => Act::Status(429, "retry-after: 0\r\n", "slow down".into()),
        2 => Act::Status(500, "", "oops".into()),
        3 => Act::Cut,
        4 => Act::Status(200, "", "<html>hello</html>".into()),
        5 => Act::Answer(json!({"choices": []})),
        _ => return None,
    })
}

#[test]
fn faults_that_pass_lose_nothing() {
    // Every request fails as often as its text's number says, 0 to 2 times.
    let server = Server::start(|seen| match fault(seen) {
        Some(act) if seen.before < number(seen) % 3 => act,
        _ => answer(seen),
    });
    let http = open(&server.url("concurrency=4&retries=2"));
    check(&ask(&http, 1, 0..36, 2).unwrap(), 0..36, 2);
    let repeated: usize = (0..36).filter(|i| i % 6 > 0).map(|i| 2 * (i % 3)).sum();
    let usage = http.usage();
    assert_eq!(usage.retries as usize, repeated);
    assert_eq!(usage.requests as usize, 72 + repeated);
    assert_eq!(server.requests(), 72 + repeated);
    assert_eq!(usage.tokens, 720, "an answer is counted once");
    let kinds: Vec<(&str, u64)> = usage
        .failures
        .iter()
        .map(|(k, n)| (k.as_str(), *n))
        .collect();
    // Texts 3, 9, … fail 3 % 3 = 0 times.
    let expected = [
        ("HTTP 429", 12),
        ("HTTP 500", 24),
        ("invalid JSON", 12),
        ("no answer", 24),
    ];
    assert_eq!(kinds, expected);
}

#[test]
fn connections_that_are_cut_are_repeated() {
    let server = Server::start(|seen| match seen.before {
        0 => Act::Cut,
        _ => answer(seen),
    });
    let http = open(&server.url(""));
    check(&ask(&http, 1, 0..4, 1).unwrap(), 0..4, 1);
    assert_eq!(http.usage().failures["cut off"], 4);
}

#[test]
fn only_what_fails_every_time_fails() {
    let server = Server::start(|seen| fault(seen).unwrap_or_else(|| answer(seen)));
    let http = open(&server.url("retries=1&concurrency=2"));
    let answers = ask(&http, 1, 0..12, 1).unwrap();
    let said = [
        "",
        "HTTP 429: slow down",
        "HTTP 500: oops",
        "lost",
        "not JSON",
        "choices[0]",
    ];
    for (index, one) in answers.iter().enumerate() {
        match index % 6 {
            0 => check(std::slice::from_ref(one), index..index + 1, 1),
            kind => {
                let Failure { cause, reason } = one.as_ref().unwrap_err();
                assert!(reason.contains(said[kind]), "{reason}");
                assert!(reason.contains("try 2 of 2"), "{reason}");
                // The last of them came through, without an answer in it.
                let expected = [Cause::Transport, Cause::Mechanism][usize::from(kind == 5)];
                assert_eq!(*cause, expected, "{reason}");
            }
        }
    }
    assert_eq!(http.usage().requests, 2 + 2 * 10);
    assert_eq!(http.usage().failures.values().sum::<u64>(), 20);
}

#[test]
fn slow_answers_are_left_and_asked_for_again() {
    let server = Server::start(|seen| match (number(seen), seen.before) {
        (1, 0) | (2, _) => Act::Slow,
        _ => answer(seen),
    });
    let http = open(&server.url("timeout=1&retries=1"));
    let answers = ask(&http, 1, 0..4, 1).unwrap();
    check(&answers[..2], 0..2, 1);
    let Failure { cause, reason } = answers[2].as_ref().unwrap_err();
    assert!(reason.contains("too long"), "{reason}");
    assert_eq!(*cause, Cause::Transport);
    check(&answers[3..], 3..4, 1);
    assert!(http.usage().failures["time-out"] >= 3);
}

/// Every byte comes in time, and the answer never.
#[test]
fn an_answer_that_drips_ends_at_the_time_out() {
    let server = Server::start(|seen| match answer(seen) {
        Act::Answer(document) => Act::Drip(document, Duration::from_millis(300)),
        other => other,
    });
    let http = open(&server.url("timeout=1&retries=0"));
    let started = Instant::now();
    let answers = ask(&http, 1, 0..1, 1).unwrap();
    let Failure { cause, reason } = answers[0].as_ref().unwrap_err();
    assert!(reason.contains("too long"), "{reason}");
    assert_eq!(*cause, Cause::Transport);
    // Of the 190 bytes, the time-out lets four come.
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn an_answer_is_read_up_to_its_limit() {
    let server = Server::start(|seen| match number(seen) {
        1 => Act::Status(200, "", "[".repeat(5000)),
        _ => answer(seen),
    });
    let options = Options {
        largest_answer: 1000,
        ..Options::default()
    };
    let http = open_with(&server.url(""), options);
    let answers = ask(&http, 1, 0..2, 1).unwrap();
    check(&answers[..1], 0..1, 1);
    let reason = &answers[1].as_ref().unwrap_err().reason;
    for said in ["more than 1000 bytes", "--max-answer-bytes"] {
        assert!(reason.contains(said), "{reason}");
    }
    assert_eq!(server.requests(), 2, "another try would be as large");
}

/// Nothing that a server can say is worse than no answer.
#[test]
fn any_answer_can_be_read() {
    let pieces = [
        "",
        "{",
        "[]",
        "null",
        "1e999",
        "\u{fffd}",
        "{\"choices\":",
        "{\"choices\":[]}",
        "{\"choices\":[{\"message\":{\"content\":7}}]}",
        "{\"choices\":[{\"text\":null,\"logprobs\":{}}]}",
        "{\"data\":[{\"index\":18446744073709551615,\"embedding\":[1e300,1e300]},{\"index\":0,\"embedding\":[]}]}",
        "{\"usage\":{\"prompt_tokens\":18446744073709551615,\"completion_tokens\":2}}",
        "{\"choices\":[{\"logprobs\":{\"tokens\":[],\"token_logprobs\":[1],\"text_offset\":[-1,5,1e300]}}]}",
    ];
    for piece in pieces {
        teda_server::read_as_any_answer(piece.as_bytes());
    }
    teda_server::read_as_any_answer("[".repeat(1_000_000).as_bytes());
}

#[test]
fn the_server_says_when_to_come_back() {
    let server = Server::start(|seen| match seen.before {
        0 => Act::Status(503, "retry-after: 1\r\n", "loading".into()),
        // A date that has passed asks for no wait.
        1 => Act::Status(
            429,
            "retry-after: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
            String::new(),
        ),
        _ => answer(seen),
    });
    let started = Instant::now();
    let http = open(&server.url(""));
    check(&ask(&http, 1, 0..1, 1).unwrap(), 0..1, 1);
    assert!(started.elapsed() >= Duration::from_secs(1));
}

#[test]
fn a_refused_request_fails_alone_and_at_once() {
    let server = Server::start(|seen| match number(seen) {
        1 => Act::Status(
            400,
            "",
            json!({"error": {"message": "x".repeat(400)}}).to_string(),
        ),
        2 => Act::Status(422, "", json!({"detail": "too hot"}).to_string()),
        _ => answer(seen),
    });
    let http = open(&server.url(""));
    let answers = ask(&http, 1, 0..4, 1).unwrap();
    check(&answers[..1], 0..1, 1);
    let Failure {
        cause,
        reason: long,
    } = answers[1].as_ref().unwrap_err();
    assert!(
        long.contains("HTTP 400: xxx") && long.chars().count() < 330,
        "{long}"
    );
    assert_eq!(*cause, Cause::Mechanism);
    assert_eq!(answers[2], Err("answer 1 of 1: HTTP 422: too hot".into()));
    check(&answers[3..], 3..4, 1);
    assert_eq!((server.requests(), http.usage().retries), (4, 0));
}

#[test]
fn an_account_or_a_path_that_is_wrong_ends_the_run() {
    for (status, headers, part) in [
        (401, "", "key_env"),
        (403, "", "key_env"),
        (404, "", "/v1"),
        (
            307,
            "location: http://127.0.0.1:1/else\r\n",
            "final address",
        ),
    ] {
        let server = Server::start(move |_| Act::Status(status, headers, "no".into()));
        let http = open(&server.url("concurrency=3"));
        let error = ask(&http, 1, 0..50, 2).unwrap_err();
        assert!(matches!(error, Error::Failed(_)));
        assert!(error.to_string().contains(part), "{error}");
        let sent = server.requests();
        assert!((1..=3).contains(&sent), "{sent} requests");
        assert_eq!(
            ask(&http, 1, 0..1, 1).unwrap_err(),
            error,
            "and it stays so"
        );
        assert_eq!(server.requests(), sent);
    }
    let server = Server::start(|_| {
        let error = json!({"error": {"code": "insufficient_quota", "message": "pay"}});
        Act::Status(429, "", error.to_string())
    });
    let error = ask(&open(&server.url("concurrency=1")), 1, 0..9, 1).unwrap_err();
    assert!(error.to_string().contains("account"), "{error}");
    assert_eq!(server.requests(), 1);
}

#[test]
fn a_field_that_the_server_does_not_know_ends_the_run_with_advice() {
    let server = Server::start(|seen| {
        if seen.body.get("seed").is_none() {
            return answer(seen);
        }
        let message = "Invalid JSON payload received. Unknown name \"seed\": Cannot find field.";
        Act::Status(
            400,
            "",
            json!([{"error": {"message": message}}]).to_string(),
        )
    });
    let error = ask(&open(&server.url("")), 1, 0..9, 1).unwrap_err();
    assert!(error.to_string().contains("add seed=no"), "{error}");
    assert!(ask(&open(&server.url("seed=no")), 1, 0..9, 1).is_ok());
}

#[test]
fn a_server_that_is_not_there_is_told_at_once() {
    let http = open("http://127.0.0.1:1/v1?model=toy&concurrency=2");
    let error = ask(&http, 1, 0..100, 10).unwrap_err();
    assert!(matches!(error, Error::Failed(_)));
    let message = error.to_string();
    assert!(
        message.contains("http://127.0.0.1:1/v1: the server cannot be reached"),
        "{message}"
    );
    assert!(message.contains("Start it"), "{message}");
    assert!(http.usage().requests <= 2);
}

#[test]
fn a_server_that_dies_ends_the_run_with_a_way_on() {
    let mut server = Server::start(answer);
    let http = open(&server.url("concurrency=2&retries=5"));
    check(&ask(&http, 1, 0..4, 1).unwrap(), 0..4, 1);
    server.stop();
    let error = ask(&http, 1, 4..1000, 1).unwrap_err().to_string();
    assert!(
        error.contains("gone") && error.contains("--resume"),
        "{error}"
    );
    let sent = http.usage().requests - 4;
    assert!((6..=12).contains(&sent), "{sent} requests to a dead server");
}

#[test]
fn a_server_that_only_fails_ends_the_run() {
    let server = Server::start(|_| Act::Status(500, "", "out of memory".into()));
    let http = open(&server.url("concurrency=4&retries=1"));
    let error = ask(&http, 1, 0..1000, 1).unwrap_err().to_string();
    assert!(
        error.contains("32 requests in a row") && error.contains("out of memory"),
        "{error}"
    );
    assert!(server.requests() <= 2 * (32 + 4), "{}", server.requests());
}
