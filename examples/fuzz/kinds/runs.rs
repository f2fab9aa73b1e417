//! Run directories: one file of a small one is another.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use teda::audit::progress::{Progress, Silent};
use teda::audit::resume::resume;
use teda::audit::run::{Control, Ended};
use teda::models::Access;
use teda::report::browse::Trials;
use teda::report::browse::texts::Texts;
use teda::report::{finish, finished_run};
use teda::{Audit, Report};
use teda_datasets::Limits;

use super::{Kind, folder};

/// An input is the number of a file, and its content.
const COMPLETE_FILES: [&str; 4] = [
    "manifest.json",
    "trials.parquet",
    "texts.parquet",
    "result.json",
];
const INTERRUPTED_FILES: [&str; 2] = ["manifest.json", "trials.jsonl"];

pub const COMPLETE: Kind = Kind {
    name: "run",
    dictionary: &["\"status\"", "\"cells\"", "null", "complete", "digest"],
    corpus: || corpus(complete(), &COMPLETE_FILES),
    run: |bytes| {
        let run = damaged(complete(), &COMPLETE_FILES, bytes);
        looked_at(&run);
        Report::open(&run).is_ok()
    },
};

pub const INTERRUPTED: Kind = Kind {
    name: "resume",
    dictionary: &[
        "\"d\":",
        "\"t\":",
        "\"k\":[",
        "teda.journal/2",
        "trials",
        "\"trials\": ",
    ],
    corpus: || corpus(interrupted(), &INTERRUPTED_FILES),
    run: |bytes| {
        let run = damaged(interrupted(), &INTERRUPTED_FILES, bytes);
        looked_at(&run);
        resumed(&run).is_ok()
    },
};

fn corpus(run: &Path, files: &[&str]) -> Vec<Vec<u8>> {
    let read = |(number, name): (u8, &&str)| {
        let content = std::fs::read(run.join(name)).expect("it is there");
        [&[number], &content[..]].concat()
    };
    (0..).zip(files).map(read).collect()
}

/// A copy of a run with one file changed.
fn damaged(run: &Path, files: &[&str], bytes: &[u8]) -> PathBuf {
    let copy = folder().join("copy");
    // The one of the input before, if there was one.
    let _ = std::fs::remove_dir_all(&copy);
    std::fs::create_dir(&copy).expect("it is new");
    for entry in std::fs::read_dir(run).expect("a run").flatten() {
        std::fs::copy(entry.path(), copy.join(entry.file_name())).expect("it is copied");
    }
    if let Some((number, content)) = bytes.split_first() {
        let name = files[usize::from(*number) % files.len()];
        std::fs::write(copy.join(name), content).expect("it is written");
    }
    copy
}

/// Reads a run's trials with their texts, as `teda show` does, as far as that goes.
fn looked_at(run: &Path) {
    let Ok(run) = finished_run::look(run) else {
        return;
    };
    let texts = Texts::of(&run, Limits::default());
    let wanted = vec![true; run.manifest.cells.len()];
    let Ok(trials) = Trials::open(&run, wanted) else {
        return;
    };
    for trial in trials.map_while(Result::ok) {
        for number in &trial.candidates {
            std::hint::black_box(texts.text(&run, trial.cell, *number));
        }
    }
}

fn audit() -> Audit {
    let audit = Audit::of("krr").dataset("categories:3").epsilons([2.0]);
    audit.lambda(0.0).attacks(["overlap"])
}

fn complete() -> &'static Path {
    static RUN: OnceLock<PathBuf> = OnceLock::new();
    RUN.get_or_init(|| {
        let run = folder().join("complete");
        audit().trials(50).out(&run).run().expect("a sound run");
        run
    })
}

struct Stop(Arc<AtomicBool>);

impl Progress for Stop {
    fn advance(&self, _: u64) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn interrupted() -> &'static Path {
    static RUN: OnceLock<PathBuf> = OnceLock::new();
    RUN.get_or_init(|| {
        let run = folder().join("interrupted");
        let stop = Arc::new(AtomicBool::new(false));
        let audit = audit().trials(2_000).out(&run).stop_flag(stop.clone());
        audit
            .progress(Stop(stop))
            .run()
            .expect_err("it was stopped");
        run
    })
}

fn resumed(run: &Path) -> teda::Result<()> {
    let stop = AtomicBool::new(false);
    let control = Control {
        batch: 64,
        stop: &stop,
        progress: &Silent,
    };
    match resume(run, &Access::default(), &control)? {
        Ended::Made(made) => finish::write(*made, &Access::default().watch).map(|_| ()),
        Ended::Interrupted(..) => Ok(()),
    }
}
