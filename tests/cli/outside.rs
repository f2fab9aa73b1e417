//! Programs that are audited as mechanisms, and what is claimed of them.

use std::process::Command;

use crate::sandbox::{Sandbox, number, text};

/// Randomised response between two categories in plain shell, with its coin from the query's seed: true with
/// probability 0.8808, so that ε = ln(0.8808 / 0.1192) = 2.
pub const PROGRAM: &str = r#"exec:while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}; seed=${line##*\"seed\":}; seed=${seed%%\}*}
  case $line in *"category 1"*) secret=1;; *) secret=2;; esac
  if [ $((seed % 10000)) -ge 8808 ]; then secret=$((3 - secret)); fi
  printf '{"id":%s,"text":"category %s"}\n' "$id" "$secret"; done"#;

const AUDIT: [&str; 12] = [
    "audit",
    "--mech",
    PROGRAM,
    "--dataset",
    "categories:2",
    "--lambda",
    "0",
    "--trials",
    "4000",
    "--epsilon",
    "2",
    "--quiet",
];

#[test]
fn a_program_is_audited_against_its_claim() {
    let sandbox = Sandbox::new();
    let audit = |claim: &str| {
        let more = ["--claim", claim, "--format", "json"];
        let out = sandbox.stdout(&[&AUDIT[..], &more].concat());
        let document: serde_json::Value = serde_json::from_str(&out).unwrap();
        document["cells"][0].clone()
    };
    let cell = audit("neighbours=any-texts");
    assert!(
        (1.6..2.0).contains(&number(&cell, "empirical_epsilon")),
        "{cell}"
    );
    assert_eq!(
        (number(&cell, "claimed_epsilon"), &cell["verdict"]),
        (2.0, &"consistent".into())
    );
    let broken = audit("epsilon=1");
    assert_eq!(broken["verdict"], "violation", "{broken}");
    assert_eq!(audit("neighbours=one-token")["verdict"], "no-claim");
}

#[test]
fn processes_batches_and_shards_change_nothing() {
    let sandbox = Sandbox::new();
    let audit =
        |out: &str, more: &[&str]| sandbox.stdout(&[&AUDIT[..], &["--out", out], more].concat());
    let table = audit("whole", &["--processes", "1"]);
    let rows = sandbox.bytes("whole", "trials.parquet");
    for (name, how) in [
        ("three", &["--processes", "3", "--batch", "7"][..]),
        ("one-thread", &["--threads", "1"]),
    ] {
        assert_eq!(audit(name, how), table, "{name}");
        assert_eq!(sandbox.bytes(name, "trials.parquet"), rows, "{name}");
    }
    audit("first", &["--shard", "1/2"]);
    audit("second", &["--shard", "2/2"]);
    let merged = sandbox.stdout(&["merge", "second", "first", "--out", "merged"]);
    assert_eq!(merged, table);
}

/// The template states its likelihoods, so that a certificate shows its ε exactly, as that of the same
/// mechanism in the binary does.
#[test]
fn a_program_that_knows_its_likelihoods_is_certified() {
    if Command::new("python3").arg("--version").output().is_err() {
        eprintln!("skipped: there is no python3 here to run examples/randomised_response.py");
        return;
    }
    let sandbox = Sandbox::new();
    let file = sandbox.file("texts.txt", "one text\nanother\ta\nthird é\n");
    let template = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/examples/randomised_response.py"
    );
    let program = format!("exec:python3 '{template}' '{file}'");
    let cell = |mechanism: &str, estimator: &str| {
        let audit = [
            "audit",
            "--dataset",
            &file,
            "--mech",
            mechanism,
            "--attack",
            "likelihood-ratio",
            "--estimator",
            estimator,
        ];
        let more = ["--lambda", "0", "--trials", "2000", "--epsilon", "2"];
        sandbox.cells(&[&audit[..], &more].concat()).remove(0)
    };
    let bound = |cell: &serde_json::Value| number(cell, "empirical_epsilon");
    let (certified, krr) = (cell(&program, "certificate"), cell("krr", "certificate"));
    assert!(
        (bound(&certified) - bound(&krr)).abs() < 1e-12,
        "{certified}"
    );
    assert!((bound(&certified) - 2.0).abs() < 1e-12, "{certified}");
    assert_eq!(number(&certified, "failed"), 0.0);
    let averaged = cell(&program, "rao-blackwell");
    assert!((1.3..2.0).contains(&bound(&averaged)), "{averaged}");
}

/// Of a trial without a release, nothing is asked; the others keep their own likelihoods.
#[test]
fn failed_releases_have_no_likelihoods() {
    let program = r#"exec:while read -r line; do
      id=${line#*\"id\":}; id=${id%%,*}; seed=${line##*\"seed\":}; seed=${seed%\}}
      case $line in
      *'"release":""'*) echo asked of nothing;;
      *'"text":"category 1","release":'*) printf '{"id":%s,"log_likelihood":-0.5}\n' "$id";;
      *'"release":'*) printf '{"id":%s,"log_likelihood":-1.75}\n' "$id";;
      *) if [ $((seed % 4)) = 0 ]; then printf '{"id":%s,"error":"no"}\n' "$id"
         else printf '{"id":%s,"text":"x"}\n' "$id"; fi;; esac; done"#;
    let audit = ["audit", "--mech", program, "--dataset", "categories:2"];
    let white_box = ["--attack", "likelihood-ratio", "--estimator", "certificate"];
    let more = ["--lambda", "0", "--trials", "400", "--batch", "16"];
    let cell = &Sandbox::new().cells(&[&audit[..], &white_box, &more].concat())[0];
    assert!((50.0..150.0).contains(&number(cell, "failed")), "{cell}");
    let bound = number(cell, "empirical_epsilon");
    assert!((bound - 1.25).abs() < 1e-12, "{cell}");
}

#[test]
fn programs_that_cannot_be_audited_are_refused() {
    let sandbox = Sandbox::new();
    let refused = |arguments: &[&str], status, said: &str| {
        let audit = ["audit", "--dataset", "categories:2", "--trials", "20"];
        let output = sandbox.run(&[&audit[..], arguments].concat());
        assert_eq!(output.status.code(), Some(status), "{arguments:?}");
        let error = text(&output.stderr);
        assert!(error.contains(said), "{arguments:?}: {error}");
    };
    refused(&["--mech", "exec:"], 2, "not a command line");
    refused(&["--mech", "exec:echo broken >&2; exit 7"], 1, "broken");
    refused(
        &["--mech", "exec:cat", "--claim", "unit=token"],
        2,
        "unit=text",
    );
    refused(&["--mech", "krr", "--claim", "epsilon=1"], 2, "--claim");
    let white_box = ["--attack", "likelihood-ratio", "--mech"];
    let asked = |program| [&white_box[..], &[program]].concat();
    // Programs that rewrite and know no other question, and one that takes back what it did.
    refused(&asked(PROGRAM), 2, "neither a log_likelihood nor an error");
    refused(
        &asked("exec:cat"),
        2,
        "another attack than 'likelihood-ratio'",
    );
    let never = r#"exec:while read -r line; do
      id=${line#*\"id\":}; id=${id%%,*}
      printf '{"id":%s,"text":"x","log_likelihood":"-inf"}\n' "$id"; done"#;
    refused(&asked(never), 1, "contradicts itself");
}
