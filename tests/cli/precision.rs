//! `--precision`: other numbers, under the same law.

use serde_json::Value;
use teda_models::{Backend, Precision};

use crate::sandbox::{Sandbox, read, text};

/// Encoders, language models, infilling, gaps and likelihoods, on the models in the binary and on tiny checkpoints.
const AUDITS: [&[&str]; 2] = [
    &[
        "audit",
        "--mech",
        "privrewrite,dp-prompt,dp-mlm,dp-paraphrase",
        "--epsilon",
        "20",
        "--limit",
        "60",
        "--trials",
        "48",
        "--attack",
        "embedding",
    ],
    &[
        "audit",
        "--mech",
        "dp-prompt",
        "--llm",
        concat!(env!("CARGO_MANIFEST_DIR"), "/models/tests/fixtures/t5"),
        "--encoder",
        concat!(env!("CARGO_MANIFEST_DIR"), "/models/tests/fixtures/bert"),
        "--set",
        "clip_low=-3,clip_high=3",
        "--epsilon",
        "200",
        "--limit",
        "60",
        "--trials",
        "48",
        "--attack",
        "embedding",
    ],
];

/// Whether this processor multiplies bfloat16.
fn multiplies() -> bool {
    let found = Backend::of(Precision::Bf16).is_ok();
    if !found {
        eprintln!("skipped: this processor has no products of bfloat16");
    }
    found
}

fn run(sandbox: &Sandbox, audit: &[&str], out: &str, more: &[&str]) {
    let output = sandbox.run(&[audit, &["--out", out], more].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
}

fn rows(sandbox: &Sandbox, run: &str) -> Vec<u8> {
    read(&sandbox.path(run).join("trials.parquet"))
}

fn manifest(sandbox: &Sandbox, run: &str) -> Value {
    serde_json::from_slice(&read(&sandbox.path(run).join("manifest.json"))).unwrap()
}

#[test]
fn a_processor_without_such_products_is_told_so_and_a_wrong_name_too() {
    let sandbox = Sandbox::new();
    let output = sandbox.run(&["audit", "--mech", "krr", "--precision", "half"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("f32"),
        "{}",
        text(&output.stderr)
    );
    if multiplies() {
        return;
    }
    let output = sandbox.run(&["audit", "--mech", "privrewrite", "--precision", "bf16"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("take --precision f32"));
}

#[test]
fn the_same_bits_for_threads_batches_and_shards_and_others_than_f32() {
    if !multiplies() {
        return;
    }
    for audit in AUDITS {
        let sandbox = Sandbox::new();
        run(&sandbox, audit, "single", &[]);
        let bf16 = |out: &str, more: &[&str]| {
            run(
                &sandbox,
                audit,
                out,
                &[&["--precision", "bf16"], more].concat(),
            );
        };
        bf16("one", &["--threads", "1"]);
        bf16("batched", &["--threads", "2", "--batch", "7"]);
        assert_eq!(rows(&sandbox, "one"), rows(&sandbox, "batched"));
        assert_ne!(rows(&sandbox, "one"), rows(&sandbox, "single"));
        bf16("a", &["--shard", "1/2"]);
        bf16("b", &["--shard", "2/2"]);
        let merged = sandbox.run(&["merge", "a", "b", "--out", "merged"]);
        assert!(merged.status.success(), "{}", text(&merged.stderr));
        assert_eq!(rows(&sandbox, "one"), rows(&sandbox, "merged"));
        let (half, single) = (manifest(&sandbox, "one"), manifest(&sandbox, "single"));
        assert_eq!(half["config"]["precision"], "bf16");
        assert_eq!(half["device"], "cpu, avx512-bf16");
        assert_eq!(single["config"].get("precision"), None);
        assert_eq!(single["device"], "cpu");
        let page = String::from_utf8(read(&sandbox.path("one").join("report.html"))).unwrap();
        assert!(page.contains("--precision bf16"));
        let mixed = sandbox.run(&["audit", "--resume", "one", "--precision", "f32"]);
        assert!(!mixed.status.success());
    }
}
