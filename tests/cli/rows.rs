//! Attacks judge rows: those of a stored run as those of a run that goes on, old ones included, and what cannot be
//! put to rows is refused with the reason.

use crate::sandbox::{Sandbox, number, text};

/// Randomised response and a perfect mechanism over four texts.
const RUN: [&str; 13] = [
    "audit",
    "--mech",
    "krr,constant",
    "--dataset",
    "categories:4",
    "--lambda",
    "0",
    "--epsilon",
    "3",
    "--trials",
    "800",
    "--quiet",
    "--attack",
];

fn audit(sandbox: &Sandbox, out: &str, attacks: &str, more: &[&str]) {
    sandbox.stdout(&[&RUN[..], &[attacks, "--out", out], more].concat());
}

/// The cells of a result without what depends on the clock.
fn cells(sandbox: &Sandbox, directory: &str) -> Vec<serde_json::Value> {
    let document: serde_json::Value =
        serde_json::from_slice(&sandbox.bytes(directory, "result.json")).unwrap();
    let mut cells = document["cells"].as_array().unwrap().clone();
    for cell in &mut cells {
        cell["seconds"].take();
    }
    cells
}

#[test]
fn an_attack_says_the_same_of_rows_as_of_a_run() {
    let s = Sandbox::new();
    let all = "learned,length,overlap,embedding,llm,likelihood-ratio,random";
    audit(&s, "all", all, &[]);
    audit(&s, "one", "random", &[]);
    s.stdout(&["report", "one", "--attack", all, "--out", "again"]);
    assert_eq!(cells(&s, "again"), cells(&s, "all"));
    // Those that the run has are not judged again, and other estimators can be asked of all.
    audit(&s, "two", "learned,random", &[]);
    s.stdout(&["report", "two", "--attack", all, "--out", "more"]);
    assert_eq!(cells(&s, "more"), cells(&s, "all"));
    for run in ["all", "two"] {
        let out = format!("{run}-forced");
        s.stdout(&[
            "report",
            run,
            "--estimator",
            "teda",
            "--attack",
            all,
            "--out",
            &out,
        ]);
    }
    assert_eq!(cells(&s, "two-forced"), cells(&s, "all-forced"));
}

/// A run of a version that knew neither series nor their seeds.
#[test]
fn attacks_are_put_to_older_runs() {
    let s = Sandbox::new();
    audit(&s, "old", "embedding,random", &[]);
    let before = cells(&s, "old");
    let path = s.path("old/manifest.json");
    let mut manifest: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    manifest.as_object_mut().unwrap().remove("guesses_sha256");
    manifest["config"].as_object_mut().unwrap().remove("pairs");
    for cell in manifest["cells"].as_array_mut().unwrap() {
        for field in ["series", "seed", "trained", "explored"] {
            cell.as_object_mut().unwrap().remove(field);
        }
    }
    std::fs::write(&path, manifest.to_string()).unwrap();
    s.stdout(&["report", "old", "--out", "same"]);
    assert_eq!(cells(&s, "same"), before);
    s.stdout(&[
        "report",
        "old",
        "--attack",
        "learned,length",
        "--out",
        "new",
    ]);
    let found = cells(&s, "new");
    assert_eq!(found.len(), 4);
    assert!(number(&found[0], "empirical_epsilon") > 1.5, "{}", found[0]);
    assert_eq!(number(&found[2], "empirical_epsilon"), 0.0);
}

#[test]
fn what_learned_is_not_counted_and_says_what_it_goes_by() {
    let s = Sandbox::new();
    audit(&s, "run", "learned", &[]);
    let cells = cells(&s, "run");
    for cell in &cells {
        assert_eq!(
            (number(cell, "trained"), number(cell, "trials")),
            (240.0, 560.0)
        );
        assert_eq!(cell["estimator"], "abstain");
    }
    // Almost all of what randomised response tells, and nothing of what is not there.
    let bound = number(&cells[0], "empirical_epsilon");
    assert!((1.5..=3.0).contains(&bound), "{bound}");
    assert_eq!(number(&cells[1], "empirical_epsilon"), 0.0);
    assert!(!cells[0]["signs"].as_array().unwrap().is_empty());
    let shown = s.stdout(&["report", "run"]);
    assert!(shown.contains("learned goes by: "), "{shown}");
    // The guesses stand in a file of their own, which a report reads and checks.
    let path = s.path("run/guesses.parquet");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[100] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let refused = s.run(&["report", "run"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(text(&refused.stderr).contains("guesses.parquet"));
}

#[test]
fn parts_wait_for_the_whole() {
    let s = Sandbox::new();
    audit(&s, "whole", "learned,random", &[]);
    for part in ["1/2", "2/2"] {
        audit(&s, &part[..1], "learned,random", &["--shard", part]);
    }
    let of_part = cells(&s, "1");
    assert!(
        of_part.iter().all(|cell| cell["attack"] == "random"),
        "{of_part:?}"
    );
    let refused = s.run(&["report", "1", "--attack", "learned", "--out", "x"]);
    assert!(
        text(&refused.stderr).contains("merge it first"),
        "{}",
        text(&refused.stderr)
    );
    s.stdout(&["merge", "2", "1", "--out", "merged"]);
    assert_eq!(cells(&s, "merged"), cells(&s, "whole"));
    for file in ["guesses.parquet", "trials.parquet"] {
        assert_eq!(s.bytes("merged", file), s.bytes("whole", file), "{file}");
    }
}

#[test]
fn what_cannot_be_put_to_rows_is_refused_with_the_reason() {
    let s = Sandbox::new();
    let refused = |arguments: &[&str], reason: &str| {
        let output = s.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = text(&output.stderr);
        assert!(said.contains(reason), "{arguments:?}: {said}");
    };
    let with = |more: &[&'static str]| [&RUN[..], more].concat();
    refused(
        &with(&["learned", "--until", "decided"]),
        "fixed number of trials",
    );
    refused(
        &with(&["learned", "--keep", "counts"]),
        "no rows to learn from",
    );
    refused(
        &with(&["learned", "--estimator", "rao-blackwell"]),
        "reads the mechanism's likelihoods",
    );
    refused(&with(&["learned:share=0.1"]), "needs 200 at least");
    refused(&with(&["learned:share=2"]), "between 0 and 1");
    refused(&with(&["random:share=0.5"]), "has no options");
    audit(&s, "run", "random", &[]);
    refused(&["report", "run", "--attack", "learned"], "need --out");
    refused(
        &["report", "run", "--attack", "learned", "--out", "run"],
        "not overwritten",
    );
    audit(&s, "other", "random", &["--seed", "1"]);
    refused(&["report", "run", "--out", "other"], "not overwritten");
    refused(
        &["report", "run", "other", "--out", "other"],
        "not overwritten",
    );
    refused(
        &["report", "run", "--attack", "lerned", "--out", "x"],
        "unknown attack 'lerned'",
    );
    audit(
        &s,
        "until",
        "random",
        &["--until", "decided", "--estimator", "anytime"],
    );
    refused(
        &["report", "until", "--attack", "embedding", "--out", "x"],
        "--until decided",
    );
}

#[test]
fn by_default_both_kinds_judge_and_one_that_cannot_is_left_out_with_a_note() {
    let s = Sandbox::new();
    let run = |trials: &str| {
        let mut arguments = [&RUN[..], &["auto"]].concat();
        arguments[10] = trials;
        arguments.retain(|argument| *argument != "--quiet");
        let mut command = s.command(&arguments);
        command.env("COLUMNS", "160").output().unwrap()
    };
    let whole = text(&run("800").stdout);
    for (attack, estimator) in [
        ("learned", "abstain"),
        ("embedding", "teda"),
        ("likelihood-ratio", "teda"),
    ] {
        let line = whole.lines().find(|line| line.contains(attack)).unwrap();
        assert!(line.contains(estimator), "{line}");
    }
    let few = run("300");
    assert!(!text(&few.stdout).contains("learned"));
    assert!(
        text(&few.stderr).contains("without 'learned': "),
        "{}",
        text(&few.stderr)
    );
}

#[test]
fn the_worst_pair_is_hunted_and_the_bound_is_of_fresh_trials() {
    let s = Sandbox::new();
    let hunt = |out: &str, attack: &str, more: &[&str]| {
        let arguments = [
            "audit",
            "--mech",
            "word-perturb",
            "--epsilon",
            "25",
            "--limit",
            "12",
            "--lambda",
            "0",
            "--pairs",
            "hunt=20",
            "--trials",
            "1500",
            "--quiet",
            "--attack",
            attack,
            "--out",
            out,
        ];
        s.stdout(&[&arguments[..], more].concat());
        cells(&s, out).remove(0)
    };
    for attack in ["embedding", "learned"] {
        let cell = hunt(attack, attack, &[]);
        assert_eq!(number(&cell, "trials"), 1000.0);
        assert_eq!(cell["witness_texts"].as_array().unwrap().len(), 2);
        // The same for other threads and batches, and when judged again.
        let other = format!("{attack}-again");
        assert_eq!(
            hunt(&other, attack, &["--threads", "1", "--batch", "7"]),
            cell
        );
        s.stdout(&["report", attack]);
        assert_eq!(cells(&s, attack).remove(0), cell);
    }
    for (more, reason) in [
        (&["--shard", "1/2"][..], "does not see all trials"),
        (&["--until", "decided"], "fixed number of trials"),
        (&["--attack", "embedding,random"], "a pair of its own"),
        (&["--pairs", "hunt=900"], "take fewer sets"),
    ] {
        let mut arguments = vec![
            "audit", "--mech", "identity", "--limit", "12", "--trials", "1500",
        ];
        if !more.contains(&"--pairs") {
            arguments.extend(["--pairs", "hunt=20"]);
        }
        arguments.extend(more);
        let output = s.run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{more:?}");
        assert!(
            text(&output.stderr).contains(reason),
            "{}",
            text(&output.stderr)
        );
    }
}

#[test]
fn below_chance_is_a_finding() {
    let s = Sandbox::new();
    // A program that releases the other of two categories.
    let program = s.file(
        "other.py",
        "import json, sys\nOTHER = {'category 1': 'category 2', 'category 2': 'category 1'}\nfor line in sys.stdin:\n    q = json.loads(line)\n    t = OTHER[q['text']]\n    print(json.dumps({'id': q['id'], 'text': t}), flush=True)\n",
    );
    let mech = format!("exec:python3 {program}");
    let shown = s.stdout(&[
        "audit",
        "--mech",
        &mech,
        "--dataset",
        "categories:2",
        "--lambda",
        "0",
        "--epsilon",
        "1",
        "--claim",
        "neighbours=any-texts",
        "--trials",
        "400",
        "--attack",
        "overlap",
        "--quiet",
    ]);
    assert!(shown.contains("reads them the wrong way"), "{shown}");
    assert!(!shown.contains("found no leak"), "{shown}");
}
