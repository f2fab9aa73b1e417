//! Every mechanism, attack and estimator file says what it is, and every source file has a header.

use std::collections::{BTreeMap, BTreeSet};
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
        (
            entries("utilities/src", ": Entry = Entry {"),
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
        "plot",
        "parquet",
        "results",
        "utilities",
        "python",
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
        "plot",
        "parquet",
        "results",
        "utilities",
    ] {
        let text = manifest(folder);
        let dependencies = text.split("[dev-dependencies]").next().unwrap();
        for line in dependencies
            .lines()
            // Weights, instructions of the processor, and a file format.
            .filter(|line| {
                !["teda-model-", "teda-bf16.", "teda-parquet."]
                    .iter()
                    .any(|own| line.starts_with(own))
            })
            .filter(|line| line.starts_with("teda-"))
        {
            assert!(line.starts_with("teda-core."), "{folder} depends on {line}");
            assert_ne!(folder, "core", "core depends on {line}");
        }
        for (library, homes) in [
            ("candle", &["models"][..]),
            ("tokenizers", &["models"]),
            ("polars", &["parquet"]),
            ("hf-hub", &["hub"]),
            ("reqwest", &["hub", "server"]),
            ("plotters", &["plot"]),
        ] {
            assert!(
                homes.contains(&folder) || !text.contains(&format!("\n{library}")),
                "{library} in {folder}"
            );
        }
    }
}

/// The source folders of all crates.
const CRATES: [&str; 13] = [
    "src",
    "core/src",
    "mechanisms/src",
    "attacks/src",
    "datasets/src",
    "models/src",
    "hub/src",
    "server/src",
    "plot/src",
    "parquet/src",
    "results/src",
    "utilities/src",
    "python/src",
];

/// A file's lines before its tests, without comments.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]").next().unwrap();
    let lines = code
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<&str>>().join("\n")
}

/// The path of a file's module in its crate.
fn module(folder: &str, path: &Path) -> Vec<String> {
    let relative = path.strip_prefix(root().join(folder)).unwrap();
    let mut parts: Vec<String> = relative
        .with_extension("")
        .iter()
        .map(|part| part.to_string_lossy().into_owned())
        .collect();
    if parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    match parts[..] {
        [ref only] if only == "lib" || only == "main" => Vec::new(),
        _ => parts,
    }
}

/// The paths that a `use` brings in, `{…}` spelled out.
fn spelled_out(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else {
        let name = path.split(" as ").next().unwrap_or_default();
        return vec![name.split_whitespace().collect()];
    };
    let inner = rest.trim_end().trim_end_matches('}');
    let (mut depth, mut items, mut item) = (0, Vec::new(), String::new());
    for character in inner.chars() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if character == ',' && depth == 0 {
            items.push(std::mem::take(&mut item));
        } else {
            item.push(character);
        }
    }
    items.push(item);
    let items = items.iter().filter(|item| !item.trim().is_empty());
    items
        .flat_map(|item| spelled_out(&format!("{}{}", before.trim(), item.trim())))
        .collect()
}

/// The modules of its own crate that a module names in its `use` lines.
fn used(modules: &BTreeMap<Vec<String>, PathBuf>, own: &[String]) -> BTreeSet<Vec<String>> {
    let text = code(&modules[own]);
    let mut found = BTreeSet::new();
    for line in text.split("use ").skip(1) {
        for path in spelled_out(line.split(';').next().unwrap_or_default()) {
            let mut parts: Vec<String> = path.split("::").map(str::to_owned).collect();
            let mut base = own.to_vec();
            match &parts[0][..] {
                "crate" => base.clear(),
                "self" => {}
                "super" => {
                    while parts.get(1).is_some_and(|part| part == "super") {
                        parts.remove(0);
                        base.pop();
                    }
                    base.pop();
                }
                _ => continue,
            }
            base.extend(parts.drain(1..));
            while !modules.contains_key(&base) {
                base.pop();
            }
            if base != own && !base.is_empty() {
                found.insert(base);
            }
        }
    }
    found
}

fn modules(folder: &str) -> BTreeMap<Vec<String>, PathBuf> {
    let files = sources(folder).into_iter();
    files.map(|path| (module(folder, &path), path)).collect()
}

/// What a file is made of is understood before the file is: no two files need each other.
#[test]
fn no_files_use_each_other_in_a_circle() {
    for folder in CRATES {
        let modules = modules(folder);
        let mut uses: BTreeMap<Vec<String>, BTreeSet<Vec<String>>> = modules
            .keys()
            .map(|module| (module.clone(), used(&modules, module)))
            .collect();
        // What uses nothing that is left is in no circle.
        while let Some(free) = uses
            .iter()
            .find(|(_, used)| used.is_empty())
            .map(|(module, _)| module.clone())
        {
            uses.remove(&free);
            for used in uses.values_mut() {
                used.remove(&free);
            }
        }
        assert!(
            uses.is_empty(),
            "{folder}: in a circle, or before one: {uses:?}"
        );
    }
}

/// Data flows forward: command line → selftest, task → report → audit → models.
#[test]
fn rooms_use_those_that_come_before_them() {
    let allowed: BTreeMap<&str, &[&str]> = [
        ("models", &[][..]),
        ("audit", &["models"]),
        ("report", &["audit", "models"]),
        ("builder", &["audit", "models", "report"]),
        ("selftest", &["audit", "builder"]),
        ("task", &["audit", "models", "report"]),
        ("study", &["audit", "models", "report", "task"]),
        // The binary is a crate of its own, and knows the library from outside.
        ("cli", &[]),
    ]
    .into();
    let modules = modules("src");
    for module in modules.keys().filter(|module| !module.is_empty()) {
        for used in used(&modules, module) {
            let (room, other) = (&module[0], &used[0]);
            let allowed = allowed
                .get(&room[..])
                .unwrap_or_else(|| panic!("no room {room}"));
            assert!(
                room == other || allowed.contains(&&other[..]),
                "{module:?} uses {used:?}"
            );
        }
    }
}

/// A library prints nothing and ends nothing. What weights are fetched is told while it is done.
#[test]
fn only_the_command_line_prints_and_exits() {
    for folder in CRATES {
        for file in sources(folder) {
            let shown = file.strip_prefix(root()).unwrap().display().to_string();
            let shown = shown.replace('\\', "/");
            if shown.starts_with("src/cli")
                || shown == "hub/src/progress.rs"
                || shown.contains("/tests/")
            {
                continue;
            }
            for word in [
                "println!",
                "print!",
                "process::exit",
                "set_handler",
                "build_global",
            ] {
                assert!(!code(&file).contains(word), "{shown}: {word}");
            }
        }
    }
}

#[test]
fn files_stay_short() {
    for folder in CRATES {
        for file in sources(folder) {
            let lines = code(&file).lines().count();
            assert!(
                lines <= 500,
                "{}: {lines} lines without its tests",
                file.display()
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
