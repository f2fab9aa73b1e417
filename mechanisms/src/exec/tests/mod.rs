//! Tests with small shell scripts as mechanisms.
//!
//! A query's line is itself an answer with fields to spare, so `cat` is the identity.

mod failures;
mod likelihoods;
mod refusals;
mod releases;

use super::children::Children;
use std::time::Duration;

use teda_core::{Error, Mechanism, Query, Release, Seed};

use super::{Exec, Options};

/// Reads lines for as long as there are any and takes `id` and `seed` out of each.
const EACH: &str = r#"while IFS= read -r line; do
    id=${line#*:}; id=${id%%,*}; seed=${line##*:}; seed=${seed%\}};"#;

/// A script that does `body` for each query; `$line`, `$id` and `$seed` are what it says.
fn each(body: &str) -> String {
    format!("{EACH} {body}; done")
}

/// Prints the query's seed as its release.
const SEED: &str = r#"printf '{"id":%s,"text":"%s"}\n' "$id" "$seed""#;

fn options(command: impl Into<String>) -> Options {
    Options {
        command: command.into(),
        processes: 1,
        timeout: Duration::from_secs(60),
        restarts: 2,
        epsilon: Some(1.0),
        guarantee: None,
        children: Children::default(),
    }
}

fn exec(command: impl Into<String>) -> Exec {
    Exec::new(options(command)).unwrap()
}

/// A query for each text, each with a seed of its own.
fn queries<'a>(texts: &'a [String]) -> Vec<Query<'a>> {
    let seeded = |(text, number): (&'a String, u64)| Query {
        text,
        seed: Seed::root(3).at(number),
    };
    texts.iter().zip(0..).map(seeded).collect()
}

fn numbered(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("text {i}")).collect()
}

/// The releases' texts, where none failed.
fn texts(releases: Vec<Release>) -> Vec<String> {
    releases
        .into_iter()
        .map(|release| {
            assert_eq!(release.failure, None);
            release.text
        })
        .collect()
}

/// The error of a rewrite of `count` queries.
fn error(options: Options, count: usize) -> String {
    let exec = Exec::new(options).unwrap();
    let all = numbered(count);
    let error = exec.rewrite(&queries(&all)).unwrap_err();
    assert!(matches!(error, Error::Failed(_)), "{error}");
    // It is the answer to every call from then on.
    assert_eq!(exec.rewrite(&queries(&all)), Err(error.clone()));
    error.to_string()
}
