//! Bad input gets an error that says what, where and what to do, or a defined outcome: never a
//! panic, a hang or a lost row.

use std::io::Write;
use std::process::Stdio;

use crate::sandbox::{Sandbox, text};

/// Runs `teda`, which must refuse with this exit status and name each of `said` on standard error.
fn refused(sandbox: &Sandbox, arguments: &[&str], status: i32, said: &[&str]) {
    let output = sandbox.run(arguments);
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {error}");
    assert!(!error.contains("panicked"), "{arguments:?}: {error}");
    for words in said {
        assert!(
            error.contains(words),
            "{arguments:?}: '{words}' is not in: {error}"
        );
    }
}

/// Rewrites `input` and returns exit status, output and error.
fn rewrite(sandbox: &Sandbox, arguments: &[&str], input: &[u8]) -> (Option<i32>, String, String) {
    let mut child = sandbox
        .command(&[&["rewrite"], arguments].concat())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    // A process that refuses early closes its input: that is no failure of the test.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[test]
fn unknown_names_list_the_known_ones() {
    let s = Sandbox::new();
    refused(
        &s,
        &["audit", "--mech", "privrewrit"],
        2,
        &["Did you mean 'privrewrite'?", "krr-half-noise"],
    );
    refused(
        &s,
        &["audit", "--mech", "em", "--attack", "llmm"],
        2,
        &["unknown attack 'llmm'", "embedding"],
    );
    refused(
        &s,
        &["audit", "--mech", "em", "--estimator", "x"],
        2,
        &["teda, baseline"],
    );
    refused(
        &s,
        &["audit", "--mech", "em", "--dataset", "snipz"],
        2,
        &["snipz", "snips", "medquad-questions"],
    );
    refused(
        &s,
        &["audit", "--mech", "em", "--encoder", "minilmm"],
        2,
        &["--encoder minilmm", "Did you mean 'minilm'?", "mpnet"],
    );
    refused(
        &s,
        &["audit", "--mech", "em", "--llm", "gpt"],
        2,
        &["--llm gpt", "Did you mean 'gpt2'?", "smollm2-135m"],
    );
    refused(
        &s,
        &["audit", "--mech", "privrewrite", "--set", "tua=1"],
        2,
        &["Did you mean 'tau'?"],
    );
    refused(
        &s,
        &["audit", "--mech", "privrewrite", "--preset", "papers"],
        2,
        &["Did you mean 'paper'?"],
    );
    refused(
        &s,
        &["audit", "--mech", "em", "--split", "tests"],
        2,
        &["tests", "train"],
    );
    refused(
        &s,
        &["audit", "--mech", "em", "--frobnicate"],
        2,
        &["--frobnicate"],
    );
    refused(&s, &["audit"], 2, &["--mech"]);
}

#[test]
fn judges_that_cannot_judge_are_refused() {
    let s = Sandbox::new();
    let audit = |judge: &str, status, said: &[&str]| {
        let arguments = ["audit", "--mech", "identity", "--trials", "10", "--judge"];
        let attack = ["--attack", "llm"];
        refused(
            &s,
            &[&arguments[..], &[judge], &attack].concat(),
            status,
            said,
        );
    };
    let fixture = |name: &str| {
        format!(
            "{}/models/tests/fixtures/{name}",
            env!("CARGO_MANIFEST_DIR")
        )
    };
    audit(
        "builtin:by=prompt",
        2,
        &["--judge builtin", "follows no instructions", "smollm2-135m"],
    );
    audit(
        &fixture("roberta"),
        2,
        &["fixtures/roberta", "cannot judge"],
    );
    audit(
        &fixture("bert"),
        1,
        &["fixtures/bert", "'bert'", "a language model that"],
    );
    audit("smollm2-135m:by=ear", 2, &["'ear'", "likelihood, prompt"]);
    audit("smollm2-135m:bye=ear", 2, &["bye", "chat"]);
    audit("", 2, &["--judge", "names no model"]);
    // A wrong name is a mistake even where nothing would use it.
    for (judge, said) in [
        ("gpt", "Did you mean 'gpt2'?"),
        ("builtin:mask=0.3", "takes no options"),
    ] {
        refused(&s, &["audit", "--mech", "em", "--judge", judge], 2, &[said]);
    }
}

#[test]
fn numbers_out_of_range_are_refused_with_their_value() {
    let s = Sandbox::new();
    for bad in ["0", "-1", "nan", "inf"] {
        refused(
            &s,
            &["audit", "--mech", "em", "--epsilon", bad],
            2,
            &["epsilon = ", "positive, finite"],
        );
        refused(
            &s,
            &["rewrite", "--mech", "em", "--epsilon", bad],
            2,
            &["epsilon = "],
        );
    }
    for bad in ["0", "1", "-0.1", "nan"] {
        refused(
            &s,
            &["audit", "--mech", "em", "--alpha", bad],
            2,
            &["alpha = "],
        );
    }
    refused(
        &s,
        &["audit", "--mech", "em", "--lambda", "nan"],
        2,
        &["lambda = NaN"],
    );
    refused(
        &s,
        &["audit", "--mech", "em", "--delta", "1"],
        2,
        &["delta = 1"],
    );
    refused(
        &s,
        &["audit", "--mech", "em", "--trials", "0"],
        2,
        &["trials = 0"],
    );
    refused(
        &s,
        &["audit", "--mech", "em", "--k", "1"],
        2,
        &["k = 1", "at least 2"],
    );
    refused(
        &s,
        &["audit", "--mech", "em", "--k", "50", "--limit", "20"],
        2,
        &["k = 50", "has 20"],
    );
    refused(
        &s,
        &["audit", "--mech", "em", "--k", "2,2"],
        2,
        &["k 2 is named twice"],
    );
    refused(
        &s,
        &["audit", "--mech", "em", "--shard", "5/4"],
        2,
        &["5/4"],
    );
    refused(
        &s,
        &["audit", "--mech", "privrewrite", "--set", "tau=2"],
        2,
        &["tau = 2", "0.6 to 1"],
    );
    refused(
        &s,
        &["audit", "--mech", "privrewrite", "--set", "tau=high"],
        2,
        &["tau = high", "a number from 0.6 to 1"],
    );
    refused(
        &s,
        &[
            "audit",
            "--mech",
            "privrewrite",
            "--llm",
            "builtin:rounds=9",
        ],
        2,
        &["rounds"],
    );
}

/// A number of trials that no memory could list must not be listed.
#[test]
fn an_endless_run_starts_at_once_and_an_uncountable_one_is_refused() {
    let s = Sandbox::new();
    let endless = [
        "audit",
        "--mech",
        "identity",
        "--trials",
        "9007199254740992",
        "--quiet",
    ];
    let mut child = s
        .command(&[&endless[..], &["--out", "run"]].concat())
        .spawn()
        .unwrap();
    let journal = s.path("run").join("trials.jsonl");
    while std::fs::metadata(&journal).map_or(0, |m| m.len()) == 0 {
        assert!(
            child.try_wait().unwrap().is_none(),
            "ended before its first row"
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    refused(
        &s,
        &[
            "audit",
            "--mech",
            "identity",
            "--trials",
            "9007199254740993",
        ],
        2,
        &["at most"],
    );
}

#[test]
fn broken_data_is_named_by_file_and_line() {
    let s = Sandbox::new();
    let audit = |path: &str, status, said: &[&str]| {
        refused(
            &s,
            &[
                "audit",
                "--mech",
                "identity",
                "--trials",
                "10",
                "--dataset",
                path,
            ],
            status,
            said,
        );
    };
    audit(
        &s.file("utf8.txt", b"fine\nbroken \xff\n"),
        2,
        &["utf8.txt", "2", "UTF-8"],
    );
    audit(
        &s.file("nul.txt", b"fine\nbro\0ken\n"),
        2,
        &["nul.txt", "2", "NUL"],
    );
    audit(&s.file("empty.txt", ""), 2, &["empty.txt"]);
    audit(&s.file("one.txt", "alone\n"), 2, &["k = 2", "has 1"]);
    audit(
        &s.file("same.txt", "twice\ntwice\n"),
        2,
        &["k = 2", "has 1"],
    );
    audit(
        &s.file("bad.jsonl", "{\"text\":\"a\"}\n{\"text\":\n"),
        2,
        &["bad.jsonl", "2"],
    );
    audit(&s.file("odd.parquet", "no parquet"), 2, &["odd.parquet"]);
    audit("missing.csv", 2, &["missing.csv"]);
}

#[test]
fn texts_of_any_length_and_script_are_audited() {
    let s = Sandbox::new();
    let long = "word ".repeat(20_000);
    let joined = "x".repeat(100_000);
    let lines = format!("{long}\n{joined}\n?!\nünïcödé 你好 🎉\nplain words\n");
    let path = s.file("odd.txt", lines);
    let cells = s.cells(&[
        "audit",
        "--mech",
        "identity,em,krr",
        "--epsilon",
        "1",
        "--dataset",
        &path,
        "--trials",
        "20",
    ]);
    assert_eq!(cells.len(), 3);
    for cell in cells {
        assert_eq!(cell["trials"], 20);
    }
}

/// Invisible characters are texts without tokens: `em` has nothing to release.
#[test]
fn a_release_that_is_no_text_counts_as_failed_and_is_guessed_at_random() {
    let s = Sandbox::new();
    let path = s.file("invisible.txt", "\u{200b}\u{200b}\n\u{200c}\u{200c}\n");
    let cells = s.cells(&[
        "audit",
        "--mech",
        "em",
        "--epsilon",
        "1",
        "--dataset",
        &path,
        "--trials",
        "2000",
    ]);
    assert_eq!(cells[0]["failed"], 2000);
    assert_eq!(cells[0]["trials"], 2000);
    // Four standard deviations of Bin(2000, ½).
    let hits = cells[0]["hits"].as_u64().unwrap();
    assert!(hits.abs_diff(1000) < 90, "{hits} hits");
}

#[test]
fn lines_are_rewritten_one_for_one() {
    let s = Sandbox::new();
    let (status, out, _) = rewrite(&s, &["--mech", "identity"], b"play a song\n\nlast line");
    assert_eq!(
        (status, out.as_str()),
        (Some(0), "play a song\n\nlast line\n")
    );
    let (status, out, error) = rewrite(
        &s,
        &["--mech", "privrewrite", "--epsilon", "4"],
        b"play a song by queen\n",
    );
    assert_eq!((status, out.lines().count()), (Some(0), 1), "{error}");
    let (status, again, _) = rewrite(
        &s,
        &["--mech", "privrewrite", "--epsilon", "4"],
        b"play a song by queen\n",
    );
    assert_eq!((status, &again), (Some(0), &out));
    let (status, _, error) = rewrite(&s, &["--mech", "em"], b"a\n");
    assert_eq!(status, Some(2));
    assert!(error.contains("--epsilon"), "{error}");
    let (status, _, error) = rewrite(&s, &["--mech", "em", "--epsilon", "1"], b"ok\n\xff\n");
    assert_eq!(status, Some(2));
    assert!(error.contains("line 2"), "{error}");
    let (status, _, error) = rewrite(
        &s,
        &["--mech", "krr", "--epsilon", "1"],
        b"not in the data\n",
    );
    assert_eq!(status, Some(2));
    assert!(error.contains("not in the data"), "{error}");
}

#[test]
fn run_directories_are_guarded() {
    let s = Sandbox::new();
    let audit = [
        "audit", "--mech", "identity", "--trials", "10", "--quiet", "--out",
    ];
    s.stdout(&[&audit[..], &["run"]].concat());
    refused(
        &s,
        &[&audit[..], &["run"]].concat(),
        2,
        &["run", "--resume"],
    );
    refused(&s, &["audit", "--resume", "nowhere"], 2, &["nowhere"]);
    refused(&s, &["report", "nowhere"], 2, &["nowhere"]);
    let file = s.file("file", "");
    refused(&s, &[&audit[..], &[&file]].concat(), 2, &["file"]);
    std::fs::write(s.path("run").join("trials.parquet"), "cut").unwrap();
    refused(&s, &["report", "run"], 1, &["trials.parquet"]);
    std::fs::write(s.path("run").join("manifest.json"), "{\"schema\":").unwrap();
    refused(&s, &["report", "run"], 1, &["manifest.json"]);
}

/// `/dev/full` takes no byte: what a full disk does to standard output.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_a_closed_pipe_is_not() {
    let s = Sandbox::new();
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let output = s
        .command(&["list"])
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("standard output"));
    let mut child = s
        .command(&["list"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

/// A first Ctrl-C ends the run in an orderly way: exit status 130, and the run can be resumed.
#[cfg(unix)]
#[test]
fn an_interrupt_leaves_a_run_that_can_be_resumed() {
    let s = Sandbox::new();
    let audit = [
        "audit",
        "--mech",
        "privrewrite",
        "--epsilon",
        "1",
        "--limit",
        "200",
        "--batch",
        "1",
        "--trials",
        "20000",
        "--out",
        "stopped",
    ];
    let mut child = s
        .command(&audit)
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let journal = s.path("stopped").join("trials.jsonl");
    while std::fs::metadata(&journal).map_or(0, |m| m.len()) == 0 {
        assert!(
            child.try_wait().unwrap().is_none(),
            "ended before its first row"
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let kill = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{error}");
    assert!(error.contains("teda audit --resume stopped"), "{error}");
    let manifest = text(&s.bytes("stopped", "manifest.json"));
    assert!(manifest.contains("interrupted"), "{manifest}");
    assert!(!s.bytes("stopped", "trials.jsonl").is_empty());
}
