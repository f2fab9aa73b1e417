//! Audits of mechanisms of known ε: ceilings reached, nothing found where there is nothing, exact
//! claims confirmed and broken ones refuted.

use crate::sandbox::{Sandbox, number};

#[test]
fn identity_reaches_the_ceiling_of_every_k() {
    let cells = Sandbox::new().cells(&[
        "audit", "--mech", "identity", "--k", "2,4,8,16", "--trials", "10000",
    ]);
    for (cell, ceiling) in cells.iter().zip([7.5427, 8.641, 9.489, 10.251]) {
        assert_eq!(cell["hits"], cell["trials"]);
        assert_eq!(cell["empirical_epsilon"], cell["ceiling"]);
        assert!((number(cell, "ceiling") - ceiling).abs() < 6e-4, "{cell}");
        assert_eq!(cell["verdict"], "no-claim");
        assert!(cell["epsilon"].is_null() && cell["claimed_epsilon"].is_null());
    }
    assert_eq!(cells.len(), 4);
}

#[test]
fn a_constant_release_and_a_random_guess_show_nothing() {
    let sandbox = Sandbox::new();
    let constant = sandbox.cells(&[
        "audit",
        "--mech",
        "constant",
        "--k",
        "2,4",
        "--attack",
        "embedding,random",
    ]);
    assert_eq!(constant.len(), 4);
    for cell in &constant {
        assert_eq!(number(cell, "empirical_epsilon"), 0.0, "{cell}");
        assert_eq!(cell["verdict"], "consistent");
        assert_eq!(number(cell, "claimed_epsilon"), 0.0);
    }
    for cell in sandbox.cells(&[
        "audit", "--mech", "identity", "--attack", "random", "--k", "2,8",
    ]) {
        assert_eq!(number(&cell, "empirical_epsilon"), 0.0, "{cell}");
    }
}

/// 10⁶ trials of randomised response over two texts, where the best attack is known: the hits must
/// lie within four standard deviations of their mean, and the bound just below ε.
#[test]
fn binary_randomised_response_is_measured_at_its_epsilon() {
    let audit = [
        "audit", "--limit", "2", "--k", "2", "--lambda", "0", "--trials", "1000000", "--mech",
    ];
    let sandbox = Sandbox::new();
    let cells = sandbox.cells(&[&audit[..], &["krr"]].concat());
    assert_eq!(cells.len(), 4);
    for cell in &cells {
        let epsilon = number(cell, "epsilon");
        let rate = 1.0 / (1.0 + (-epsilon).exp());
        let deviation = (1e6 * rate * (1.0 - rate)).sqrt();
        assert!(
            (number(cell, "hits") - 1e6 * rate).abs() < 4.0 * deviation,
            "{cell}"
        );
        assert!(number(cell, "empirical_epsilon") <= epsilon, "{cell}");
        assert!(number(cell, "empirical_epsilon") > epsilon - 0.03, "{cell}");
        assert_eq!(cell["verdict"], "consistent");
    }
    for cell in sandbox.cells(&[&audit[..], &["krr-half-noise"]].concat()) {
        assert_eq!(cell["verdict"], "violation", "{cell}");
        assert!(number(&cell, "empirical_epsilon") > number(&cell, "claimed_epsilon"));
    }
}

#[test]
fn the_baseline_estimator_agrees_and_needs_two_candidates() {
    let sandbox = Sandbox::new();
    let audit = [
        "audit",
        "--mech",
        "krr",
        "--limit",
        "2",
        "--epsilon",
        "2",
        "--trials",
        "200000",
    ];
    let cell = &sandbox.cells(&[&audit[..], &["--estimator", "baseline"]].concat())[0];
    let bound = number(cell, "empirical_epsilon");
    assert!((1.93..2.0).contains(&bound), "{cell}");
    assert_eq!(cell["estimator"], "baseline");
    let refused = sandbox.run(&[
        "audit",
        "--mech",
        "identity",
        "--k",
        "4",
        "--estimator",
        "baseline",
    ]);
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn too_few_trials_to_refute_a_claim_are_called_saturated() {
    let cells = Sandbox::new().cells(&[
        "audit",
        "--mech",
        "krr",
        "--limit",
        "2",
        "--epsilon",
        "50",
        "--trials",
        "100",
    ]);
    assert_eq!(cells[0]["verdict"], "saturated");
}

/// A claim about texts that differ in one token holds between such texts, and an audit of them can
/// see a leak; between any texts nothing is claimed.
#[test]
fn token_level_claims_are_audited_between_one_token_neighbours() {
    let sandbox = Sandbox::new();
    let audit = [
        "audit",
        "--mech",
        "em,privrewrite",
        "--epsilon",
        "2,30",
        "--max-words",
        "4",
        "--limit",
        "100",
        "--trials",
        "300",
        "--neighbours",
    ];
    let cells = sandbox.cells(&[&audit[..], &["one-token"]].concat());
    assert_eq!(cells.len(), 4);
    for cell in &cells {
        assert_eq!(cell["neighbours"], "one-token");
        assert_eq!(cell["claimed_epsilon"], cell["epsilon"]);
        assert_ne!(cell["verdict"], "violation", "{cell}");
    }
    assert!(number(&cells[1], "empirical_epsilon") > 2.0, "{}", cells[1]);
    for cell in sandbox.cells(&[&audit[..], &["any-texts"]].concat()) {
        assert_eq!(cell["verdict"], "no-claim");
    }
}

/// SafeDP-Rewrite shows its rewriter the unmasked part of the private text, so its claim between any
/// texts cannot hold: the audit says so.
#[test]
fn candidates_made_from_the_private_text_refute_the_claim() {
    let cells = Sandbox::new().cells(&[
        "audit",
        "--mech",
        "safedp-rewrite,safedp-rewrite-ns",
        "--epsilon",
        "0.5",
        "--trials",
        "300",
    ]);
    for cell in &cells {
        assert_eq!(cell["verdict"], "violation", "{cell}");
        assert!(number(cell, "empirical_epsilon") > 1.5, "{cell}");
    }
    assert_eq!(cells.len(), 2);
}

/// DP-Prompt's known defects, each where it can show, with the sound twin beside it: tokens left out
/// tell which were likely; temperature alone does not bound a logit.
#[test]
fn broken_decoding_is_a_violation_and_its_sound_twin_is_consistent() {
    let sandbox = Sandbox::new();
    for (broken, set, epsilon) in [
        ("dp-prompt-topk", "length=8", "0.1"),
        (
            "dp-prompt-unclipped",
            "length=4,clip_low=0,clip_high=0.1",
            "0.25",
        ),
    ] {
        let mechanisms = format!("{broken},dp-prompt");
        let cells = sandbox.cells(&[
            "audit",
            "--mech",
            &mechanisms,
            "--set",
            set,
            "--epsilon",
            epsilon,
            "--attack",
            "llm",
            "--trials",
            "500",
        ]);
        let verdicts: Vec<&serde_json::Value> = cells.iter().map(|c| &c["verdict"]).collect();
        assert_eq!(verdicts, ["violation", "consistent"], "{cells:?}");
    }
}
