//! DP-GTR on a server, which shows texts and no logits: what it is sent, and what comes back.

use serde_json::{Value, json};

use crate::judges::server::{Act, Seen, Server};
use crate::sandbox::{Sandbox, text};

/// The text that a request asks to continue.
fn asked(seen: &Seen) -> String {
    let content = &seen.body["messages"][0]["content"];
    content.as_str().unwrap().to_owned()
}

/// Whether it is the request of stage 3.
fn writes(seen: &Seen) -> bool {
    asked(seen).starts_with("Refer the following question")
}

/// Paraphrases are two lines and differ by their seed; the new question has words after its mark.
fn answers(seen: &Seen) -> Act {
    let said = match writes(seen) {
        true => "\"Which song is it? Nobody knows.\"".to_owned(),
        false => format!("What Jazz do you play {}\nSecond line", seen.body["seed"]),
    };
    Act::Answer(json!({"choices": [{"message": {"content": said}}], "usage": {"total_tokens": 3}}))
}

#[test]
fn the_black_box_preset_runs_on_a_server_and_ends_at_the_question_mark() {
    let sandbox = Sandbox::new();
    let server = Server::start(answers);
    let url = server.url("retries=0");
    let output = sandbox
        .command(&[
            "audit",
            "--mech",
            "dp-gtr",
            "--preset",
            "gpt-3.5-csqa",
            "--set",
            "paraphrases=3",
            "--epsilon",
            "53.4206",
            "--llm",
            &url,
            "--attack",
            "embedding",
            "--limit",
            "20",
            "--trials",
            "10",
            "--out",
            "run",
            "--format",
            "json",
            "--quiet",
        ])
        .env("TEDA_CACHE", sandbox.path("cache"))
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cell = &document["cells"][0];
    assert_eq!(
        (&cell["failed"], &cell["verdict"]),
        (&json!(0), &json!("no-claim"))
    );
    let (new, paraphrases): (Vec<Seen>, Vec<Seen>) = server.seen().into_iter().partition(writes);
    assert_eq!((paraphrases.len(), new.len()), (30, 10));
    for seen in &paraphrases {
        let asked = asked(seen);
        assert!(asked.starts_with("Question : "), "{asked}");
        assert!(asked.ends_with("\nParaphrase of the question :"), "{asked}");
        // T = 2Δ/ε.
        let temperature = seen.body["temperature"].as_f64().unwrap();
        assert!((temperature - 1.0).abs() < 1e-9, "{temperature}");
        assert_eq!(seen.body["max_tokens"], 100);
    }
    for seen in &new {
        let asked = asked(seen);
        assert_eq!(seen.body["temperature"], 0.0);
        assert_eq!(seen.body["max_tokens"], 100);
        // The exemplar is one line; keywords keep their case.
        let lines: Vec<&str> = asked.lines().collect();
        assert_eq!(lines.len(), 5, "{asked}");
        assert!(lines[1].starts_with("What Jazz do you play "), "{asked}");
        let mut words: Vec<&str> = lines[3]
            .split(", ")
            .filter(|word| word.parse::<u64>().is_err())
            .collect();
        words.sort_unstable();
        assert_eq!(words, ["Jazz", "What", "play"], "{asked}");
    }
    let line = sandbox.file("line.txt", "who sings this?\n");
    let arguments = [
        "rewrite",
        "--mech",
        "dp-gtr",
        "--preset",
        "gpt-3.5-csqa",
        "--epsilon",
        "10",
        "--llm",
        &url,
    ];
    let released = sandbox
        .command(&arguments)
        .env("TEDA_CACHE", sandbox.path("cache"))
        .env("NO_PROXY", "127.0.0.1")
        .stdin(std::fs::File::open(line).unwrap())
        .output()
        .unwrap();
    assert_eq!(text(&released.stdout), "Which song is it\n");
}

#[test]
fn a_paraphraser_that_needs_logits_is_refused_on_a_server() {
    let sandbox = Sandbox::new();
    let server = Server::start(answers);
    let url = server.url("retries=0");
    let output = sandbox
        .command(&["audit", "--mech", "dp-gtr", "--llm", &url, "--trials", "5"])
        .env("TEDA_CACHE", sandbox.path("cache"))
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("shows its logits"), "{said}");
    assert!(server.seen().is_empty());
}
