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

/// The set that shows the most is named, and its bound pays for having been chosen.
#[test]
fn the_worst_pair_is_named() {
    let sandbox = Sandbox::new();
    for estimator in ["worst-pair", "worst-pair-split"] {
        let cell = &sandbox.cells(&[
            "audit",
            "--mech",
            "krr",
            "--dataset",
            "categories:3",
            "--lambda",
            "0",
            "--epsilon",
            "2",
            "--trials",
            "20000",
            "--estimator",
            estimator,
        ])[0];
        let bound = number(cell, "empirical_epsilon");
        assert!((0.5..2.0).contains(&bound), "{cell}");
        assert!(cell["witness"].as_str().unwrap().contains('+'), "{cell}");
    }
}
