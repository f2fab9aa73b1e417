//! Inputs made to do harm: too large for any memory, named so as to steer a terminal, in directories of everybody.

use std::fs::File;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::sandbox::{Sandbox, text};

/// A name that clears a screen, turns what follows around and would be a formula in a spreadsheet.
const NAME: &str = "=a\u{1b}[2J\u{202e}<b>.txt";
const SHOWN: &str = r"=a\u{1b}[2J\u{202e}<b>.txt";

fn audit(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    let audit = ["audit", "--mech", "identity", "--trials", "20"];
    sandbox.run(&[&audit[..], arguments].concat())
}

/// Runs with what `/dev/zero` has as standard input.
fn fed_with_zeros(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    let mut command = sandbox.command(arguments);
    command.stdin(File::open("/dev/zero").unwrap());
    command.output().unwrap()
}

#[track_caller]
fn refused(output: &Output, status: i32, said: &[&str]) {
    let error = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{error}");
    for words in said {
        assert!(error.contains(words), "'{words}' is not in: {error}");
    }
}

/// Nothing that a terminal would obey.
#[track_caller]
fn harmless(bytes: &[u8]) {
    let text = text(bytes);
    let steers = |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
    assert!(!text.contains(steers), "{text:?}");
}

#[cfg(unix)]
#[test]
fn inputs_without_an_end_end_at_the_limit() {
    let s = Sandbox::new();
    let started = Instant::now();
    let large = s.path("line.txt");
    File::create(&large).unwrap().set_len(300 << 20).unwrap();
    let large = large.display().to_string();
    let limit = ["4194304 bytes", "--max-text-bytes"];
    let output = audit(&s, &["--dataset", &large]);
    refused(&output, 2, &[&["line.txt', line 1"][..], &limit].concat());
    let zeros = ["rewrite", "--mech", "identity"];
    let output = fed_with_zeros(&s, &zeros);
    refused(
        &output,
        2,
        &[&["standard input, line 1"][..], &limit].concat(),
    );
    let stdin = ["audit", "--mech", "identity", "--dataset", "-"];
    let output = fed_with_zeros(&s, &stdin);
    refused(&output, 2, &[&["'stdin', line 1"][..], &limit].concat());
    refused(
        &s.run(&["check", "/dev/zero"]),
        2,
        &[&["/dev/zero"][..], &limit].concat(),
    );
    let releases = s.path("zero.csv");
    std::os::unix::fs::symlink("/dev/zero", &releases).unwrap();
    let releases = releases.display().to_string();
    let output = s.run(&["audit", "--releases", &releases]);
    refused(&output, 2, &[&["zero.csv', line 1"][..], &limit].concat());
    let checked = format!("[[audit]]\nname = \"a\"\nreleases = \"{releases}\"\n");
    let file = s.file("check.toml", checked);
    refused(
        &s.run(&["check", &file]),
        2,
        &[&["zero.csv', line 1"][..], &limit].concat(),
    );
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn limits_are_raised_by_their_options_and_change_nothing() {
    let s = Sandbox::new();
    let long = "word ".repeat(1000);
    let file = s.file("a.txt", format!("{long}\nshort one\nthird\n"));
    let narrow = ["--dataset", &file, "--max-text-bytes", "1000"];
    refused(
        &audit(&s, &narrow),
        2,
        &["line 1", "1000 bytes", "--max-text-bytes"],
    );
    let narrow = ["--dataset", &file, "--max-input-bytes", "1000"];
    refused(
        &audit(&s, &narrow),
        2,
        &["a.txt' has 5017 bytes", "--max-input-bytes"],
    );
    let audit = [
        "audit",
        "--mech",
        "identity",
        "--trials",
        "20",
        "--dataset",
        &file,
    ];
    let out = |out: &str, more: &[&str]| {
        s.stdout(&[&audit[..], more, &["--out", out, "--quiet"]].concat());
        (s.bytes(out, "trials.parquet"), s.bytes(out, "cells.csv"))
    };
    let usual = out("usual", &[]);
    let wide = [
        "--max-text-bytes",
        "6000",
        "--max-input-bytes",
        "6000",
        "--max-answer-bytes",
        "9",
    ];
    let other = out("other", &wide);
    assert_eq!(usual.0, other.0);
    let config = |run: &str| {
        let manifest: serde_json::Value =
            serde_json::from_slice(&s.bytes(run, "manifest.json")).unwrap();
        manifest["config"].clone()
    };
    assert_eq!(config("usual"), config("other"));
    // A run that goes on takes them, too.
    let resumed = s.run(&["audit", "--resume", "usual", "--max-text-bytes", "6000"]);
    refused(&resumed, 2, &["this run is complete"]);
}

#[test]
fn a_name_steers_no_terminal_no_picture_and_no_spreadsheet() {
    let s = Sandbox::new();
    s.file(NAME, "play jazz\nturn it off\nwas läuft\n");
    let run = ["--dataset", NAME, "--out", "run"];
    let output = audit(&s, &run);
    assert!(output.status.success(), "{}", text(&output.stderr));
    harmless(&output.stdout);
    harmless(&output.stderr);
    for said in [&output.stdout, &output.stderr] {
        assert!(text(said).contains(SHOWN), "{}", text(said));
    }
    let csv = s.bytes("run", "cells.csv");
    harmless(&csv);
    let line = text(&csv).lines().nth(1).unwrap().to_owned();
    assert!(line.starts_with(&format!("'{SHOWN},identity,")), "{line}");
    let picture = s.bytes("run", "curve.svg");
    harmless(&picture);
    assert!(
        text(&picture).contains(r"\u{1b}[2J"),
        "the picture names its data"
    );
    // JSON escapes in its own way, and names the file as it is.
    let result: serde_json::Value = serde_json::from_slice(&s.bytes("run", "result.json")).unwrap();
    assert_eq!(result["cells"][0]["dataset"], NAME);
    let report = s.run(&["report", "run"]);
    assert_eq!(report.stdout, output.stdout);
    let planned = audit(&s, &["--dataset", NAME, "--dry-run"]);
    harmless(&planned.stdout);
    let check = format!(
        "[[audit]]\nname = \"a\"\nmech = \"identity\"\ntrials = 20\ndataset = {NAME:?}\nat-most = 0\nattack = \"embedding\"\n"
    );
    let check = s.file(
        "check.toml",
        check
            .replace("\\u{1b}", "\\u001b")
            .replace("\\u{202e}", "\\u202e"),
    );
    let checked = s.run(&["check", &check, "--junit", "report.xml", "--out", "checks"]);
    assert_eq!(checked.status.code(), Some(3), "{}", text(&checked.stderr));
    harmless(&checked.stdout);
    harmless(&std::fs::read(s.path("report.xml")).unwrap());
    // In an error, too.
    let output = audit(&s, &["--dataset", "missing\u{1b}[2J\u{9b}.txt"]);
    harmless(&output.stderr);
    refused(&output, 2, &[r"missing\u{1b}[2J\u{9b}.txt"]);
}

/// What a program is called is a name, too, and so is what it says when it fails.
#[cfg(unix)]
#[test]
fn a_program_steers_no_terminal() {
    let s = Sandbox::new();
    let program = "exec:cat >/dev/null # \u{1b}[2J\u{202e}";
    let output = s.run(&[
        "audit",
        "--mech",
        program,
        "--trials",
        "4",
        "--limit",
        "4",
        "--timeout",
        "1",
    ]);
    harmless(&output.stdout);
    harmless(&output.stderr);
}

/// Piped, a release is what the mechanism released; on a terminal it is shown.
#[cfg(unix)]
#[test]
fn a_release_is_raw_in_a_pipe_and_escaped_on_a_terminal() {
    let s = Sandbox::new();
    let line = "a\u{1b}[31mb\u{202e}\tc\n";
    let input = s.file("in.txt", line);
    let mut command = s.command(&["rewrite", "--mech", "identity"]);
    let output = command.stdin(File::open(&input).unwrap()).output().unwrap();
    assert_eq!(text(&output.stdout), line);
    const ON_A_TERMINAL: &str = "import os, pty, sys
code = pty.spawn(['sh', '-c', 'exec \"$1\" rewrite --mech identity < \"$2\"', 'sh', *sys.argv[1:]])
sys.exit(os.waitstatus_to_exitcode(code))";
    let terminal = Command::new("python3")
        .args(["-c", ON_A_TERMINAL, env!("CARGO_BIN_EXE_teda"), &input])
        .stdin(Stdio::null())
        .output();
    let Ok(terminal) = terminal else {
        eprintln!("skipped: there is no python3 here to make a terminal");
        return;
    };
    assert!(terminal.status.success(), "{}", text(&terminal.stderr));
    let shown = text(&terminal.stdout);
    assert!(shown.contains(r"a\u{1b}[31mb\u{202e}"), "{shown:?}");
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown:?}");
}

#[cfg(unix)]
#[test]
fn a_directory_of_everybody_is_told_and_a_link_is_not_followed() {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    let s = Sandbox::new();
    let open = s.path("open");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
    let output = audit(&s, &["--out", "open"]);
    let error = text(&output.stderr);
    assert!(output.status.success(), "{error}");
    assert_eq!(
        error.matches("others can write into open").count(),
        1,
        "{error}"
    );
    let output = audit(&s, &["--out", "own"]);
    assert!(!text(&output.stderr).contains("others can write"));
    let trap = s.path("trap");
    std::fs::create_dir(&trap).unwrap();
    let precious = s.file("precious", "mine");
    symlink(&precious, trap.join(".lock")).unwrap();
    refused(
        &audit(&s, &["--out", "trap"]),
        2,
        &["trap/.lock", "symbolic link"],
    );
    assert_eq!(std::fs::read(&precious).unwrap(), b"mine");
}
