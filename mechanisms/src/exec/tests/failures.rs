//! What comes back where something goes wrong.

use std::time::Duration;

use teda_core::{Cause, Mechanism};

use super::*;

/// Answers with `$seed`, except that the text `bad` does `fault`.
fn except(fault: &str) -> String {
    each(&format!(
        "case $line in *'\"bad\"'*) {fault};; esac; {SEED}"
    ))
}

/// Numbered texts, with `bad` at some places.
fn with_bad(count: usize, places: &[usize]) -> Vec<String> {
    let mut all = numbered(count);
    for place in places {
        all[*place] = "bad".to_owned();
    }
    all
}

/// Asserts that the releases are the seeds, except at `places`, and returns the reasons there.
fn failed_at(releases: &[Release], batch: &[Query<'_>], places: &[usize]) -> Vec<String> {
    let mut reasons = Vec::new();
    for (i, (release, query)) in releases.iter().zip(batch).enumerate() {
        if places.contains(&i) {
            reasons.push(release.failure.clone().unwrap().reason);
        } else {
            assert_eq!(release.failure, None, "text {i}");
            let seed = super::super::protocol::number(&query.seed);
            assert_eq!(release.text, seed.to_string(), "text {i}");
        }
    }
    reasons
}

#[test]
fn an_error_is_an_outcome() {
    let script = except(r#"printf '{"id":%s,"error":"too \\"short\\""}\n' "$id"; continue"#);
    let all = with_bad(20, &[0, 7, 19]);
    let batch = queries(&all);
    let releases = exec(script).rewrite(&batch).unwrap();
    let reasons = failed_at(&releases, &batch, &[0, 7, 19]);
    assert_eq!(reasons, ["too \"short\""; 3]);
}

#[test]
fn a_text_that_ends_its_process_fails_alone_in_any_batch() {
    let script = except("echo 'first line' >&2; echo 'bad input' >&2; exit 3");
    let expected = "the process ended (exit status: 3) (try 3 of 3): bad input";
    for places in [&[30][..], &[11, 12, 59], &[1, 31, 45]] {
        let all = with_bad(60, places);
        let batch = queries(&all);
        for (processes, size) in [(1, 60), (3, 60), (2, 7), (1, 1)] {
            let exec = Exec::new(Options {
                processes,
                ..options(&script)
            })
            .unwrap();
            let parts = batch
                .chunks(size)
                .flat_map(|part| exec.rewrite(part).unwrap());
            let releases: Vec<Release> = parts.collect();
            for reason in failed_at(&releases, &batch, places) {
                assert_eq!(reason, expected);
            }
            let mut failures = releases.iter().filter_map(|r| r.failure.as_ref());
            assert!(failures.all(|failure| failure.cause == Cause::Mechanism));
        }
    }
}

#[test]
fn it_fails_alone_too_where_answers_come_together() {
    // Reads what the pipe holds and answers all of it at once, if nothing in it is bad.
    let script = "while queries=$(dd bs=65536 count=1 2>/dev/null); [ -n \"$queries\" ]; do
        case $queries in *'\"bad\"'*) exit 1;; esac
        printf '%s\\n' \"$queries\"; done";
    let all = with_bad(30, &[17]);
    let releases = exec(script).rewrite(&queries(&all)).unwrap();
    for (i, (release, text)) in releases.iter().zip(&all).enumerate() {
        assert_eq!(release.failure.is_some(), i == 17, "{release:?}");
        assert!(i == 17 || release.text == *text);
    }
}

#[test]
fn many_texts_may_be_bad_if_there_are_others() {
    let bad: Vec<usize> = (1..100).step_by(2).collect();
    let all = with_bad(100, &bad);
    let batch = queries(&all);
    for (restarts, size) in [(0, 1), (0, 100), (1, 100)] {
        let exec = Exec::new(Options {
            restarts,
            ..options(except("exit 3"))
        })
        .unwrap();
        let parts = batch
            .chunks(size)
            .flat_map(|part| exec.rewrite(part).unwrap());
        failed_at(&parts.collect::<Vec<_>>(), &batch, &bad);
    }
}

#[test]
fn it_may_be_the_first_text_of_all_if_others_follow() {
    let all = with_bad(60, &[0]);
    let batch = queries(&all);
    failed_at(
        &exec(except("exit 3")).rewrite(&batch).unwrap(),
        &batch,
        &[0],
    );
    let alone = exec(except("exit 3")).rewrite(&batch[..1]).unwrap_err();
    assert!(
        alone.to_string().contains("3 processes in a row"),
        "{alone}"
    );
}

#[test]
fn without_restarts_a_text_has_one_try() {
    let exec = Exec::new(Options {
        restarts: 0,
        ..options(except("exit 3"))
    })
    .unwrap();
    let all = with_bad(9, &[4]);
    let batch = queries(&all);
    let releases = exec.rewrite(&batch).unwrap();
    let reasons = failed_at(&releases, &batch, &[4]);
    assert_eq!(reasons, ["the process ended (exit status: 3) (try 1 of 1)"]);
}

#[test]
fn a_process_that_ends_now_and_then_is_started_again() {
    let all = numbered(100);
    let batch = queries(&all);
    for answers in [1, 7] {
        let body = format!("{SEED}; n=$((n + 1)); [ $n -lt {answers} ] || exit 9");
        let exec = Exec::new(Options {
            processes: 2,
            restarts: 1,
            ..options(format!("n=0; {}", each(&body)))
        })
        .unwrap();
        for size in [100, 13, 1] {
            let parts = batch
                .chunks(size)
                .flat_map(|part| exec.rewrite(part).unwrap());
            failed_at(&parts.collect::<Vec<_>>(), &batch, &[]);
        }
    }
}

#[test]
fn a_crash_that_does_not_come_again_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let mark = mark.display();
    let script = except(&format!(
        "[ -e '{mark}' ] || {{ : > '{mark}'; kill -9 $$; }}"
    ));
    let all = with_bad(10, &[6]);
    let batch = queries(&all);
    failed_at(&exec(script).rewrite(&batch).unwrap(), &batch, &[]);
}

#[test]
fn a_command_that_never_answers_is_one_error_with_its_stderr() {
    for processes in [1, 4] {
        let options = Options {
            processes,
            ..options("echo no such model >&2; exit 7")
        };
        let error = error(options, 200);
        for part in [
            "no such model",
            "exit status: 7",
            "exit 7'",
            "processes in a row answered nothing",
        ] {
            assert!(error.contains(part), "{error}");
        }
    }
    let unknown = error(options("no_such_program --flag"), 5);
    assert!(
        unknown.contains("no_such_program: not found") || unknown.contains("command not found"),
        "{unknown}"
    );
}

#[test]
fn a_command_that_stops_working_is_an_error_in_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let mark = mark.display();
    let script = format!("[ -e '{mark}' ] && exit 5; : > '{mark}'; head -n 3");
    let options = Options {
        restarts: 0,
        ..options(script)
    };
    let error = error(options, 200);
    for part in ["32 texts in a row", "exit status: 5"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn silence_is_a_failure_of_the_text_that_causes_it() {
    let exec = Exec::new(Options {
        timeout: Duration::from_millis(500),
        restarts: 1,
        ..options(except("sleep 60; exit 1"))
    })
    .unwrap();
    let all = with_bad(8, &[3]);
    let batch = queries(&all);
    let releases = exec.rewrite(&batch).unwrap();
    assert_eq!(
        failed_at(&releases, &batch, &[3]),
        ["the process gave no answer for 500ms (try 2 of 2)"]
    );
    let cause = releases[3].failure.as_ref().map(|failure| failure.cause);
    assert_eq!(cause, Some(Cause::Transport));
}

#[test]
fn silence_from_the_start_is_an_error() {
    let options = Options {
        timeout: Duration::from_millis(500),
        ..options("echo waiting >&2; sleep 60; true")
    };
    let error = error(options, 50);
    assert!(
        error.contains("gave no answer for 500ms") && error.contains("waiting"),
        "{error}"
    );
}
