//! `teda task`: its table, its files, and what it refuses.

use insta::assert_snapshot;

use crate::sandbox::{Sandbox, text};

const SMALL: [&str; 11] = [
    "task",
    "--mech",
    "em,constant",
    "--epsilon",
    "20",
    "--limit",
    "150",
    "--seeds",
    "2",
    "--seed",
    "7",
];

#[test]
fn the_scores_of_a_small_task() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&SMALL);
    assert!(output.status.success());
    let said = text(&output.stderr);
    assert!(
        said.contains(
            "snips: 150 texts to train on and 150 to test on, of 14484 rows, 700 of other splits"
        ),
        "{said}"
    );
    assert_snapshot!("task", text(&output.stdout));
}

#[test]
fn files_hold_what_is_printed_whatever_the_threads() {
    let sandbox = Sandbox::new();
    let run = |more: &[&str]| sandbox.stdout(&[&SMALL[..], &["--quiet"], more].concat());
    let json = run(&["--format", "json", "--out", "kept", "--threads", "1"]);
    let csv = run(&["--format", "csv", "--threads", "3", "--batch", "7"]);
    assert_eq!(text(&sandbox.bytes("kept", "task.json")), json);
    assert_eq!(text(&sandbox.bytes("kept", "task.csv")), csv);

    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["schema"], "teda.task/1");
    assert_eq!(document["data"]["classes"].as_array().unwrap().len(), 7);
    let results = document["results"].as_array().unwrap();
    assert_eq!(results.len(), 2 + 2 * 3);
    assert_eq!(csv.lines().count(), 1 + results.len());
    for (line, result) in csv.lines().skip(1).zip(results) {
        let mean = result["accuracy"]["mean"].as_f64().unwrap().to_string();
        assert!(line.contains(&format!(",{mean},")), "{line}: {mean}");
    }

    // Every text before and after, once a seed.
    let releases = text(&sandbox.bytes("kept", "releases.jsonl"));
    assert_eq!(releases.lines().count(), 2 * 2 * 300);
    let first: serde_json::Value = serde_json::from_str(releases.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["mechanism"], &first["split"]),
        (&"em".into(), &"train".into())
    );
    let again = sandbox.run(&[&SMALL[..], &["--out", "kept"]].concat());
    assert_eq!(again.status.code(), Some(2), "the directory is not empty");
}

#[test]
fn a_model_is_fine_tuned_and_its_settings_are_kept() {
    let sandbox = Sandbox::new();
    let task = |more: &[&str]| {
        let tuned = [
            "task",
            "--classifier",
            "builtin",
            "--limit",
            "40",
            "--quiet",
        ];
        sandbox.stdout(&[&tuned[..], more].concat())
    };
    let json = task(&[
        "--learning-rate",
        "1e-3",
        "--train-batch",
        "4",
        "--format",
        "json",
    ]);
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(document["classifier"], "fine-tuned");
    let tuning = &document["fine_tuning"];
    assert_eq!(
        (
            &tuning["model"],
            &tuning["learning_rate"],
            &tuning["batch"],
            &tuning["max_tokens"]
        ),
        (&"builtin".into(), &1e-3.into(), &4.into(), &128.into())
    );
    let clean = &document["results"][1];
    assert_eq!(clean["accuracy"]["values"].as_array().unwrap().len(), 3);
    let files = document["models"].as_array().unwrap().iter();
    assert!(
        files
            .clone()
            .any(|file| file["name"] == "builtin/infill/model.safetensors")
    );
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let table = words(task(&["--epochs", "2"]));
    let says = "builtin, fine-tuned for 2 epochs at a learning rate of 5e-5 in batches of 8";
    assert!(table.contains(says), "{table}");
    assert!(table.contains("coins of mechanism and training"), "{table}");
}

#[test]
fn what_cannot_be_done_is_refused_with_the_reason() {
    let sandbox = Sandbox::new();
    let one = sandbox.file("one.csv", "text,label\na,x\nb,x\n");
    let missing = sandbox.file("missing.csv", "text,label\na,x\nb,\n");
    for (arguments, said) in [
        (&["--label", "lable"][..], "Did you mean 'label'?"),
        (&["--dataset", &one], "1 label in 'label' ('x')"),
        (&["--dataset", &missing], "line 3: there is no label"),
        (&["--dataset", "-"], "no column 'label'"),
        (&["--mech", "em", "--epsilon", "-1"], "epsilon = -1"),
        (&["--mech", "emm"], "unknown mechanism 'emm'"),
        (&["--mech", "em", "--set", "x=1"], "parameter of em 'x'"),
        (&["--mech", "em,em"], "named twice"),
        (&["--mech", "releases:x.csv"], "recorded releases"),
        (&["--epsilon", "1"], "--epsilon without --mech"),
        (&["--set", "x=1"], "--set without --mech"),
        (&["--seeds", "0"], "--seeds"),
        (&["--epochs", "2"], "--epochs is for an encoder"),
        (&["--classifier", "logistic"], "logistic"),
        (
            &["--classifier", "http://h/v1?model=m"],
            "run in this process",
        ),
        (
            &["--classifier", "builtin", "--learning-rate", "-1"],
            "learning rate = -1",
        ),
    ] {
        let output = sandbox.run(&[&["task"], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let error = text(&output.stderr);
        assert!(error.contains(said), "{arguments:?}: {error}");
    }
}
