//! Budgets, requests at once, and callers that are workers of a thread pool.

use rayon::prelude::*;
use teda_server::{Budget, Options};

use crate::model::{answer, ask, check, number, open, open_with};
use crate::server::{Act, Server};

#[test]
fn a_budget_of_requests_is_kept_exactly() {
    // Every request fails once: repeated ones cost too.
    let server = Server::start(|seen| match seen.before {
        0 => Act::Status(500, "", String::new()),
        _ => answer(seen),
    });
    let directory = tempfile::tempdir().unwrap();
    let options = |max_requests| Options {
        budget: Budget {
            max_requests: Some(max_requests),
            max_tokens: None,
        },
        cache: Some(directory.path().to_owned()),
        ..Options::default()
    };
    let http = open_with(&server.url("concurrency=4"), options(23));
    let error = ask(&http, 1, 0..20, 1).unwrap_err().to_string();
    assert!(
        error.contains("budget of requests is spent: 23 requests"),
        "{error}"
    );
    assert!(error.contains("resume"), "{error}");
    assert_eq!((server.requests(), http.usage().requests), (23, 23));
    // What was paid for is not paid for again: the two runs send what one would have.
    let http = open_with(&server.url(""), options(100));
    check(&ask(&http, 1, 0..20, 1).unwrap(), 0..20, 1);
    assert_eq!(server.requests(), 40);
    let usage = http.usage();
    assert_eq!(usage.requests, 17);
    assert!(usage.cached > 0 && usage.cached < 20);
}

#[test]
fn a_budget_of_tokens_ends_the_run_once_they_are_spent() {
    let server = Server::start(answer);
    let options = Options {
        budget: Budget {
            max_requests: None,
            max_tokens: Some(45),
        },
        ..Options::default()
    };
    let http = open_with(&server.url("concurrency=1"), options);
    let error = ask(&http, 1, 0..20, 1).unwrap_err().to_string();
    assert!(
        error.contains("budget of tokens is spent: 5 requests, 50 tokens"),
        "{error}"
    );
    assert_eq!(server.requests(), 5);
}

#[test]
fn tokens_that_a_server_does_not_count_are_estimated() {
    let server = Server::start(|_| Act::Answer(serde_json::json!({"choices": [{"text": "12"}]})));
    let http = open(&server.url("api=completions"));
    // "Say text 5, please" is 18 bytes.
    assert_eq!(ask(&http, 1, 5..6, 1).unwrap(), [Ok(vec!["12".to_owned()])]);
    assert_eq!((http.usage().tokens, http.usage().estimated_tokens), (5, 5));
}

#[test]
fn never_more_at_once_than_asked_for() {
    let server = Server::start(|seen| {
        std::thread::sleep(std::time::Duration::from_millis(2));
        answer(seen)
    });
    let http = open(&server.url("concurrency=3"));
    std::thread::scope(|scope| {
        for batch in 0..4 {
            let http = &http;
            scope.spawn(move || {
                let numbers = batch * 10..(batch + 1) * 10;
                check(&ask(http, 1, numbers.clone(), 2).unwrap(), numbers, 2);
            });
        }
    });
    assert_eq!(server.requests(), 80);
    assert!(
        server.most_at_once() <= 3,
        "{} at once",
        server.most_at_once()
    );
}

#[test]
fn several_batches_on_a_small_pool_do_not_wait_for_each_other() {
    let server = Server::start(|seen| match (number(seen) % 5, seen.before) {
        (0, 0) => Act::Status(500, "", String::new()),
        (1, 0) => Act::Cut,
        _ => answer(seen),
    });
    let http = open(&server.url("concurrency=2"));
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    pool.install(|| {
        (0..12_usize).into_par_iter().for_each(|batch| {
            // Nested work, as mechanisms do it around a model.
            (0..2_usize).into_par_iter().for_each(|part| {
                let start = batch * 20 + part * 10;
                check(
                    &ask(&http, 1, start..start + 10, 1).unwrap(),
                    start..start + 10,
                    1,
                );
            });
        });
    });
    assert_eq!(http.usage().tokens, 2400);
    assert!(server.most_at_once() <= 2);
}
