//! What comes back where a process is asked how likely releases are.

use std::time::{Duration, Instant};

use teda_core::{Answer, Likelihood, Mechanism};

use super::*;

/// Answers −n for `text n` and any release; other texts are not known, the release `never` is impossible.
const LOGARITHM: &str = r#"number=${line#*text }; number=${number%%\"*}
    case $line in
    *'"release":"never"'*) printf '{"id":%s,"log_likelihood":"-inf"}\n' "$id";;
    *'"text":"text '*) printf '{"id":%s,"log_likelihood":-%s,"text":"7"}\n' "$id" "$number";;
    *) printf '{"id":%s,"error":"not known"}\n' "$id";; esac"#;

/// A pair for each text, with one release for all.
fn pairs<'a>(release: &'a str, texts: &'a [String]) -> Vec<(&'a str, &'a str)> {
    texts.iter().map(|text| (release, &text[..])).collect()
}

/// The error for `text 0` and two more, which is the answer to every call from then on.
fn refused(command: impl Into<String>) -> Error {
    let exec = exec(command);
    let all = numbered(3);
    let error = exec.log_likelihood(&pairs("any", &all)).unwrap_err();
    assert_eq!(exec.rewrite(&queries(&all)), Err(error.clone()));
    error
}

#[test]
fn every_pair_has_its_likelihood_in_any_batch() {
    let mut all = numbered(200);
    all[17] = "elsewhere".to_owned();
    let expected: Vec<Answer<f64>> = (0..200)
        .map(|i| match i {
            17 => Err("not known".into()),
            i => Ok(-f64::from(i)),
        })
        .collect();
    for processes in [1, 3] {
        let exec = Exec::new(Options {
            processes,
            ..options(each(LOGARITHM))
        })
        .unwrap();
        for size in [1, 7, 200] {
            let parts = pairs("any", &all);
            let parts = parts
                .chunks(size)
                .flat_map(|part| exec.log_likelihood(part).unwrap());
            assert_eq!(parts.collect::<Vec<_>>(), expected, "batches of {size}");
        }
        let never = exec.log_likelihood(&pairs("never", &all[..1])).unwrap();
        assert_eq!(never, [Ok(f64::NEG_INFINITY)]);
    }
    assert_eq!(exec("exit 1").log_likelihood(&[]).unwrap(), []);
}

#[test]
fn one_process_rewrites_and_scores() {
    // What a rewriting answer says of likelihoods is ignored.
    let script = each(
        r#"case $line in
        *'"release":'*) printf '{"id":%s,"log_likelihood":-%s}\n' "$id" $$;;
        *) printf '{"id":%s,"text":"%s","log_likelihood":"?"}\n' "$id" $$;; esac"#,
    );
    let exec = exec(script);
    let all = numbered(5);
    for _ in 0..2 {
        let numbers = texts(exec.rewrite(&queries(&all)).unwrap());
        let number: f64 = numbers[0].parse().unwrap();
        let scores = exec.log_likelihood(&pairs(&numbers[0], &all)).unwrap();
        assert_eq!(scores, vec![Ok(-number); 5]);
    }
}

#[test]
fn a_pair_that_ends_its_process_is_not_known_alone() {
    let script = each(&format!(
        "case $line in *'\"text 4\"'*) echo cannot >&2; exit 3;; esac; {LOGARITHM}"
    ));
    let all = numbered(9);
    let found = exec(script).log_likelihood(&pairs("any", &all)).unwrap();
    for (i, answer) in found.into_iter().enumerate() {
        match i {
            4 => assert_eq!(
                answer.unwrap_err().reason,
                "the process ended (exit status: 3) (try 3 of 3): cannot"
            ),
            i => assert_eq!(answer, Ok(-(i as f64))),
        }
    }
}

#[test]
fn a_program_that_only_rewrites_is_refused_at_once() {
    for script in [
        "cat".to_owned(),
        each(SEED),
        // After its first answer it would need a minute.
        format!("{}; sleep 60", each(&format!("{SEED}; sleep 60"))),
    ] {
        let started = Instant::now();
        let error = refused(&script);
        assert!(started.elapsed() < Duration::from_secs(30), "{script}");
        assert!(matches!(error, Error::Usage(_)), "{error}");
        let error = error.to_string();
        for part in [
            &script[..3],
            "which has neither a log_likelihood nor an error",
            "asks how likely that release is",
            "another attack than 'likelihood-ratio'",
        ] {
            assert!(error.contains(part), "{part}: {error}");
        }
    }
}

#[test]
fn what_is_no_answer_is_refused() {
    let answer = |stated: &str| {
        each(&format!(
            "printf '{{\"id\":%s,\"log_likelihood\":%s}}\\n' \"$id\" '{stated}'"
        ))
    };
    for (script, what) in [
        (answer("NaN"), "is refused"),
        (answer("-Infinity"), "is refused"),
        (answer("\"inf\""), "neither a number nor \"-inf\""),
        (
            each(&format!("{LOGARITHM}; {LOGARITHM}")),
            "a second answer",
        ),
        (each("echo loading"), "not a JSON object"),
    ] {
        let error = refused(script);
        assert!(matches!(error, Error::Failed(_)), "{error}");
        let error = error.to_string();
        assert!(error.contains(what), "{what}: {error}");
        assert!(error.contains("\"-inf\" where that is 0"), "{error}");
    }
}
