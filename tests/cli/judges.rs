//! Audits in which a language model judges: tiny random checkpoints, and a server of this machine.

#[allow(dead_code)]
#[path = "../../server/tests/http/server.rs"]
pub mod server;

use serde_json::{Value, json};

use crate::sandbox::{Sandbox, text};
use server::{Act, Seen, Server};

fn fixture(name: &str) -> String {
    let root = env!("CARGO_MANIFEST_DIR");
    format!("{root}/models/tests/fixtures/{name}")
}

fn manifest(sandbox: &Sandbox, run: &str) -> Value {
    serde_json::from_slice(&sandbox.bytes(run, "manifest.json")).unwrap()
}

/// Runs an audit with a cache of its own and returns its cells.
fn audit(sandbox: &Sandbox, arguments: &[&str]) -> Vec<Value> {
    let output = sandbox
        .command(&[&["audit"], arguments, &["--format", "json", "--quiet"]].concat())
        .env("TEDA_CACHE", sandbox.path("cache"))
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    document["cells"].as_array().unwrap().clone()
}

#[test]
fn a_judge_asked_by_prompt_is_the_same_in_any_batch() {
    let sandbox = Sandbox::new();
    let judge = format!("{}:by=prompt", fixture("t5"));
    let run = |out: &str, more: &[&str]| {
        let arguments = [
            "--mech",
            "identity",
            "--attack",
            "embedding,llm",
            "--judge",
            &judge,
            "--limit",
            "30",
            "--k",
            "2,3",
            "--trials",
            "20",
            "--out",
            out,
        ];
        audit(&sandbox, &[&arguments[..], more].concat())
    };
    let cells = run("whole", &["--threads", "2"]);
    let attacks: Vec<&Value> = cells.iter().map(|cell| &cell["attack"]).collect();
    assert_eq!(attacks, ["embedding", "llm", "embedding", "llm"]);
    assert!(cells.iter().all(|cell| cell["failed"] == 0), "{cells:?}");
    let rows = sandbox.bytes("whole", "trials.parquet");
    for (out, how) in [
        ("single", &["--threads", "1", "--batch", "1"][..]),
        ("three", &["--threads", "3", "--batch", "7"]),
    ] {
        run(out, how);
        assert_eq!(sandbox.bytes(out, "trials.parquet"), rows, "{how:?}");
    }
    let manifest = manifest(&sandbox, "whole");
    assert_eq!(manifest["config"]["judge"], judge[..]);
    assert_eq!(manifest["reproducible"], true);
    let models = manifest["models"].as_array().unwrap();
    let weights = format!("{}/model.safetensors", fixture("t5"));
    let recorded = |model: &&Value| model["name"] == weights[..] && model["sha256"].is_string();
    assert_eq!(models.iter().filter(recorded).count(), 1, "{models:?}");
}

/// Whoever knows the mechanism guesses better than who knows texts, and is left without a guess no more often:
/// at small ε almost all that is told is the number of tokens, which neither of the others looks at.
#[test]
fn a_mechanisms_own_likelihoods_see_most() {
    let sandbox = Sandbox::new();
    for (mechanism, epsilon) in [("dp-prompt", "1"), ("dp-prompt-topk", "10")] {
        let cells = sandbox.cells(&[
            "audit",
            "--mech",
            mechanism,
            "--epsilon",
            epsilon,
            "--attack",
            "likelihood-ratio,llm,embedding",
            "--trials",
            "100",
        ]);
        let of = |field| [0, 1, 2].map(|cell: usize| cells[cell][field].as_u64().unwrap());
        let (hits, failed) = (of("hits"), of("failed"));
        assert!(hits[0] >= 80 && hits[0] >= hits[1].max(hits[2]), "{hits:?}");
        assert_eq!(failed[0], failed[2], "{failed:?}");
    }
}

/// The question does not fit the window of 64 tokens: that is counted, and only this attack's.
#[test]
fn a_judge_without_room_guesses_at_random() {
    let sandbox = Sandbox::new();
    let judge = format!("{}:by=prompt", fixture("llama"));
    let cells = audit(
        &sandbox,
        &[
            "--mech",
            "identity",
            "--attack",
            "embedding,llm",
            "--judge",
            &judge,
            "--trials",
            "400",
            "--out",
            "run",
        ],
    );
    assert_eq!(
        (&cells[0]["failed"], &cells[0]["hits"]),
        (&json!(0), &json!(400))
    );
    assert_eq!(
        (&cells[1]["failed"], &cells[1]["trials"]),
        (&json!(400), &json!(400))
    );
    // Four standard deviations of Bin(400, ½).
    let hits = cells[1]["hits"].as_u64().unwrap();
    assert!(hits.abs_diff(200) < 40, "{hits} hits");
    // The stored rows say so again.
    let report = sandbox.stdout(&["report", "run", "--format", "json"]);
    let document: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(document["cells"][1]["failed"], 400);
    assert_eq!(document["cells"][1]["failed_attack"], 400);
}

/// Knows the answer, and chats instead where the release has an odd number of characters.
fn knowing(seen: &Seen) -> Act {
    let asked = seen.body["messages"][0]["content"].as_str().unwrap();
    let (_, rest) = asked.split_once("Rewritten text Y:\n").unwrap();
    let (release, list) = rest.split_once("\nCandidate original texts:\n").unwrap();
    let line = list.lines().find_map(|line| {
        let (number, candidate) = line.split_once(". ")?;
        (candidate == release).then_some(number)
    });
    let content = match line {
        Some(number) if release.chars().count() % 2 == 0 => format!("answer: [[{number}]]"),
        _ => "I am not sure.".to_owned(),
    };
    let message = json!({"role": "assistant", "content": content});
    let usage = json!({"prompt_tokens": 6, "completion_tokens": 4, "total_tokens": 10});
    Act::Answer(json!({"choices": [{"index": 0, "message": message}], "usage": usage}))
}

#[test]
fn a_server_judges_by_what_it_writes() {
    let server = Server::start(knowing);
    let sandbox = Sandbox::new();
    let url = server.url("retries=0");
    let arguments = [
        "--mech", "identity", "--attack", "llm", "--limit", "40", "--trials", "60",
    ];
    for (out, flag) in [("judge", "--judge"), ("llm", "--llm")] {
        let more = [flag, &url, "--out", out];
        let cells = audit(&sandbox, &[&arguments[..], &more].concat());
        let count = |field: &str| cells[0][field].as_u64().unwrap();
        assert!((10..50).contains(&count("failed")), "{cells:?}");
        assert!(count("hits") >= 60 - count("failed"), "{cells:?}");
        let manifest = manifest(&sandbox, out);
        assert_eq!(manifest["reproducible"], false);
        let name = url.replace("&retries=0", "");
        let models = manifest["models"].as_array().unwrap();
        assert!(
            models.iter().any(|model| model["name"] == name[..]),
            "{models:?}"
        );
        assert!(
            manifest["servers"].to_string().contains(&name),
            "{manifest}"
        );
    }
    // Two questions a trial; the second audit has its answers from the first.
    assert_eq!(server.requests(), 120);
    let longest = |seen: &Seen| seen.body["max_tokens"].as_u64().unwrap();
    assert!(server.seen().iter().all(|seen| longest(seen) == 16));
}

#[test]
fn the_judge_that_is_not_there_is_named_with_what_to_do() {
    let sandbox = Sandbox::new();
    let arguments = [
        "audit",
        "--mech",
        "identity",
        "--attack",
        "llm",
        "--judge",
        "smollm2-135m",
        "--offline",
    ];
    let output = sandbox
        .command(&arguments)
        .env("TEDA_CACHE", sandbox.path("cache"))
        .env("HF_HOME", sandbox.path("hf"))
        .env_remove("HF_HUB_CACHE")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    for part in ["--judge smollm2-135m", "teda models pull smollm2-135m"] {
        assert!(said.contains(part), "{said}");
    }
}

/// Writes the release back, and refuses those with an odd number of characters.
fn repeating(seen: &Seen) -> Act {
    let asked = seen.body["messages"][0]["content"].as_str().unwrap();
    assert_eq!(seen.body["temperature"], 0.0);
    let (_, rest) = asked.split_once("Rewritten text: ").unwrap();
    let (release, _) = rest.split_once("\nOriginal text:").unwrap();
    if release.chars().count() % 2 == 1 {
        return Act::Status(400, "", "not this one".to_owned());
    }
    let message = json!({"role": "assistant", "content": format!("{release}\n")});
    let usage = json!({"prompt_tokens": 6, "completion_tokens": 4, "total_tokens": 10});
    Act::Answer(json!({"choices": [{"index": 0, "message": message}], "usage": usage}))
}

/// What comes back is in the rows and adds up to the cell; a release that is refused is this attack's failure.
#[test]
fn a_server_writes_sources_back() {
    let server = Server::start(repeating);
    let sandbox = Sandbox::new();
    let url = server.url("retries=0");
    let arguments = [
        "--mech",
        "identity",
        "--attack",
        "embedding",
        "--limit",
        "40",
        "--trials",
        "60",
    ];
    let read = ["--attack", "reconstruct", "--judge", &url];
    let cells = audit(
        &sandbox,
        &[&arguments[..], &read, &["--out", "now"]].concat(),
    );
    let [other, cell] = [&cells[0], &cells[1]];
    assert!(other.get("recall").is_none());
    let count = |field: &str| cell[field].as_u64().unwrap();
    let failed = count("failed_attack");
    assert!((10..50).contains(&failed), "{cell}");
    assert_eq!((count("failed"), count("failed_mechanism")), (failed, 0));
    assert!(count("hits") >= 60 - failed);
    let recall = &cell["recall"];
    assert_eq!(recall["texts"], 60 - failed);
    for share in ["tokens", "tokens_of_release", "rare", "rare_of_release"] {
        assert_eq!(recall[share], 1.0, "{recall}");
    }
    let explanation = cell["explanation"].as_str().unwrap();
    assert!(
        explanation.contains("wrote back has 100.0 %"),
        "{explanation}"
    );
    let rows = teda_results::trials::rows(&sandbox.path("now")).unwrap();
    let rows: Vec<_> = rows
        .map(Result::unwrap)
        .filter(|row| row.cell == 1)
        .collect();
    for row in &rows {
        match &row.reading {
            Some(reading) => assert_eq!(reading.text, row.release),
            None => assert!(row.error.as_ref().unwrap().contains("400")),
        }
    }
    // Each text once, however many trials release it.
    let released: std::collections::HashSet<&str> =
        rows.iter().map(|row| &row.release[..]).collect();
    let asked = server.requests();
    assert!(
        asked <= released.len() + 2,
        "{asked} for {} texts",
        released.len()
    );
    // The run without the attack says the same when it is asked later.
    audit(&sandbox, &[&arguments[..], &["--out", "before"]].concat());
    let output = sandbox
        .command(
            &[
                &["report", "before", "--out", "later", "--format", "json"],
                &read[..],
            ]
            .concat(),
        )
        .env("TEDA_CACHE", sandbox.path("cache"))
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let later: Value = serde_json::from_slice(&output.stdout).unwrap();
    for field in ["hits", "failed_attack", "recall"] {
        assert_eq!(later["cells"][0][field], cell[field], "{field}");
    }
}
