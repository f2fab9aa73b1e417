//! What is refused: answers that are none, options that cannot be met.

use std::time::Duration;

use teda_core::{Error, Mechanism};

use super::*;

#[test]
fn what_is_no_answer_is_refused_with_what_is_expected() {
    let answer = |text: &str| each(&format!("printf '%s\\n' '{text}'"));
    let twice = each(&format!("{SEED}; {SEED}"));
    let last_twice = each(&format!("{SEED}; [ \"$id\" = 2 ] && {SEED}"));
    let huge = "head -c 10000001 /dev/zero | tr '\\0' x; sleep 60".to_owned();
    for (script, what) in [
        (
            answer("loading the model"),
            "wrote 'loading the model', which is not a JSON object",
        ),
        (answer(r#"{"id":99,"text":"x"}"#), "the id of no query"),
        (answer(r#"{"id":0}"#), "neither a text nor an error"),
        (answer(r#"{"id":0,"text":3}"#), "expected a string"),
        (answer(r#"{"text":"x"}"#), "missing field `id`"),
        (twice, "a second answer"),
        (huge, "xxx…', which is longer than 10000000 bytes"),
    ] {
        let error = error(options(format!("echo diagnosis >&2; {script}")), 3);
        for part in [what, "diagnosis", "For each line", &script[..20]] {
            assert!(error.contains(part), "{what}: {error}");
        }
    }
    // The last answer of a group, given twice, is no answer to the next group.
    let exec = exec(last_twice);
    let all = numbered(3);
    exec.rewrite(&queries(&all)).unwrap();
    let error = exec.rewrite(&queries(&all)).unwrap_err().to_string();
    assert!(error.contains("a second answer"), "{error}");
}

#[test]
fn a_line_without_its_end_is_no_answer() {
    let cut = r#"read -r line; printf '{"id":0,"text":"x"}'"#;
    assert!(error(options(cut), 1).contains("answered nothing"));
}

#[test]
fn options_that_cannot_be_met_are_refused() {
    let refused = |options: Options| matches!(Exec::new(options), Err(Error::Usage(_)));
    assert!(refused(options(" ")));
    assert!(refused(options("a\0b")));
    assert!(refused(Options {
        processes: 0,
        ..options("cat")
    }));
    assert!(refused(Options {
        timeout: Duration::ZERO,
        ..options("cat")
    }));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(refused(Options {
            epsilon: Some(bad),
            ..options("cat")
        }));
    }
}
