//! Every mechanism, attack and estimator file says what it is, and every source file has a header.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// All Rust files below a folder of the repository.
fn sources(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root().join(folder)];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    assert!(!found.is_empty(), "no Rust file below {folder}");
    found
}

fn header(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.lines()
        .take_while(|line| line.starts_with("//!"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Files of a folder that define one entry of a registry.
fn entries(folder: &str, marker: &str) -> Vec<PathBuf> {
    sources(folder)
        .into_iter()
        .filter(|path| fs::read_to_string(path).unwrap().contains(marker))
        .collect()
}

#[test]
fn mechanisms_attacks_and_estimators_document_themselves() {
    let kinds = [
        (
            entries("mechanisms/src", "pub const ENTRY: Entry"),
            vec!["# Definition", "# Guarantee", "# Source"],
        ),
        (
            entries("attacks/src", "pub const ENTRY: Entry"),
            vec!["# Definition", "# Threat model", "# Source"],
        ),
        (
            entries("core/src/estimator", ": Estimator = Estimator {"),
            vec!["# Definition", "# Source"],
        ),
    ];
    for (files, headings) in kinds {
        assert!(!files.is_empty());
        for file in files {
            let header = header(&file);
            for heading in &headings {
                assert!(
                    header.contains(heading),
                    "{}: no '{heading}'",
                    file.display()
                );
            }
        }
    }
}

#[test]
fn every_source_file_says_what_it_is_for() {
    for folder in [
        "src",
        "core",
        "mechanisms",
        "attacks",
        "datasets",
        "models",
        "hub",
        "server",
        "results",
        "tests",
    ] {
        for file in sources(folder) {
            assert!(
                !header(&file).is_empty(),
                "{} has no //! header",
                file.display()
            );
        }
    }
}

/// What `cargo fmt` does not see: it looks for no modules in macros, and one declares those of the
/// mechanisms.
#[test]
fn mechanisms_are_formatted() {
    let rustfmt = || Command::new("rustfmt");
    let installed = rustfmt().arg("--version").output();
    if !installed.is_ok_and(|version| version.status.success()) {
        println!("skipped: rustfmt is not installed");
        return;
    }
    let check = rustfmt()
        .args(["--edition", "2024", "--check"])
        .args(sources("mechanisms/src"))
        .output()
        .unwrap();
    assert!(
        check.status.success(),
        "run just fmt:\n{}",
        String::from_utf8_lossy(&check.stdout)
    );
}

/// The crates know core alone, and heavy libraries stay where they belong.
#[test]
fn dependencies_point_one_way() {
    let manifest =
        |folder: &str| fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
    for folder in [
        "core",
        "mechanisms",
        "attacks",
        "datasets",
        "models",
        "hub",
        "server",
        "results",
    ] {
        let text = manifest(folder);
        let dependencies = text.split("[dev-dependencies]").next().unwrap();
        for line in dependencies
            .lines()
            .filter(|line| line.starts_with("teda-"))
        {
            assert!(line.starts_with("teda-core."), "{folder} depends on {line}");
            assert_ne!(folder, "core", "core depends on {line}");
        }
        for (library, homes) in [
            ("candle", &["models"][..]),
            ("tokenizers", &["models"]),
            ("polars", &["results", "datasets"]),
            ("hf-hub", &["hub"]),
            ("reqwest", &["hub", "server"]),
        ] {
            assert!(
                homes.contains(&folder) || !text.contains(&format!("\n{library}")),
                "{library} in {folder}"
            );
        }
    }
}

/// What ships of the models stays small enough for the repository and the binary.
#[test]
fn built_in_models_fit_in_twenty_megabytes() {
    let mut bytes = 0;
    for model in ["encoder", "infill", "rewriter"] {
        for entry in fs::read_dir(root().join("models/builtin").join(model)).unwrap() {
            bytes += entry.unwrap().metadata().unwrap().len();
        }
    }
    assert!(bytes > 0 && bytes <= 20_000_000, "{bytes} bytes");
}
