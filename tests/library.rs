//! The library as a Rust program uses it.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use teda::audit::progress::Progress;
use teda::{
    Answer, Attack, Audit, Encoder, Guarantee, Limits, Mechanism, Observation, Query, Release,
    Report, Result, Verdict,
};

/// Releases the text itself one time in four.
struct Leaky;

impl Mechanism for Leaky {
    fn guarantee(&self) -> Option<Guarantee> {
        Some(Guarantee::claimed(1.0))
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        let rewrite = |query: &Query<'_>| match query.seed.stream().below(4) {
            0 => Release::of(query.text),
            _ => Release::of("nothing to see"),
        };
        Ok(batch.iter().map(rewrite).collect())
    }
}

/// Sure of the candidate that is the release.
struct Verbatim(Vec<String>);

impl Attack for Verbatim {
    fn score(&self, batch: &[Observation<'_>]) -> Result<Vec<Answer<Vec<f64>>>> {
        let score = |seen: &Observation<'_>| {
            let is = |text: &usize| f64::from(u8::from(self.0[*text] == seen.release));
            Ok(seen.candidates.iter().map(is).collect())
        };
        Ok(batch.iter().map(score).collect())
    }
}

/// The length of a text as a direction.
struct Lengths;

impl Encoder for Lengths {
    fn dimension(&self) -> usize {
        2
    }

    fn encode(&self, texts: &[&str]) -> Result<ndarray::Array2<f32>> {
        let angle = |text: &&str| text.len() as f32 / 50.0;
        let row = |text| [f32::cos(angle(text)), f32::sin(angle(text))];
        let values: Vec<f32> = texts.iter().flat_map(row).collect();
        Ok(ndarray::Array2::from_shape_vec((texts.len(), 2), values).expect("two numbers a text"))
    }
}

fn texts() -> Vec<String> {
    let texts = [
        "I moved to Rome.",
        "My knee hurts again.",
        "We won the cup!",
    ];
    texts.map(String::from).to_vec()
}

fn audit() -> Audit {
    Audit::new(Leaky)
        .named("leaky")
        .texts(texts())
        .lambda(0.0)
        .trials(2_000)
}

#[test]
fn the_example_audits_its_own_mechanism_in_25_lines() {
    let source = include_str!("../examples/own_mechanism.rs");
    let lines = source.lines().filter(|line| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("//")
    });
    assert!(lines.count() <= 25);
    let binary = Path::new(env!("CARGO_BIN_EXE_teda")).with_file_name("examples/own_mechanism");
    let output = Command::new(binary).output().expect("the example is built");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && output.stderr.is_empty());
    assert!(text.contains("violation: at 99 % confidence"), "{text}");
}

#[test]
fn what_a_program_brings_is_audited_like_what_the_registry_has() {
    let report = audit()
        .attacks(["overlap", "learned"])
        .attack("verbatim", Verbatim(texts()))
        .encoder(Lengths)
        .run()
        .unwrap();
    let names: Vec<&str> = report.cells().iter().map(|cell| &cell.attack[..]).collect();
    assert_eq!(names, ["overlap", "learned", "verbatim"]);
    // A quarter is known, and of the rest a half is guessed.
    for cell in [&report.cells()[0], &report.cells()[2]] {
        assert_eq!((&cell.mechanism[..], cell.trials), ("leaky", 2_000));
        // Four standard deviations of Bin(2000, 5/8).
        assert!(cell.hits.abs_diff(1_250) < 87, "{} hits", cell.hits);
    }
    let learned = &report.cells()[1];
    assert_eq!(
        (learned.trials, learned.verdict),
        (1_400, Verdict::Violation)
    );
    assert!(report.table().contains("leaks at least"));
}

#[test]
fn a_run_in_memory_is_the_run_in_a_directory_and_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let timeless = |report: &Report| {
        let mut cells = report.cells().to_vec();
        cells.iter_mut().for_each(|cell| cell.seconds = None);
        cells
    };
    let kept = audit().out(&out).run().unwrap();
    assert_eq!(kept.directory(), Some(&*out));
    assert_eq!(timeless(&kept), timeless(&audit().run().unwrap()));
    assert_eq!(timeless(&kept), timeless(&Report::open(&out).unwrap()));
    let resumed = Command::new(env!("CARGO_BIN_EXE_teda"))
        .args(["audit", "--resume"])
        .arg(&out)
        .output()
        .unwrap();
    assert_eq!(resumed.status.code(), Some(2));
}

#[test]
fn a_run_with_an_attack_of_the_program_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let audit = audit().attack("verbatim", Verbatim(texts())).out(&out);
    let made = audit.run().unwrap();
    let read = Report::open(&out).unwrap();
    assert_eq!(read.cells()[0].hits, made.cells()[0].hits);
    assert_eq!(read.cells()[0].attack, "verbatim");
    let teda = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_teda"))
            .args(arguments)
            .current_dir(folder.path())
            .output();
        output.unwrap()
    };
    let judged = teda(&["report", "run", "--estimator", "abstain", "--out", "x"]);
    assert!(judged.status.success(), "{judged:?}");
    let beside = "own:verbatim,overlap";
    let both = teda(&["report", "run", "--attack", beside, "--out", "y"]);
    assert!(both.status.success(), "{both:?}");
    let elsewhere = teda(&["audit", "--mech", "krr", "--attack", "own:verbatim"]);
    let said = String::from_utf8(elsewhere.stderr).unwrap();
    assert_eq!(elsewhere.status.code(), Some(2), "{said}");
    assert!(
        said.contains("only that program can guess with it"),
        "{said}"
    );
}

#[test]
fn what_was_left_out_is_said_with_the_report() {
    let few = audit().trials(100).run().unwrap();
    assert!(few.cells().iter().all(|cell| cell.attack != "learned"));
    let said = few
        .notes()
        .iter()
        .any(|note| note.contains("without 'learned'"));
    assert!(said && few.table().contains("without 'learned'"), "{few:?}");
    let doubled = audit().texts([texts(), texts()].concat()).trials(20).run();
    let said = doubled.unwrap().notes().join("; ");
    assert!(said.contains("3 equal to an earlier one"), "{said}");
}

#[test]
fn another_encoder_than_the_runs_is_never_taken_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    audit().encoder(Lengths).out(&out).run().unwrap();
    let report = Command::new(env!("CARGO_BIN_EXE_teda"))
        .args(["report", "run", "--attack", "overlap", "--out", "x"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8(report.stderr).unwrap();
    assert_eq!(report.status.code(), Some(2), "{said}");
    assert!(said.contains("of the program that made it"), "{said}");
}

#[test]
fn threads_of_the_caller_change_no_number() {
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let report = audit().pool(Arc::new(pool.unwrap())).run().unwrap();
        let hits: Vec<u64> = report.cells().iter().map(|cell| cell.hits).collect();
        hits
    };
    assert_eq!(on(1), on(3));
}

/// Sets a flag after the first trials.
struct StopsItself(Arc<AtomicBool>);

impl Progress for StopsItself {
    fn advance(&self, _: u64) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Counts trials.
struct Counts(Arc<AtomicU64>);

impl Progress for Counts {
    fn advance(&self, trials: u64) {
        self.0.fetch_add(trials, Ordering::Relaxed);
    }
}

#[test]
fn of_two_audits_at_once_one_is_stopped_and_the_other_untouched() {
    let alone = audit().run().unwrap();
    let (stopped, whole, made) = std::thread::scope(|threads| {
        let stopped = threads.spawn(|| {
            let stop = Arc::new(AtomicBool::new(false));
            let long = audit().trials(1_000_000).stop_flag(stop.clone());
            long.progress(StopsItself(stop)).run()
        });
        let made = Arc::new(AtomicU64::new(0));
        let counts = Counts(made.clone());
        let whole = threads.spawn(|| audit().progress(counts).run());
        (stopped.join().unwrap(), whole.join().unwrap(), made)
    });
    let stopped = stopped.unwrap_err().to_string();
    assert!(stopped.contains("stopped"), "{stopped}");
    assert_eq!(made.load(Ordering::Relaxed), 2_000);
    let hits = |report: &Report| -> Vec<u64> { report.cells().iter().map(|c| c.hits).collect() };
    assert_eq!(hits(&alone), hits(&whole.unwrap()));
}

#[test]
fn wrong_names_are_told_when_it_is_run() {
    for audit in [
        Audit::of("kr"),
        Audit::of("releases:x.csv"),
        audit().attacks(["lerned"]),
        audit().estimator("tedaa"),
        audit().epsilons([1.0]),
        audit().attack("embedding", Verbatim(texts())),
        audit().texts(Vec::<String>::new()),
        audit().k(1),
    ] {
        let error = audit.run().unwrap_err();
        assert!(matches!(error, teda::Error::Usage(_)), "{error}");
    }
}

#[test]
fn a_data_set_has_limits() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("texts.txt");
    std::fs::write(&file, format!("{}\nshort\n", "long ".repeat(300))).unwrap();
    let audit = |limits: Option<Limits>| {
        let audit = Audit::new(Leaky).dataset(&file.display().to_string());
        let audit = audit.attacks(["overlap"]).trials(10);
        match limits {
            Some(limits) => audit.limits(limits).run(),
            None => audit.run(),
        }
    };
    audit(None).unwrap();
    let narrow = Limits {
        text: 1000,
        ..Limits::default()
    };
    let error = audit(Some(narrow)).unwrap_err().to_string();
    assert!(
        error.contains("texts.txt', line 1") && error.contains("1000 bytes"),
        "{error}"
    );
}
