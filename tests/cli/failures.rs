//! Failures as a user sees them: whose they are, and what they do to a verdict.

use std::process::Output;

use serde_json::json;

use crate::judges::server::{Act, Seen, Server};
use crate::sandbox::{Sandbox, number, read, text};

/// Releases category 1 and 2 as they are, and does `fault` on the others.
fn program(fault: &str) -> String {
    format!(
        r#"exec:while read -r line; do
  id=${{line#*\"id\":}}; id=${{id%%,*}}
  case $line in
  *"category 1"*) printf '{{"id":%s,"text":"category 1"}}\n' "$id";;
  *"category 2"*) printf '{{"id":%s,"text":"category 2"}}\n' "$id";;
  *) {fault};; esac; done"#
    )
}

/// Failures of each cause: by the mechanism, on the way, by the attack.
fn failed(cell: &serde_json::Value) -> [f64; 3] {
    let causes = ["mechanism", "transport", "attack"];
    let failed = causes.map(|cause| number(cell, &format!("failed_{cause}")));
    assert_eq!(failed.iter().sum::<f64>(), number(cell, "failed"), "{cell}");
    failed
}

fn audit<'a>(program: &'a str, categories: &'a str, trials: &'a str) -> Vec<&'a str> {
    let mechanism = ["audit", "--mech", program, "--dataset", categories];
    let rest = ["--lambda", "0", "--trials", trials, "--processes", "2"];
    [&mechanism[..], &rest].concat()
}

#[test]
fn a_text_that_its_program_refuses_or_crashes_on_is_the_mechanisms_failure() {
    let sandbox = Sandbox::new();
    let refuses = program(r#"printf '{"id":%s,"error":"too odd"}\n' "$id""#);
    let cells = sandbox.cells(
        &[
            &audit(&refuses, "categories:3", "300"),
            &["--out", "run"][..],
        ]
        .concat(),
    );
    let [mechanism, transport, attack] = failed(&cells[0]);
    // Five standard deviations of Bin(300, ⅓).
    assert!((60.0..140.0).contains(&mechanism), "{cells:?}");
    assert_eq!((transport, attack), (0.0, 0.0));
    let crashes = program("exit 3");
    let cells = sandbox.cells(&audit(&crashes, "categories:3", "12"));
    assert!(failed(&cells[0])[0] > 0.0, "{cells:?}");
    // Rows, sheets and documents say so, too.
    let report = sandbox.stdout(&["report", "run", "--format", "csv"]);
    let counts = format!(",{mechanism},{mechanism},0,0,");
    assert!(report.contains(&counts), "{report}");
}

#[test]
fn silence_until_the_time_is_up_is_the_transports() {
    let silent = program("sleep 60");
    let more = ["--timeout", "1"];
    let arguments = [&audit(&silent, "categories:3", "8"), &more[..]].concat();
    let [mechanism, transport, attack] = failed(&Sandbox::new().cells(&arguments)[0]);
    assert!(transport > 0.0);
    assert_eq!((mechanism, attack), (0.0, 0.0));
}

/// A judge of which no answer can be read, 30 times of 30.
fn unreadable(_: &Seen) -> Act {
    let message = json!({"role": "assistant", "content": "I am not sure."});
    Act::Answer(json!({"choices": [{"index": 0, "message": message}]}))
}

/// Runs `teda` with a cache of its own.
fn run(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    let mut command = sandbox.command(arguments);
    command
        .env("TEDA_CACHE", sandbox.path("cache"))
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .unwrap()
}

#[test]
fn an_attack_without_answers_is_inconclusive_and_fails_a_check() {
    let server = Server::start(unreadable);
    let sandbox = Sandbox::new();
    let url = server.url("retries=0");
    let limits = ["--limit", "20", "--trials", "30", "--out", "run"];
    let judged = [
        "audit",
        "--mech",
        "identity",
        "--attack",
        "embedding,llm",
        "--judge",
        &url,
    ];
    let output = run(&sandbox, &[&judged[..], &limits].concat());
    let (table, warned) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{warned}");
    let warning = "warning: identity, llm attack: 30 of 30 trials (100 %) have no scores: the llm attack failed";
    assert_eq!(warned.matches("warning: ").count(), 1, "{warned}");
    assert!(warned.contains(warning), "{warned}");
    // One sentence a mechanism, and it is that of the leak; what the other attack's verdict means stands above it.
    assert!(
        table.contains("inconclusive: most answers of the attack are missing"),
        "{table}"
    );
    assert!(table.contains("by the embedding attack"), "{table}");
    let page = text(&read(&sandbox.path("run").join("report.html")));
    assert!(page.contains("In 1 of 2 cells most answers are missing"));
    let report = sandbox.run(&["report", "run"]);
    assert_eq!(text(&report.stdout), table);
    assert!(text(&report.stderr).contains(warning));
    let check = |expect: &str| {
        let file = sandbox.file(
            "check.toml",
            format!(
                "[[audit]]\nname = \"judged\"\nmech = \"identity\"\nattack = \"llm\"\njudge = \"{url}\"\nlimit = 20\ntrials = 30\n{expect}"
            ),
        );
        let output = run(&sandbox, &["check", &file]);
        (
            output.status.code(),
            text(&output.stdout) + &text(&output.stderr),
        )
    };
    let (status, said) = check("");
    assert_eq!(status, Some(3), "{said}");
    assert!(
        said.contains("FAILED: judged, identity") && said.contains("inconclusive: most answers"),
        "{said}"
    );
    let (status, said) = check("expect = \"inconclusive\"\n");
    assert_eq!(status, Some(0), "{said}");
}

#[test]
fn failures_of_the_mechanism_are_warned_of_in_their_own_column() {
    let refuses = program(r#"printf '{"id":%s,"error":"too odd"}\n' "$id""#);
    let output = Sandbox::new().run(&audit(&refuses, "categories:3", "60"));
    let warned = text(&output.stderr);
    assert!(
        warned.contains("have no release: the mechanism failed"),
        "{warned}"
    );
    let table = text(&output.stdout);
    let columns = |name: &str| table.lines().any(|line| line.contains(name));
    assert!(
        columns("mech. failed") && !columns("attack failed"),
        "{table}"
    );
}

#[test]
fn texts_beyond_a_models_window_are_counted_before_the_first_trial() {
    let sandbox = Sandbox::new();
    let long = "word ".repeat(400);
    let texts = sandbox.file(
        "texts.txt",
        format!("{long}one\nshort\n{long}two\nalso short\n"),
    );
    let note = "dp-prompt: 2 of 4 texts of";
    let audit = [
        "audit",
        "--mech",
        "dp-prompt",
        "--epsilon",
        "10,20",
        "--dataset",
        &texts,
    ];
    let output = sandbox.run(&[&audit[..], &["--trials", "20"]].concat());
    let said = text(&output.stderr);
    assert_eq!(said.matches(note).count(), 1, "{said}");
    assert!(
        said.contains("(128 tokens): their releases will fail"),
        "{said}"
    );
    let infill = [
        "audit",
        "--mech",
        "privrewrite",
        "--epsilon",
        "10",
        "--dataset",
        &texts,
    ];
    let output = sandbox.run(&[&infill[..], &["--trials", "20"]].concat());
    assert!(!text(&output.stderr).contains("window"), "{output:?}");
}
