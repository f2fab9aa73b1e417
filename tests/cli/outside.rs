//! Programs that are audited as mechanisms, and what is claimed of them.

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
    refused(&["--mech", "exec:"], 2, "no command line");
    refused(&["--mech", "exec:echo broken >&2; exit 7"], 1, "broken");
    refused(
        &["--mech", "exec:cat", "--claim", "unit=token"],
        2,
        "unit=text",
    );
    refused(&["--mech", "krr", "--claim", "epsilon=1"], 2, "--claim");
    refused(
        &["--mech", "exec:cat", "--attack", "likelihood-ratio"],
        2,
        "cannot say how likely",
    );
}
