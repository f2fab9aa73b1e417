//! The law of every run: the same table, bit for bit, whatever the threads, batches and shards, and
//! after a kill.

use std::time::{Duration, Instant};

use teda_mechanisms::{Kind, registry};

use crate::outside::PROGRAM;
use crate::sandbox::{Sandbox, read, text};

/// The whole registry on the models in the binary, at one small setting: short texts of the default data
/// set.
const BUILTIN: [&str; 15] = [
    "audit",
    "--mech",
    "all",
    // SafeDP-Rewrite would make 50 rewrites a trial, DP-GTR 10.
    "--set",
    "rounds=2,paraphrases=3",
    "--epsilon",
    "2",
    "--limit",
    "300",
    "--trials",
    "150",
    "--attack",
    BUILTIN_ATTACKS,
    "--k",
    "2",
];
const BUILTIN_ATTACKS: &str = "embedding,random,llm";

/// Its rows, one a trial of each cell: `all` is every mechanism that rewrites.
fn builtin_rows() -> u32 {
    let rewriters = registry::ALL.iter().filter(|m| m.kind != Kind::Protocol);
    let cells = rewriters.count() * BUILTIN_ATTACKS.split(',').count();
    150 * cells as u32
}

/// Every mechanism that rewrites with a language model, and a judge, on tiny random checkpoints.
const CHECKPOINTS: [&str; 19] = [
    "audit",
    "--mech",
    concat!(
        "privrewrite,safedp-rewrite,dp-prompt,dp-prompt-black-box,dp-gtr,",
        "dp-prompt-topk,dp-prompt-unclipped"
    ),
    "--set",
    "clip_low=-3,clip_high=3,longest=9,candidates=3,rounds=2,paraphrases=3,top_k=5",
    "--llm",
    concat!(env!("CARGO_MANIFEST_DIR"), "/models/tests/fixtures/t5"),
    "--attack",
    "embedding,llm",
    "--judge",
    concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/models/tests/fixtures/t5:by=likelihood"
    ),
    "--encoder",
    concat!(env!("CARGO_MANIFEST_DIR"), "/models/tests/fixtures/bert"),
    "--epsilon",
    "20",
    "--limit",
    "60",
    "--trials",
    "40",
];

/// Mechanisms that say how likely their releases are, by a language model and by the vocabulary.
const LIKELIHOODS: [&str; 15] = [
    "audit",
    "--mech",
    "dp-prompt,dp-prompt-topk,word-perturb,em",
    "--set",
    "clip_low=-3,clip_high=3,top_k=5",
    "--llm",
    concat!(env!("CARGO_MANIFEST_DIR"), "/models/tests/fixtures/t5"),
    "--attack",
    "likelihood-ratio",
    "--epsilon",
    "20",
    "--limit",
    "60",
    "--trials",
    "40",
];

fn audit(sandbox: &Sandbox, audit: &[&str], out: &str, more: &[&str]) -> String {
    sandbox.stdout(&[audit, &["--quiet", "--out", out], more].concat())
}

/// The cells of a run without the two fields that may differ.
fn comparable(sandbox: &Sandbox, run: &str) -> serde_json::Value {
    let mut document: serde_json::Value =
        serde_json::from_slice(&sandbox.bytes(run, "result.json")).unwrap();
    document["run_dir"].take();
    for cell in document["cells"].as_array_mut().unwrap() {
        cell["seconds"].take();
    }
    document
}

#[test]
fn threads_batches_and_shards_change_nothing() {
    nothing_changes(&BUILTIN);
}

#[test]
fn nor_do_they_where_language_models_rewrite() {
    nothing_changes(&CHECKPOINTS);
}

#[test]
fn nor_do_they_where_likelihoods_are_asked_for() {
    nothing_changes(&LIKELIHOODS);
}

/// Attacks that learn, by themselves and beside one that does not.
const LEARNED: [&str; 11] = [
    "audit",
    "--mech",
    "krr,word-perturb",
    "--epsilon",
    "3",
    "--limit",
    "40",
    "--lambda",
    "0",
    "--trials",
    "700",
];

/// Mechanisms whose releases are rewritten once more, with coins.
const THEN: [&str; 13] = [
    "audit",
    "--mech",
    "krr,dp-prompt",
    "--then",
    "builtin:temperature=1,max_new_tokens=30",
    "--attack",
    "embedding",
    "--epsilon",
    "20",
    "--limit",
    "60",
    "--trials",
    "60",
];

#[test]
fn nor_do_they_where_releases_are_rewritten_once_more() {
    nothing_changes(&THEN);
    killed_and_resumed(&THEN, [10, 60, 110]);
}

/// An attack that writes sources back, beside one that does not.
const READ: [&str; 13] = [
    "audit",
    "--mech",
    "em,constant",
    "--attack",
    "reconstruct,embedding",
    "--judge",
    concat!(env!("CARGO_MANIFEST_DIR"), "/models/tests/fixtures/t5"),
    "--epsilon",
    "20",
    "--limit",
    "60",
    "--trials",
    "30",
];

#[test]
fn nor_do_they_where_sources_are_written_back() {
    nothing_changes(&READ);
    killed_and_resumed(&READ, [10, 41, 70]);
}

/// Latents, which are in no row, beside the releases that are made of them.
const LATENTS: [&str; 11] = [
    "audit",
    "--mech",
    "dp-bart,dp-bart-broadcast,adept",
    "--attack",
    "embedding,internal-embedding",
    "--epsilon",
    "100",
    "--limit",
    "60",
    "--trials",
    "40",
];

#[test]
fn nor_do_they_where_latents_are_judged() {
    nothing_changes(&LATENTS);
    killed_and_resumed(&LATENTS, [10, 60, 210]);
}

fn learned(more: &[&'static str]) -> Vec<&'static str> {
    [&LEARNED[..], more].concat()
}

#[test]
fn nor_do_they_where_attacks_learn() {
    nothing_changes(&learned(&["--attack", "learned"]));
}

#[test]
fn a_run_whose_attacks_learn_resumes_to_the_same_bytes() {
    killed_and_resumed(&learned(&["--attack", "learned"]), [140, 700, 1_260]);
    killed_and_resumed(
        &learned(&["--attack", "learned,embedding"]),
        [140, 700, 1_260],
    );
    killed_and_resumed(
        &learned(&["--attack", "learned", "--pairs", "hunt=20"]),
        [60, 500, 1_260],
    );
}

fn nothing_changes(arguments: &[&str]) {
    let sandbox = Sandbox::new();
    let audit = |sandbox: &Sandbox, out: &str, more: &[&str]| audit(sandbox, arguments, out, more);
    let table = audit(&sandbox, "whole", &["--threads", "2"]);
    let rows = sandbox.bytes("whole", "trials.parquet");
    for (name, how) in [
        ("one-thread", &["--threads", "1"][..]),
        ("eight-threads", &["--threads", "8", "--batch", "3"]),
        ("batch-1", &["--batch", "1"]),
        ("batch-256", &["--batch", "256"]),
        ("little-memory", &["--memory", "1"]),
    ] {
        assert_eq!(audit(&sandbox, name, how), table, "{name}");
        assert_eq!(
            sandbox.bytes(name, "trials.parquet"),
            rows,
            "{name}: other rows"
        );
        assert_eq!(
            comparable(&sandbox, name),
            comparable(&sandbox, "whole"),
            "{name}"
        );
    }
    let parts = ["1/4", "2/4", "3/4", "4/4"];
    let names = ["part1", "part2", "part3", "part4"];
    for (part, name) in parts.iter().zip(names) {
        audit(&sandbox, name, &["--shard", part]);
    }
    let merged = sandbox.stdout(&[
        "merge", "part3", "part1", "part4", "part2", "--out", "merged",
    ]);
    assert_eq!(merged, table);
    assert_eq!(sandbox.bytes("merged", "trials.parquet"), rows);
    assert_eq!(
        comparable(&sandbox, "merged"),
        comparable(&sandbox, "whole")
    );
    // The report reads the rows alone.
    assert_eq!(sandbox.stdout(&["report", "merged"]), table);
    let missing = sandbox.run(&["merge", "part1", "part2", "part4"]);
    assert_eq!(missing.status.code(), Some(2), "{}", text(&missing.stderr));
}

#[test]
fn a_killed_run_resumes_to_the_same_bytes() {
    let rows = builtin_rows();
    killed_and_resumed(&BUILTIN, [rows / 10, rows / 2, rows * 9 / 10]);
}

#[test]
fn so_does_one_that_stops_when_its_interval_is_narrow() {
    let until = [
        "audit",
        "--mech",
        "krr",
        "--dataset",
        "categories:2",
        "--lambda",
        "0",
        "--epsilon",
        "1,2",
        "--until",
        "width=0.1",
        "--trials",
        "1000000",
    ];
    killed_and_resumed(&until, [300, 20_000, 60_000]);
}

#[test]
fn so_does_one_of_a_program() {
    let program = [
        "audit",
        "--mech",
        PROGRAM,
        "--dataset",
        "categories:2",
        "--lambda",
        "0",
        "--epsilon",
        "2",
        "--trials",
        "3000",
    ];
    killed_and_resumed(&program, [300, 1_500, 2_700]);
}

/// Kills a run once its journal has so many rows, and resumes it.
fn killed_and_resumed(arguments: &[&str], kills: [u32; 3]) {
    let sandbox = Sandbox::new();
    let table = audit(&sandbox, arguments, "whole", &[]);
    let rows = sandbox.bytes("whole", "trials.parquet");
    for kill in kills {
        let name = format!("killed-{kill}");
        let arguments = [arguments, &["--quiet", "--out", &name, "--batch", "2"]].concat();
        let mut child = sandbox.command(&arguments).spawn().unwrap();
        let journal = sandbox.path(&name).join("trials.jsonl");
        let started = Instant::now();
        while child.try_wait().unwrap().is_none() {
            let lines =
                std::fs::read(&journal).map_or(0, |b| b.iter().filter(|c| **c == b'\n').count());
            if lines >= kill as usize {
                child.kill().unwrap();
                break;
            }
            assert!(started.elapsed() < Duration::from_secs(300), "no progress");
        }
        let finished = child.wait().unwrap().success();
        if !finished {
            // A kill can also tear a line; make sure that it does.
            let mut bytes = read(&journal);
            bytes.truncate(bytes.len().saturating_sub(7));
            std::fs::write(&journal, bytes).unwrap();
            let resumed =
                sandbox.stdout(&["audit", "--resume", &name, "--quiet", "--threads", "1"]);
            assert_eq!(resumed, table, "killed at {kill} rows");
        }
        assert_eq!(
            sandbox.bytes(&name, "trials.parquet"),
            rows,
            "killed at {kill} rows"
        );
        let guesses = |run: &str| std::fs::read(sandbox.path(run).join("guesses.parquet")).ok();
        assert_eq!(guesses(&name), guesses("whole"), "killed at {kill} rows");
    }
    let again = sandbox.run(&["audit", "--resume", "whole"]);
    assert_eq!(again.status.code(), Some(2));
    let said = text(&again.stderr);
    assert!(said.contains("complete"), "{said}");
}

/// Counts without rows are the same counts, whether trials are made by numbers or with their texts.
#[test]
fn keeping_counts_alone_changes_no_result() {
    let ratio = "--attack likelihood-ratio --epsilon 1";
    for (name, arguments) in [
        // By numbers: what is seen decides, every estimator is shown it, and trials stop where they did.
        ("two", format!("--mech grr --dataset categories:2 {ratio}")),
        // A release that is no candidate leaves the guess to chance.
        (
            "ties",
            format!("--mech krr --dataset categories:9 --lambda 0 --k 3 {ratio}"),
        ),
        (
            "ratio",
            format!(
                "--mech krr --dataset categories:4 --lambda 0 {ratio} --estimator rao-blackwell"
            ),
        ),
        (
            "margins",
            format!("--mech grr --dataset categories:4 --lambda 0 {ratio} --estimator abstain"),
        ),
        (
            "pairs",
            format!("--mech grr --dataset categories:4 --lambda 0 {ratio} --estimator worst-pair"),
        ),
        (
            "until",
            format!("--mech krr-half-noise --dataset categories:2 {ratio} --until decided"),
        ),
        // With texts: sets by similarity, too many texts, reports that are no categories, two attacks.
        (
            "similar",
            format!("--mech grr --dataset categories:5 --lambda 3 {ratio}"),
        ),
        ("many", format!("--mech krr --limit 300 --lambda 0 {ratio}")),
        ("bits", format!("--mech oue --dataset categories:3 {ratio}")),
        (
            "texts",
            "--mech em --limit 50 --epsilon 2 --attack embedding,random".to_owned(),
        ),
    ] {
        let sandbox = Sandbox::new();
        let arguments: Vec<&str> = ["audit"].into_iter().chain(arguments.split(' ')).collect();
        let audit = |out: &str, more: &[&str]| {
            let own = ["--trials", "5003"];
            audit(&sandbox, &arguments, out, &[&own[..], more].concat())
        };
        let table = audit("rows", &[]);
        for (out, more) in [
            ("counts", &["--keep", "counts"][..]),
            (
                "one",
                &["--keep", "counts", "--threads", "1", "--batch", "3"],
            ),
        ] {
            assert_eq!(audit(out, more), table, "{name}");
            // By numbers nobody looks at how varied the sets were.
            let comparable = |run: &str| {
                let mut document = comparable(&sandbox, run);
                for cell in document["cells"].as_array_mut().unwrap() {
                    cell.as_object_mut().unwrap().remove("candidates");
                }
                document
            };
            assert_eq!(comparable(out), comparable("rows"), "{name}");
            assert!(!sandbox.path(out).join("trials.parquet").exists());
        }
    }
}

#[test]
fn without_rows_nothing_is_joined_or_counted_anew() {
    let sandbox = Sandbox::new();
    let counts = ["audit", "--mech", "krr", "--limit", "2", "--keep", "counts"];
    let table = audit(&sandbox, &counts, "run", &["--trials", "50"]);
    assert_eq!(sandbox.stdout(&["report", "run"]), table);
    let anew = ["report", "run", "--alpha", "0.1", "--out", "again"];
    for (arguments, said) in [
        (&anew[..], "kept its counts alone"),
        (&["audit", "--resume", "run"], "is complete"),
        (&[&counts[..], &["--shard", "1/2"]].concat(), "--shard"),
    ] {
        let refused = sandbox.run(arguments);
        assert_eq!(refused.status.code(), Some(2), "{arguments:?}");
        let error = text(&refused.stderr);
        assert!(error.contains(said), "{arguments:?}: {error}");
    }
}

/// Several runs in one report, and the same rows under another level.
#[test]
fn a_report_overlays_runs_and_judges_anew() {
    let sandbox = Sandbox::new();
    let run = |mechanism, out| {
        let audit = [
            "audit", "--mech", mechanism, "--limit", "2", "--lambda", "0", "--quiet",
        ];
        sandbox.stdout(&[&audit[..], &["--trials", "2000", "--out", out]].concat())
    };
    run("krr", "sound");
    run("krr-half-noise", "broken");
    let printed = sandbox.stdout(&[
        "report", "sound", "broken", "--out", "both", "--format", "csv",
    ]);
    assert_eq!(printed.lines().count(), 1 + 4 + 4);
    for file in ["curve.svg", "curve.png", "cells.csv", "result.json"] {
        assert!(!sandbox.bytes("both", file).is_empty(), "{file}");
    }
    let picture = text(&sandbox.bytes("both", "curve.svg"));
    assert!(picture.contains("krr-half-noise"));
    let refused = sandbox.run(&["report", "sound", "broken"]);
    assert_eq!(refused.status.code(), Some(2));
    let bound = |alpha| {
        let report = [
            "report", "sound", "--out", "again", "--format", "json", "--alpha", alpha,
        ];
        let document: serde_json::Value = serde_json::from_str(&sandbox.stdout(&report)).unwrap();
        document["cells"][3]["empirical_epsilon"].as_f64().unwrap()
    };
    assert!(bound("0.2") > bound("0.001"));
    // A changed row must not be judged.
    let rows = sandbox.path("sound").join("trials.parquet");
    let mut bytes = read(&rows);
    bytes[1000] ^= 1;
    std::fs::write(&rows, bytes).unwrap();
    let refused = sandbox.run(&["report", "sound"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        text(&refused.stderr).contains("sha256"),
        "{}",
        text(&refused.stderr)
    );
}

/// A cell's numbers do not depend on what else is in the grid.
#[test]
fn a_cell_alone_is_the_cell_in_the_grid() {
    let sandbox = Sandbox::new();
    let grid = sandbox.cells(&[
        "audit",
        "--mech",
        "em,krr",
        "--epsilon",
        "1,2",
        "--limit",
        "200",
        "--trials",
        "300",
    ]);
    let alone = sandbox.cells(&[
        "audit",
        "--mech",
        "krr",
        "--epsilon",
        "2",
        "--limit",
        "200",
        "--trials",
        "300",
    ]);
    assert_eq!(grid[3]["hits"], alone[0]["hits"]);
    assert_eq!(grid[3]["mechanism"], "krr");
}
