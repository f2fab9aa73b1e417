//! Planted leaks: every broken mechanism of `examples/leaky.rs` is called a violation by the default attack, and its
//! sound twin no more often than α/2 allows. `scripts/leaks` makes the full counts.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use statrs::distribution::{Binomial, DiscreteCDF};

use crate::sandbox::{Sandbox, number, text};

/// Audits of each sound twin.
const SEEDS: u64 = 10;
/// Trials of each: of fewer, nothing can be learned.
const FEWEST: u64 = 700;
/// A p-value below this is no accident.
const ALARM: f64 = 1e-4;

/// Texts of a kind that knows its domain, or whose leak is of another kind than case and punctuation.
const FOUR: &str = include_str!("../leaks/four.txt");
const FORMS: &str = include_str!("../leaks/forms.txt");

/// A kind of leak, the data set that shows it, and how many trials it takes.
const LEAKS: [(&str, &str, u64); 13] = [
    ("length", "novels", FEWEST),
    ("first-word", "novels", 3_000),
    ("two-words", "novels", FEWEST),
    ("first-half", "novels", FEWEST),
    ("bijection", "four.txt", FEWEST),
    ("same-coins", "four.txt", FEWEST),
    ("fails-on-one", "four.txt", FEWEST),
    ("fails-on-long", "novels", 1_500),
    ("unicode-form", "forms.txt", FEWEST),
    ("quotation-marks", "forms.txt", FEWEST),
    ("punctuation", "novels", FEWEST),
    ("rare-words", "novels", FEWEST),
    ("verbatim-100", "novels", 6_000),
];

/// The folder of the program. A test that is built alone does not build it.
fn folder() -> PathBuf {
    let teda = Path::new(env!("CARGO_BIN_EXE_teda"));
    let folder = teda.with_file_name("examples");
    let modified = |path: &Path| path.metadata().and_then(|data| data.modified()).ok();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/leaky.rs");
    let program = folder.join(format!("leaky{}", std::env::consts::EXE_SUFFIX));
    assert!(
        modified(&program) >= modified(Path::new(source)),
        "{} is missing or older than its source: cargo build --release --workspace --example leaky",
        program.display()
    );
    folder
}

/// The cells of an audit by the default attack. The command line is part of the seed, so it names no path.
fn audit(kind: &str, form: &str, data: &str, trials: u64, seed: u64) -> Vec<serde_json::Value> {
    let sandbox = Sandbox::new();
    sandbox.file("four.txt", FOUR);
    sandbox.file("forms.txt", FORMS);
    let program = match data {
        "novels" => format!("exec:leaky {kind} {form}"),
        file => format!("exec:leaky {kind} {form} {file}"),
    };
    let (trials, seed) = (trials.to_string(), seed.to_string());
    let what = [
        "audit",
        "--mech",
        &program,
        "--dataset",
        data,
        "--limit",
        "400",
    ];
    let claim = ["--epsilon", "1", "--claim", "neighbours=any-texts"];
    // The default attacks, which other tests leave out.
    let how = [
        "--attack", "auto", "--lambda", "0", "--trials", &trials, "--seed", &seed,
    ];
    let shown = ["--processes", "1", "--format", "json", "--quiet"];
    let mut command = sandbox.command(&[&what[..], &claim, &how, &shown].concat());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = [folder()].into_iter().chain(std::env::split_paths(&path));
    command.env("PATH", std::env::join_paths(path).unwrap());
    let output = command.output().expect("teda runs");
    assert!(output.status.success(), "{kind}: {}", text(&output.stderr));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    document["cells"].as_array().unwrap().clone()
}

/// Whether an audit refutes the claim, at the level of an attack that was chosen among those of the audit.
fn refutes(cells: &[serde_json::Value]) -> bool {
    cells
        .iter()
        .any(|cell| number(cell, "chosen_epsilon") > 1.0)
}

#[test]
fn every_planted_leak_is_found() {
    let missed: Vec<String> = LEAKS
        .into_par_iter()
        .map(|(kind, data, trials)| (kind, audit(kind, "broken", data, trials, 0)))
        .filter(|(_, cells)| !refutes(cells))
        .map(|(kind, cells)| format!("{kind}: {cells:?}"))
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn sound_twins_are_refuted_no_more_often_than_they_may() {
    let audits: Vec<(&str, &str, u64)> = LEAKS
        .into_iter()
        .flat_map(|(kind, data, _)| (0..SEEDS).map(move |seed| (kind, data, seed)))
        .collect();
    let refuted: Vec<(&str, bool)> = audits
        .into_par_iter()
        .map(|(kind, data, seed)| (kind, refutes(&audit(kind, "sound", data, FEWEST, seed))))
        .collect();
    let tail = 0.01 / 2.0;
    let consistent = |what: &str, refuted: &[bool]| {
        let times = refuted.iter().filter(|refuted| **refuted).count() as u64;
        let law = Binomial::new(tail, refuted.len() as u64).unwrap();
        let p = times.checked_sub(1).map_or(1.0, |below| law.sf(below));
        assert!(p > ALARM, "{what}: {times} of {}, p = {p}", refuted.len());
    };
    for (kind, ..) in LEAKS {
        let of_kind = refuted.iter().filter(|audit| audit.0 == kind);
        consistent(kind, &of_kind.map(|audit| audit.1).collect::<Vec<bool>>());
    }
    consistent(
        "all",
        &refuted.iter().map(|audit| audit.1).collect::<Vec<bool>>(),
    );
}
