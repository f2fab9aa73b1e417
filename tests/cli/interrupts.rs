//! What ends a command before its time, and going on with what it left.
#![cfg(unix)]

use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::sandbox::{Sandbox, text};

/// Far more than anything here takes: what is not over by then hangs.
const LONG: Duration = Duration::from_secs(60);

fn send(child: &Child, signal: &str) {
    let number = child.id().to_string();
    let sent = Command::new("kill").args([signal, &number]).status();
    assert!(sent.expect("kill runs").success());
}

fn started(command: &mut Command) -> Child {
    command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("teda runs")
}

fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(started.elapsed() < LONG, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Its status and what it said, once it is over.
fn end(mut child: Child) -> Output {
    until("it hangs", || child.try_wait().unwrap().is_some());
    child.wait_with_output().unwrap()
}

/// A program that takes minutes for each query; what it forks away says its number.
fn slow(s: &Sandbox) -> String {
    let number = s.path("number");
    format!(
        "exec:sleep 300 & echo $! > '{}'; sleep 300",
        number.display()
    )
}

/// Whether a process runs; one that has ended may wait for somebody to take note of it.
#[cfg(target_os = "linux")]
fn is_alive(number: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", number.trim()));
    // Its number, its name in parentheses, and its state.
    stat.is_ok_and(|stat| {
        stat.rsplit(") ")
            .next()
            .is_some_and(|rest| !rest.starts_with('Z'))
    })
}

#[cfg(not(target_os = "linux"))]
fn is_alive(number: &str) -> bool {
    let kill = Command::new("kill").args(["-0", number.trim()]).status();
    kill.expect("kill runs").success()
}

#[test]
fn signals_end_a_command_that_waits_for_its_data_at_once() {
    let s = Sandbox::new();
    let fifo = s.path("fifo.txt");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    for (signal, data) in [("-INT", "-"), ("-TERM", "-"), ("-HUP", "fifo.txt")] {
        let audit = ["audit", "--mech", "identity", "--dataset", data];
        let mut child = started(s.command(&audit).stdin(Stdio::piped()));
        let stdin = child.stdin.take();
        // Signals are caught from the first moment on; before that they end the process, too.
        std::thread::sleep(Duration::from_millis(300));
        send(&child, signal);
        let output = end(child);
        drop(stdin);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(130), "{signal}: {said}");
        assert_eq!(said, "interrupted\n");
    }
}

#[test]
fn an_interrupt_gives_up_a_batch_that_takes_long_and_what_works_on_it() {
    let s = Sandbox::new();
    let mech = slow(&s);
    let audit = ["audit", "--mech", &mech, "--epsilon", "1", "--out", "run"];
    let audit = [&audit[..], &["--limit", "5", "--trials", "9"]].concat();
    let child = started(&mut s.command(&audit));
    let journal = s.path("run").join("trials.jsonl");
    let number = s.path("number");
    until("no program starts", || {
        std::fs::read_to_string(&number).is_ok_and(|number| number.ends_with('\n'))
    });
    let forked = text(&s.bytes("", "number"));
    assert!(is_alive(&forked) && journal.exists());
    send(&child, "-INT");
    let output = end(child);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(
        said.ends_with("go on with: teda audit --resume run\n"),
        "{said}"
    );
    let manifest = text(&s.bytes("run", "manifest.json"));
    assert!(manifest.contains("\"status\": \"interrupted\""));
    until("the program lives on", || !is_alive(&forked));
}

#[test]
fn a_second_signal_needs_no_patience() {
    let s = Sandbox::new();
    let mech = slow(&s);
    let audit = ["audit", "--mech", &mech, "--epsilon", "1", "--limit", "5"];
    let child = started(&mut s.command(&audit));
    until("no run begins", || s.path("results/runs").exists());
    for _ in 0..2 {
        send(&child, "-INT");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(end(child).status.code(), Some(130));
}

#[test]
fn a_hang_up_that_was_ignored_stays_ignored() {
    let s = Sandbox::new();
    let teda = env!("CARGO_BIN_EXE_teda");
    let script = format!("trap '' HUP; exec '{teda}' audit --mech identity --dataset -");
    let mut shell = Command::new("sh");
    let shell = shell.args(["-c", &script]).current_dir(s.path(""));
    let mut child = started(shell.stdin(Stdio::piped()));
    std::thread::sleep(Duration::from_millis(300));
    send(&child, "-HUP");
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none());
    send(&child, "-INT");
    assert_eq!(end(child).status.code(), Some(130));
}

/// `teda audit … 2>&1 | head -1`.
#[test]
fn nobody_who_reads_ends_an_audit_in_order() {
    let s = Sandbox::new();
    let audit = ["audit", "--mech", "krr", "--epsilon", "1", "--out", "run"];
    let audit = [&audit[..], &["--limit", "9", "--trials", "2000000"]].concat();
    let mut child = started(&mut s.command(&audit));
    drop(child.stderr.take());
    drop(child.stdout.take());
    let output = end(child);
    assert_eq!(output.status.code(), Some(130));
    let manifest = text(&s.bytes("run", "manifest.json"));
    assert!(manifest.contains("\"status\": \"interrupted\""));
}

#[test]
fn a_file_beyond_its_limit_is_an_error_that_says_how_to_go_on() {
    let s = Sandbox::new();
    let teda = env!("CARGO_BIN_EXE_teda");
    let script = format!(
        "ulimit -f 200; exec '{teda}' audit --mech identity --attack random --limit 9 --trials 100000 --quiet --out run"
    );
    let mut shell = Command::new("sh");
    let output = end(started(shell.args(["-c", &script]).current_dir(s.path(""))));
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("trials.jsonl: cannot write trials"), "{said}");
    assert!(said.contains("teda audit --resume run"), "{said}");
    let manifest = text(&s.bytes("run", "manifest.json"));
    assert!(manifest.contains("\"status\": \"interrupted\""));
    let table = s.stdout(&["audit", "--resume", "run"]);
    assert!(
        table.contains("99000") || table.contains("100000"),
        "{table}"
    );
}

const AUDIT: [&str; 15] = [
    "audit",
    "--mech",
    "krr",
    "--epsilon",
    "2",
    "--limit",
    "4",
    "--lambda",
    "0",
    "--attack",
    "overlap",
    "--trials",
    "30000",
    "--quiet",
    "--go-on",
];

#[test]
fn one_command_begins_goes_on_and_shows() {
    let s = Sandbox::new();
    let whole = s.stdout(&[&AUDIT[..], &["--out", "whole"]].concat());
    let part = [&AUDIT[..], &["--out", "part"]].concat();
    let child = started(&mut s.command(&part));
    let journal = s.path("part").join("trials.jsonl");
    until("no row", || {
        std::fs::metadata(&journal).is_ok_and(|file| file.len() > 500)
    });
    send(&child, "-KILL");
    end(child);
    assert_eq!(s.stdout(&part), whole);
    let rows = |run: &str| s.bytes(run, "trials.parquet");
    assert_eq!(rows("part"), rows("whole"));
    // Complete: shown, and nothing is made anew.
    assert_eq!(s.stdout(&part), whole);
    let other = s.run(&[&part[..], &["--seed", "1"]].concat());
    assert_eq!(other.status.code(), Some(2));
    assert!(text(&other.stderr).contains("part: the run here has another configuration"));
    // A process that died before its manifest was in place left nothing worth keeping.
    std::fs::create_dir(s.path("torn")).unwrap();
    s.file("torn/manifest.json.tmp", "{");
    assert_eq!(s.stdout(&[&AUDIT[..], &["--out", "torn"]].concat()), whole);
}

#[test]
fn shards_that_are_missing_are_named() {
    let s = Sandbox::new();
    for part in ["1/4", "3/4"] {
        let out = part.replace('/', "-");
        s.stdout(&[&AUDIT[..], &["--shard", part, "--out", &out]].concat());
    }
    let merged = s.run(&["merge", "1-4", "3-4", "--out", "whole"]);
    assert_eq!(merged.status.code(), Some(2));
    let said = text(&merged.stderr);
    assert!(
        said.contains("of 4 shards these are missing: 2/4, 4/4"),
        "{said}"
    );
}

#[test]
fn a_folder_that_is_no_run_is_left_as_it_is() {
    let s = Sandbox::new();
    std::fs::create_dir(s.path("foreign")).unwrap();
    s.file("foreign/manifest.json", "{\"name\": \"a web page\"}");
    let refused = s.run(&["audit", "--resume", "foreign"]);
    assert_eq!(refused.status.code(), Some(2));
    let entries = std::fs::read_dir(s.path("foreign")).unwrap();
    assert_eq!(entries.count(), 1);
}

#[test]
fn a_read_only_run_is_reported() {
    use std::os::unix::fs::PermissionsExt;

    let s = Sandbox::new();
    let table = s.stdout(&[&AUDIT[..], &["--out", "run"]].concat());
    let set = |mode| {
        std::fs::set_permissions(s.path("run"), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set(0o555);
    let is_bound = std::fs::File::create(s.path("run").join("probe")).is_err();
    let shown = s.run(&["report", "run"]);
    set(0o755);
    assert_eq!(text(&shown.stdout), table);
    match is_bound {
        true => assert!(text(&shown.stderr).contains("not written: run is read-only")),
        false => eprintln!("skipped: permissions do not bind this user"),
    }
}

#[test]
fn fine_tuning_ends_where_it_is_told_to() {
    let s = Sandbox::new();
    let long = [
        "task",
        "--classifier",
        "builtin",
        "--epochs",
        "1000",
        "--out",
        "kept",
    ];
    let child = started(s.command(&long).stdin(Stdio::null()));
    until("nothing is kept", || {
        s.path("kept").join("releases.jsonl").exists()
    });
    send(&child, "-INT");
    let output = end(child);
    assert_eq!(output.status.code(), Some(130));
    assert!(output.stdout.is_empty());
    assert!(text(&output.stderr).contains("interrupted"));
}

#[test]
fn a_task_ends_where_it_is_told_to() {
    let s = Sandbox::new();
    let mechanism = slow(&s);
    let mut task = s.command(&["task", "--mech", &mechanism, "--limit", "20"]);
    let child = started(task.stdin(Stdio::null()));
    until("no program is asked", || s.path("number").exists());
    send(&child, "-INT");
    let output = end(child);
    assert_eq!(output.status.code(), Some(130));
    assert!(output.stdout.is_empty());
    assert!(text(&output.stderr).contains("interrupted"));
}
