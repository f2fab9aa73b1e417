//! Estimators on the command line: tighter where they can be, sound where they must be.

use crate::sandbox::{Sandbox, number, text};

const CATEGORIES: [&str; 5] = ["audit", "--lambda", "0", "--dataset", "categories:2"];

fn cells(sandbox: &Sandbox, more: &[&str]) -> Vec<serde_json::Value> {
    sandbox.cells(&[&CATEGORIES[..], more].concat())
}

/// The optimal attack that may abstain gets close to ε of protocols on which a forced guess sees little.
#[test]
fn abstention_sees_what_a_forced_guess_does_not() {
    let sandbox = Sandbox::new();
    let audit = |estimator| {
        cells(
            &sandbox,
            &[
                "--mech",
                "grr,sue,oue,olh",
                "--attack",
                "likelihood-ratio",
                "--epsilon",
                "4",
                "--trials",
                "100000",
                "--estimator",
                estimator,
            ],
        )
    };
    for (tight, forced) in audit("abstain").iter().zip(audit("teda")) {
        let (tight, forced) = (
            number(tight, "empirical_epsilon"),
            number(&forced, "empirical_epsilon"),
        );
        assert!((3.8..=4.0).contains(&tight), "{tight}");
        assert!(forced <= 4.0 && tight > forced - 0.1, "{forced}");
    }
}

/// At twice the utility's scale, a release over the real vocabulary proves more than the claim.
#[test]
fn a_certificate_refutes_half_the_noise_and_not_its_sound_twin() {
    let cells = Sandbox::new().cells(&[
        "audit",
        "--mech",
        "em-half-noise,em",
        "--neighbours",
        "one-token",
        "--attack",
        "likelihood-ratio",
        "--estimator",
        "certificate",
        "--epsilon",
        "4",
        "--trials",
        "2000",
    ]);
    assert_eq!(cells[0]["verdict"], "violation", "{}", cells[0]);
    assert_eq!(cells[1]["verdict"], "consistent", "{}", cells[1]);
    assert!(number(&cells[1], "empirical_epsilon") > 1.0, "{}", cells[1]);
    assert_eq!(cells[1]["ceiling"], "inf");
}

/// A broken control is refuted after a few trials, the same ones for any batch and number of threads.
#[test]
fn an_audit_stops_when_it_is_decided() {
    let sandbox = Sandbox::new();
    let audit = [
        "--mech",
        "krr-half-noise,constant",
        "--until",
        "decided",
        "--epsilon",
        "2",
        "--trials",
        "100000",
    ];
    let decided = cells(&sandbox, &audit);
    assert_eq!(decided[0]["estimator"], "anytime");
    assert_eq!(decided[0]["verdict"], "violation");
    let trials = number(&decided[0], "trials");
    assert!((10.0..1000.0).contains(&trials), "{trials}");
    let other = cells(
        &sandbox,
        &[&audit[..], &["--batch", "3", "--threads", "1"]].concat(),
    );
    assert_eq!(other[0]["trials"], decided[0]["trials"]);
    assert_eq!(other[0]["hits"], decided[0]["hits"]);
    let narrow = cells(
        &sandbox,
        &[
            "--mech",
            "krr",
            "--until",
            "width=0.5",
            "--epsilon",
            "1",
            "--trials",
            "100000",
        ],
    );
    let trials = number(&narrow[0], "trials");
    assert!((100.0..20_000.0).contains(&trials), "{trials}");
}

#[test]
fn estimators_that_do_not_fit_are_refused() {
    let sandbox = Sandbox::new();
    for (arguments, said) in [
        (
            &["--mech", "krr", "--estimator", "gdp", "--delta", "1e-5"][..],
            "not declared Gaussian",
        ),
        (&["--mech", "gaussian", "--estimator", "gdp"], "delta"),
        (
            &["--mech", "privrewrite", "--estimator", "certificate"],
            "cannot say how likely",
        ),
        (
            &["--mech", "word-perturb", "--estimator", "certificate"],
            "only nearly",
        ),
        (
            &["--mech", "dp-prompt-topk", "--estimator", "rao-blackwell"],
            "'likelihood-ratio'",
        ),
        (
            &["--mech", "krr", "--estimator", "joint-beta", "--k", "4"],
            "k = 2",
        ),
        (
            &["--mech", "krr", "--until", "decided", "--estimator", "teda"],
            "anytime",
        ),
        (
            &["--mech", "krr", "--until", "decided", "--shard", "1/2"],
            "--shard",
        ),
        (&["--mech", "krr", "--until", "soon"], "width=W"),
    ] {
        let output = sandbox.run(&[&["audit", "--trials", "10"][..], arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let error = text(&output.stderr);
        assert!(error.contains(said), "{arguments:?}: {error}");
    }
}

/// What a run may not be judged by at once, its rows may not be judged by later.
#[test]
fn a_report_takes_no_estimator_that_the_rows_do_not_allow() {
    let sandbox = Sandbox::new();
    let krr = "audit --mech krr --epsilon 1 --dataset categories:2 --trials 500 --quiet";
    let krr: Vec<&str> = krr.split(' ').collect();
    sandbox.stdout(&[&krr[..], &["--out", "all"]].concat());
    sandbox.stdout(&[&krr[..], &["--out", "stopped", "--until", "width=1"]].concat());
    for (run, estimator, said) in [
        ("all", "gdp", "not declared Gaussian"),
        ("stopped", "teda", "only anytime does"),
    ] {
        let report = [
            "report",
            run,
            "--out",
            "again",
            "--delta",
            "0.1",
            "--estimator",
        ];
        let output = sandbox.run(&[&report[..], &[estimator]].concat());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{run}: {error}");
        assert!(error.contains(said), "{error}");
    }
    sandbox.stdout(&[
        "report",
        "stopped",
        "--out",
        "again",
        "--estimator",
        "anytime",
    ]);
}

/// Near likelihoods make guesses and are not stored, so that no report can take them for exact.
#[test]
fn a_report_certifies_exact_likelihoods_alone() {
    let sandbox = Sandbox::new();
    for (mechanism, status) in [("em", Some(0)), ("word-perturb", Some(2))] {
        let audit = ["audit", "--attack", "likelihood-ratio", "--epsilon", "25"];
        let more = ["--trials", "20", "--quiet", "--out", mechanism, "--mech"];
        sandbox.stdout(&[&audit[..], &more, &[mechanism]].concat());
        let report = ["report", mechanism, "--out", "again", "--estimator"];
        let output = sandbox.run(&[&report[..], &["certificate"]].concat());
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), status, "{mechanism}: {error}");
        assert_eq!(error.contains("exactly"), status == Some(2), "{error}");
    }
}

/// The set that shows the most is named by its texts, in one piece or in parts, at once or from the stored
/// run, and its bound pays for having been chosen.
#[test]
fn the_worst_pair_is_named() {
    let sandbox = Sandbox::new();
    let small = ["--mech", "krr", "--epsilon", "2", "--trials", "20000"];
    let audit = |estimator: &str, out: &str, more: &[&str]| {
        let data = ["audit", "--lambda", "0", "--dataset", "categories:3"];
        let how = ["--quiet", "--estimator", estimator, "--out", out];
        sandbox.stdout(&[&data[..], &small, &how, more].concat())
    };
    for estimator in ["worst-pair", "worst-pair-split"] {
        let table = audit(estimator, estimator, &[]);
        let stored: serde_json::Value =
            serde_json::from_slice(&sandbox.bytes(estimator, "result.json")).unwrap();
        let cell = &stored["cells"][0];
        let bound = number(cell, "empirical_epsilon");
        assert!((0.5..2.0).contains(&bound), "{cell}");
        let numbers = cell["witness"].as_str().unwrap().split('+');
        let texts: Vec<String> = numbers
            .map(|number| format!("category {}", number.parse::<u32>().unwrap() + 1))
            .collect();
        assert_eq!(cell["witness_texts"], serde_json::json!(texts));
        let said = format!("between {:?} and {:?}", texts[0], texts[1]);
        assert!(table.contains(&said), "{table}");
        let csv = ["report", estimator, "--format", "csv"];
        assert!(sandbox.stdout(&csv).contains(&said.replace('"', "\"\"")));
        assert_eq!(sandbox.stdout(&["report", estimator]), table);
    }
    let table = audit("worst-pair", "whole", &[]);
    audit("worst-pair", "part1", &["--shard", "1/2"]);
    audit("worst-pair", "part2", &["--shard", "2/2"]);
    let merged = sandbox.stdout(&["merge", "part2", "part1", "--out", "merged"]);
    assert_eq!(merged, table);
    assert_eq!(sandbox.stdout(&["report", "merged"]), table);
    // The texts are there whatever the estimator was.
    audit("teda", "pooled", &[]);
    let report = ["report", "pooled", "--estimator", "worst-pair", "--out"];
    let again = sandbox.stdout(&[&report[..], &["again"]].concat());
    assert_eq!(again, table);
    let kept = sandbox.path("pooled").join("texts.parquet");
    std::fs::write(&kept, "changed").unwrap();
    let refused = sandbox.run(&[&report[..], &["never"]].concat());
    assert_eq!(refused.status.code(), Some(1));
    let error = text(&refused.stderr);
    assert!(error.contains("texts.parquet: not the file"), "{error}");
}

/// Texts that were derived for each k are quoted from the list of their own cell.
#[test]
fn a_witness_of_derived_texts_is_quoted_as_it_was_drawn() {
    let cells = Sandbox::new().cells(&[
        "audit",
        "--mech",
        "identity",
        "--neighbours",
        "one-token",
        "--limit",
        "2",
        "--k",
        "2,3",
        "--trials",
        "400",
        "--estimator",
        "worst-pair",
    ]);
    for (cell, k) in cells.iter().zip([2, 3]) {
        let texts: Vec<Vec<&str>> = cell["witness_texts"]
            .as_array()
            .unwrap()
            .iter()
            .map(|text| text.as_str().unwrap().split(' ').collect())
            .collect();
        assert_eq!(texts.len(), k, "{cell}");
        for other in &texts[1..] {
            let pairs = texts[0].iter().zip(other);
            assert_eq!(pairs.filter(|(a, b)| a != b).count(), 1, "{cell}");
        }
    }
}
