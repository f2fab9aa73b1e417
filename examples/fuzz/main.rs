//! Hostile inputs by the thousand: sound ones, mutated by a seed, are put to everything that reads what others wrote.
//!
//! ```text
//! cargo build --release --workspace --bins --examples
//! target/release/examples/fuzz KIND|all N SEED [--keep DIR]
//! target/release/examples/fuzz one KIND FILE      # one input, as it is
//! target/release/examples/fuzz regress            # the inputs in tests/hostile, which failed once
//! ```
//!
//! An input may be taken or refused with an error. What fails is a panic, an abort, more than ten seconds or more than
//! the memory that a worker may have. Inputs are made and run in a process of their own, so that none of these ends
//! the harness. Input number i follows from kind, seed and i alone. One that failed is made as small as it still
//! fails, and kept.

mod driver;
mod kinds;
mod mutate;
mod shrink;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kinds::{KINDS, Kind};

const USAGE: &str = "usage: fuzz KIND|all N SEED [--keep DIR] | fuzz one KIND FILE | fuzz regress";

/// Inputs that failed once: `KIND/NAME`.
const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hostile");

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["worker", kind, seed, first, last] => worker(kind, seed, first, last),
        ["one", kind, file] => one(kind, Path::new(file)),
        ["regress"] => regress(),
        [kinds, number, seed] => campaign(kinds, number, seed, Path::new("fuzz-failures")),
        [kinds, number, seed, "--keep", keep] => campaign(kinds, number, seed, Path::new(keep)),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn named(kind: &str) -> Result<&'static Kind, String> {
    KINDS.iter().find(|k| k.name == kind).ok_or_else(|| {
        let known: Vec<&str> = KINDS.iter().map(|k| k.name).collect();
        format!("there is no kind '{kind}': there are {}", known.join(", "))
    })
}

fn number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| format!("'{text}' is not a number; {USAGE}"))
}

/// Runs inputs in this process, and says before each which it is.
fn worker(kind: &str, seed: &str, first: &str, last: &str) -> Result<bool, String> {
    let kind = named(kind)?;
    let (seed, first, last) = (number(seed)?, number(first)?, number(last)?);
    let corpus = (kind.corpus)();
    let mut taken = 0;
    for input in first..last {
        println!("{input}");
        taken += u64::from((kind.run)(&mutate::input(kind, &corpus, seed, input)));
    }
    println!("taken {taken} peak {}", driver::peak());
    Ok(true)
}

/// Runs one input in this process.
fn one(kind: &str, file: &Path) -> Result<bool, String> {
    let bytes = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let taken = (named(kind)?.run)(&bytes);
    println!("{}", if taken { "taken" } else { "refused" });
    Ok(true)
}

/// Many inputs of one kind, or of each; `false` where one failed.
fn campaign(kinds: &str, inputs: &str, seed: &str, keep: &Path) -> Result<bool, String> {
    let (inputs, seed) = (number(inputs)?, number(seed)?);
    let kinds: Vec<&Kind> = match kinds {
        "all" => KINDS.iter().collect(),
        one => vec![named(one)?],
    };
    println!(
        "{:<12} {:>8} {:>8} {:>8} {:>7} {:>9} {:>10}",
        "kind", "inputs", "taken", "refused", "failed", "seconds", "peak MiB"
    );
    let mut sound = true;
    for kind in kinds {
        let found = driver::run(kind, seed, inputs)?;
        println!(
            "{:<12} {inputs:>8} {:>8} {:>8} {:>7} {:>9.1} {:>10}",
            kind.name,
            found.taken,
            inputs - found.taken - found.failed.len() as u64,
            found.failed.len(),
            found.seconds,
            found.peak >> 20
        );
        let corpus = (kind.corpus)();
        for (input, why) in found.failed {
            sound = false;
            let bytes = mutate::input(kind, &corpus, seed, input);
            let bytes = shrink::smallest(kind, bytes)?;
            let path = kept(keep, kind, seed, input, &bytes)?;
            println!("  input {input}: {why}; kept as {}", path.display());
        }
    }
    Ok(sound)
}

fn kept(keep: &Path, kind: &Kind, seed: u64, input: u64, bytes: &[u8]) -> Result<PathBuf, String> {
    let folder = keep.join(kind.name);
    let path = folder.join(format!("{seed}-{input}"));
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&path, bytes))
        .map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(path)
}

/// Runs every input that failed once.
fn regress() -> Result<bool, String> {
    let mut sound = true;
    for kind in KINDS {
        let folder = Path::new(REGRESSIONS).join(kind.name);
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.sort();
        for file in files {
            let why = driver::alone(kind, &file)?;
            println!("{}: {}", file.display(), why.as_deref().unwrap_or("ok"));
            sound &= why.is_none();
        }
    }
    Ok(sound)
}
