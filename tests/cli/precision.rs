//! `--precision`: other numbers, under the same law.

use serde_json::Value;
use teda_models::Backend;

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

/// The instructions of this processor that multiply bfloat16.
fn instructions() -> Vec<&'static str> {
    let mut all = vec!["amx-bf16", "avx512-bf16"];
    all.retain(|name| name.parse().and_then(Backend::of).is_ok());
    if all.is_empty() {
        eprintln!("skipped: this processor has no products of bfloat16");
    }
    all
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
    let refused = |precision: &str| {
        let output = sandbox.run(&["audit", "--mech", "privrewrite", "--precision", precision]);
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr)
    };
    assert!(refused("half").contains("f32"));
    let have = instructions();
    for lacking in ["amx-bf16", "avx512-bf16"] {
        if have.contains(&lacking) {
            continue;
        }
        let message = refused(lacking);
        assert!(message.contains(lacking), "{message}");
        assert!(message.contains("--precision f32"), "{message}");
        for name in &have {
            assert!(
                message.contains(&format!("--precision {name}")),
                "{message}"
            );
        }
    }
    if have.is_empty() {
        assert!(refused("bf16").contains("take --precision f32"));
    }
}

#[test]
fn the_same_bits_for_threads_batches_and_shards_and_others_than_f32() {
    let all = instructions();
    let audits = AUDITS
        .iter()
        .flat_map(|audit| all.iter().map(move |name| (audit, name)));
    for (audit, name) in audits {
        let sandbox = Sandbox::new();
        run(&sandbox, audit, "single", &[]);
        let bf16 = |out: &str, more: &[&str]| {
            run(
                &sandbox,
                audit,
                out,
                &[&["--precision", name], more].concat(),
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
        assert_eq!(half["config"]["precision"], *name);
        assert_eq!(half["device"], format!("cpu, {name}"));
        assert_eq!(single["config"].get("precision"), None);
        assert_eq!(single["device"], "cpu");
        let page = String::from_utf8(read(&sandbox.path("one").join("report.html"))).unwrap();
        assert!(page.contains(&format!("--precision {name}")));
        let mixed = sandbox.run(&["audit", "--resume", "one", "--precision", "f32"]);
        assert!(!mixed.status.success());
    }
}

/// `bf16` is a name for the fastest, and a run says which that was: a shard made by others is none of its shards.
#[test]
fn a_run_says_which_instructions_and_others_do_not_join_it() {
    let all = instructions();
    let Some(fastest) = all.first() else { return };
    let sandbox = Sandbox::new();
    run(
        &sandbox,
        AUDITS[0],
        "a",
        &["--shard", "1/2", "--precision", "bf16"],
    );
    assert_eq!(manifest(&sandbox, "a")["config"]["precision"], *fastest);
    let other = all.get(1).unwrap_or(&"f32");
    run(
        &sandbox,
        AUDITS[0],
        "b",
        &["--shard", "2/2", "--precision", other],
    );
    let merged = sandbox.run(&["merge", "a", "b", "--out", "merged"]);
    assert_eq!(merged.status.code(), Some(2));
    assert!(
        text(&merged.stderr).contains("precision"),
        "{}",
        text(&merged.stderr)
    );
}
