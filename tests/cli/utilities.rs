//! Utilities of releases: with an audit, afterwards, for shards, and where there is nothing to measure.

use std::fs;

use crate::sandbox::{Sandbox, text};

const AUDIT: [&str; 15] = [
    "audit",
    "--mech",
    "em,identity",
    "--epsilon",
    "20,200",
    "--limit",
    "60",
    "--trials",
    "120",
    "--attack",
    "overlap,embedding",
    "--utility",
    "all",
    "--quiet",
    "--out",
];

fn audited(sandbox: &Sandbox, out: &str, more: &[&str]) -> String {
    sandbox.stdout(&[&AUDIT[..], &[out], more].concat())
}

fn document(sandbox: &Sandbox, run: &str) -> serde_json::Value {
    serde_json::from_slice(&sandbox.bytes(run, "result.json")).unwrap()
}

#[test]
fn an_audit_measures_what_its_releases_are_good_for() {
    let sandbox = Sandbox::new();
    let table = audited(&sandbox, "run", &[]);
    for said in [
        "utility: mean over releases",
        "cosine",
        "nrefs:1|case:mixed|eff:no|tok:13a",
        "120 of 120",
    ] {
        assert!(table.contains(said), "{said}\n{table}");
    }
    let utilities = document(&sandbox, "run")["utilities"].clone();
    // em at two ε, identity without one, and eight utilities each.
    assert_eq!(utilities.as_array().unwrap().len(), 3 * 8);
    let of = |mechanism: &str, epsilon: serde_json::Value, utility: &str| {
        let cells = utilities.as_array().unwrap();
        let is = |cell: &&serde_json::Value| {
            cell["mechanism"] == mechanism
                && cell["epsilon"] == epsilon
                && cell["utility"] == utility
        };
        cells.iter().find(is).unwrap().clone()
    };
    let mean = |cell: serde_json::Value| cell["mean"].as_f64().unwrap();
    let (little, much) = (
        mean(of("em", 20.0.into(), "copied")),
        mean(of("em", 200.0.into(), "copied")),
    );
    assert!(little < much && much < 1.0, "{little} {much}");
    assert_eq!(mean(of("identity", serde_json::Value::Null, "copied")), 1.0);
    let cosine = of("em", 20.0.into(), "cosine");
    assert!(cosine["mean_lower"].as_f64() < cosine["mean"].as_f64());
    assert_eq!(cosine["signature"], "encoder: builtin");
    let csv = text(&sandbox.bytes("run", "utilities.csv"));
    assert_eq!(csv.lines().count(), 1 + 3 * 8);
    let picture = text(&sandbox.bytes("run", "frontier-cosine.svg"));
    assert!(picture.contains("cosine against leakage") && picture.contains("identity"));
}

/// The same figures later, by any threads, in parts and by a report on its own.
#[test]
fn utilities_are_the_same_however_they_are_computed() {
    let sandbox = Sandbox::new();
    let table = audited(&sandbox, "whole", &["--threads", "2"]);
    let whole = document(&sandbox, "whole")["utilities"].clone();
    assert_eq!(audited(&sandbox, "one", &["--threads", "1"]), table);
    for part in ["1/3", "2/3", "3/3"] {
        let out = part.replace('/', "of");
        let part = audited(&sandbox, &out, &["--shard", part]);
        assert!(!part.contains("utility:"), "a part waits for the whole");
    }
    let merged = sandbox.stdout(&["merge", "3of3", "1of3", "2of3", "--out", "merged"]);
    assert_eq!(merged, table);
    assert_eq!(document(&sandbox, "merged")["utilities"], whole);
    // Asked for later, and kept where they are not asked for again.
    sandbox.stdout(&["report", "whole", "--utility", "all", "--out", "later"]);
    assert_eq!(document(&sandbox, "later")["utilities"], whole);
    assert_eq!(sandbox.stdout(&["report", "whole"]), table);
    assert_eq!(document(&sandbox, "whole")["utilities"], whole);
    let bleu = sandbox.stdout(&["report", "one", "--utility", "bleu", "--out", "bleu"]);
    assert!(bleu.contains("bleu") && !bleu.contains("rouge1"));
}

/// A run that was ended between its last row and its utilities has them measured when it is gone on with; a result that
/// cannot be read is no result without utilities.
#[test]
fn utilities_are_not_lost_in_silence() {
    let sandbox = Sandbox::new();
    let table = audited(&sandbox, "run", &["--go-on"]);
    let whole = document(&sandbox, "run")["utilities"].clone();
    let result = sandbox.path("run").join("result.json");
    fs::remove_file(&result).unwrap();
    assert_eq!(audited(&sandbox, "run", &["--go-on"]), table);
    assert!(document(&sandbox, "run")["utilities"] == whole);
    fs::write(&result, "{}").unwrap();
    let output = sandbox.run(&["report", "run"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(
        said.contains("result.json") && said.contains("--utility"),
        "{said}"
    );
    fs::remove_file(&result).unwrap();
    let without = sandbox.stdout(&["report", "run"]);
    assert!(!without.contains("utility:"), "{without}");
}

#[test]
fn what_cannot_be_measured_is_refused_with_the_reason() {
    let sandbox = Sandbox::new();
    let refused = |arguments: &[&str], reason: &str| {
        let output = sandbox.run(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(reason), "{said}");
    };
    let audit = ["audit", "--mech", "krr", "--trials", "50", "--limit", "9"];
    let with = |more: &[&'static str]| [&audit[..], more].concat();
    refused(&with(&["--utility", "rouge"]), "rouge1");
    refused(
        &with(&["--utility", "bleu", "--keep", "counts"]),
        "keeps none",
    );
    sandbox.stdout(&with(&[
        "--keep", "counts", "--quiet", "--attack", "overlap", "--out", "counts",
    ]));
    refused(&["report", "counts", "--utility", "bleu"], "--keep counts");
    refused(&["report", "counts", "--encoder", "builtin"], "--utility");
}

/// A mechanism that releases nothing is measured by nothing, and says so.
#[test]
fn failures_have_no_score_and_are_counted() {
    let sandbox = Sandbox::new();
    let fails = r#"exec:while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}; printf '{"id":%s,"error":"no"}\n' "$id"; done"#;
    let output = sandbox.run(&[
        "audit",
        "--mech",
        fails,
        "--epsilon",
        "1",
        "--trials",
        "20",
        "--limit",
        "5",
        "--attack",
        "overlap",
        "--utility",
        "cosine,length",
        "--quiet",
        "--out",
        "none",
    ]);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(said.contains("0 of 20"), "{said}");
    let utilities = document(&sandbox, "none")["utilities"].clone();
    assert_eq!(
        (&utilities[0]["failed"], &utilities[0]["mean"]),
        (&20.into(), &serde_json::Value::Null)
    );
}
