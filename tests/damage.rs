//! A run directory that is damaged at any single byte is refused by name, or what it shows is unchanged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use teda::audit::progress::{Progress, Silent};
use teda::audit::resume::resume;
use teda::audit::run::{Control, Ended};
use teda::models::Access;
use teda::report::finish;
use teda::{Audit, Report};
use teda_results::{Cell, Manifest};

fn audit(out: &Path, attacks: &[&str], trials: u64, seed: u64) -> Audit {
    let audit = Audit::of("krr").dataset("categories:3").epsilons([2.0]);
    let audit = audit.lambda(0.0).trials(trials).attacks(attacks).seed(seed);
    audit.out(out)
}

/// What is compared: all but the time that it took.
fn shown(cells: &[Cell]) -> String {
    let mut cells = cells.to_vec();
    cells.iter_mut().for_each(|cell| cell.seconds = None);
    format!("{cells:?}")
}

fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(directory).unwrap().map(Result::unwrap);
    let files = entries.map(|entry| entry.path());
    files
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

fn restore(directory: &Path, files: &[(PathBuf, Vec<u8>)]) {
    for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
        fs::remove_file(entry.path()).unwrap();
    }
    for (path, bytes) in files {
        fs::write(path, bytes).unwrap();
    }
}

/// Tries every byte of these files of a complete run; how many changes were refused.
fn try_every_byte(run: &Path, names: &[&str]) -> usize {
    let sound = shown(Report::open(run).unwrap().cells());
    let mut refused = 0;
    for name in names {
        let path = run.join(name);
        let whole = fs::read(&path).unwrap();
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 1 << (place % 8);
            fs::write(&path, &damaged).unwrap();
            match Report::open(run) {
                Ok(report) => assert_eq!(shown(report.cells()), sound, "{name}, byte {place}"),
                Err(error) => {
                    let error = error.to_string();
                    assert!(error.contains(name), "{name}, byte {place}: {error}");
                    refused += 1;
                }
            }
        }
        fs::write(&path, &whole).unwrap();
    }
    refused
}

#[test]
fn a_complete_run() {
    let folder = tempfile::tempdir().unwrap();
    let [small, learned] = ["small", "learned"].map(|name| folder.path().join(name));
    audit(&small, &["overlap"], 20, 0).run().unwrap();
    let files = ["manifest.json", "trials.parquet", "texts.parquet"];
    assert!(try_every_byte(&small, &files) > 3_000);
    // The fewest trials that an attack learns from.
    audit(&learned, &["learned"], 700, 0).run().unwrap();
    assert!(try_every_byte(&learned, &["guesses.parquet"]) > 1_000);
}

/// Without rows the result stands in one file alone.
#[test]
fn a_complete_run_without_rows() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let status = Command::new(env!("CARGO_BIN_EXE_teda"))
        .args([
            "audit",
            "--mech",
            "grr",
            "--dataset",
            "categories:2",
            "--epsilon",
            "1",
        ])
        .args([
            "--attack",
            "likelihood-ratio",
            "--keep",
            "counts",
            "--quiet",
            "--out",
        ])
        .arg(&run)
        .stdout(Stdio::null())
        .status();
    assert!(status.unwrap().success());
    assert!(try_every_byte(&run, &["manifest.json", "result.json"]) > 1_000);
}

/// Stops an audit after some of its trials.
struct After(u64, Arc<AtomicBool>);

impl Progress for After {
    fn advance(&self, trials: u64) {
        if trials >= self.0 {
            self.1.store(true, Ordering::Relaxed);
        }
    }
}

/// A run that was stopped after some trials.
fn stopped(out: &Path, seed: u64) {
    let stop = Arc::new(AtomicBool::new(false));
    let audit = audit(out, &["overlap"], 2_000, seed);
    let audit = audit.stop_flag(stop.clone()).progress(After(1, stop));
    audit.run().unwrap_err();
    // A few rows are enough, and many bytes take long.
    let journal = out.join("trials.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    let lines: String = text.split_inclusive('\n').take(6).collect();
    assert!(lines.lines().count() == 6 && lines.len() < text.len());
    fs::write(&journal, lines).unwrap();
}

fn resumed(run: &Path) -> teda::Result<String> {
    let stop = AtomicBool::new(false);
    let control = Control {
        batch: 64,
        stop: &stop,
        progress: &Silent,
    };
    match resume(run, &Access::default(), &control)? {
        Ended::Made(made) => Ok(shown(&finish::write(*made, &Access::default().watch)?.1)),
        Ended::Interrupted(..) => panic!("nobody stopped it"),
    }
}

#[test]
fn an_interrupted_run() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    let sound = audit(&whole, &["overlap"], 2_000, 0).run().unwrap();
    let sound = shown(sound.cells());
    let run = folder.path().join("run");
    stopped(&run, 0);
    let kept = files(&run);
    let (mut refused, mut unchanged) = (0, 0);
    for name in ["manifest.json", "trials.jsonl"] {
        let path = run.join(name);
        let whole = fs::read(&path).unwrap();
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 1 << (place % 8);
            fs::write(&path, &damaged).unwrap();
            match resumed(&run) {
                Ok(cells) => {
                    assert_eq!(cells, sound, "{name}, byte {place}");
                    unchanged += 1;
                    restore(&run, &kept);
                }
                Err(error) => {
                    let error = error.to_string();
                    assert!(error.contains(name), "{name}, byte {place}: {error}");
                    refused += 1;
                }
            }
        }
        restore(&run, &kept);
    }
    println!("{refused} refused, {unchanged} unchanged");
    assert!(refused > 1_000 && unchanged < 50);
    assert_eq!(resumed(&run).unwrap(), sound);
}

/// Changes the text of a file as somebody would who knows nothing of digests.
fn edit(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from} in {text}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

#[test]
fn what_belongs_to_another_run_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let [run, other] = ["run", "other"].map(|name| folder.path().join(name));
    stopped(&run, 0);
    stopped(&other, 1);
    let kept = files(&run);
    let (journal, manifest) = (run.join("trials.jsonl"), run.join("manifest.json"));
    let refused = |what: &str| {
        let error = resumed(&run).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
        restore(&run, &kept);
    };
    fs::copy(other.join("trials.jsonl"), &journal).unwrap();
    refused("these are the trials of another run");
    edit(&manifest, "\"seed\": 0", "\"seed\": 1");
    refused("manifest.json: not the file that the run wrote");
    edit(&manifest, "\"alpha\": 0.01", "\"alpha\": 0.05");
    refused("manifest.json: not the file that the run wrote");
    let text = fs::read_to_string(&journal).unwrap();
    let (from, to) = match text.contains("\"g\":0,\"h\":true") {
        true => ("\"g\":0,\"h\":true", "\"g\":1,\"h\":false"),
        false => ("\"g\":0,\"h\":false", "\"g\":1,\"h\":true"),
    };
    edit(&journal, from, to);
    refused("trials.jsonl: line ");
    // A manifest whose digest was made anew: what follows from the seed still does not fit.
    let mut edited = Manifest::load(&run).unwrap();
    edited.config["seed"] = 1.into();
    edited.save(&run).unwrap();
    refused("its cells are not those of its configuration");
}
