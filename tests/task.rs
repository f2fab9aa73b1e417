//! What holds of every task: nothing depends on threads, a mechanism that changes nothing changes no score, and one
//! that hides everything leaves the majority class.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use teda::audit::config::Config;
use teda::audit::progress::Silent;
use teda::audit::run::Control;
use teda::audit::source::Source;
use teda::models::Access;
use teda::task::{Document, Learner, Line, Mode, Options, Prepared, Task, table};
use teda::{Guarantee, Limits, Mechanism, Query, Release, Result};
use teda_core::Seed;
use teda_datasets::Request;

fn task(mechanisms: &[&str], epsilons: Option<Vec<f64>>, limit: usize) -> Task {
    let sources = mechanisms.iter().map(|name| Source::parse(name).unwrap());
    Task {
        config: Config {
            epsilons,
            datasets: vec![Request {
                source: "snips".to_owned(),
                limit: Some(limit),
                ..Request::default()
            }],
            ..Config::new(sources.collect())
        },
        label: "label".to_owned(),
        seeds: 2,
        classifier: Learner::LogisticRegression,
    }
}

fn run(task: Task, batch: u64) -> Document {
    let stop = AtomicBool::new(false);
    let control = Control {
        batch,
        stop: &stop,
        progress: &Silent,
    };
    let prepared = Prepared::new(task, &Access::default()).unwrap();
    prepared.run(&control, &mut |_| Ok(())).unwrap().unwrap()
}

fn of<'a>(document: &'a Document, mechanism: &str, mode: Mode) -> &'a Line {
    let named = |line: &&Line| line.mechanism.as_deref() == Some(mechanism) && line.mode == mode;
    document.results.iter().find(named).unwrap()
}

fn without(document: &Document, mode: Mode) -> &Line {
    document
        .results
        .iter()
        .find(|line| line.mode == mode)
        .unwrap()
}

#[test]
fn what_changes_nothing_changes_no_score_and_what_hides_everything_leaves_the_majority() {
    let document = run(task(&["identity", "constant"], None, 600), 64);
    let clean = without(&document, Mode::Clean);
    let majority = without(&document, Mode::Majority);
    assert!(clean.macro_f1.mean > 0.9, "{clean:?}");
    for mode in [Mode::Utility, Mode::Static, Mode::Adaptive] {
        let same = of(&document, "identity", mode);
        // So the adaptive attacker is never below the static one.
        assert_eq!(same.accuracy.values, [clean.accuracy.mean; 2]);
        assert_eq!(same.macro_f1.values, [clean.macro_f1.mean; 2]);
    }
    let adaptive = of(&document, "constant", Mode::Adaptive);
    assert_eq!(adaptive.accuracy.mean, majority.accuracy.mean);
    assert_eq!(adaptive.macro_f1.mean, majority.macro_f1.mean);
    assert_eq!(
        of(&document, "constant", Mode::Utility).accuracy.mean,
        majority.accuracy.mean
    );
    // Static: always the same class, whichever the clean model takes the constant for.
    let found = of(&document, "constant", Mode::Static).accuracy.mean;
    let shares = document
        .data
        .classes
        .iter()
        .map(|c| c.test as f64 / document.data.test as f64);
    assert!(
        shares.clone().any(|share| (share - found).abs() < 1e-12),
        "{found}"
    );
    assert!(found <= shares.fold(0.0, f64::max));
}

#[test]
fn intents_and_authors_are_learned_from_clean_texts() {
    for (source, limit, least) in [("snips", None, 0.95), ("novels", Some(6_000), 0.80)] {
        let mut task = task(&[], None, 1);
        task.config.datasets[0].limit = limit;
        task.config.datasets[0].source = source.to_owned();
        let document = run(task, 64);
        let clean = without(&document, Mode::Clean);
        assert!(clean.macro_f1.mean >= least, "{source}: {clean:?}");
    }
}

#[test]
fn a_label_that_is_noise_gives_the_majority_class() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("noise.csv");
    let request = Request {
        source: "snips".to_owned(),
        ..Request::default()
    };
    let texts = teda_datasets::load(&request, Limits::default(), &mut std::io::empty()).unwrap();
    // Two in three are 'a', whatever the text.
    let mut stream = Seed::root(5).stream();
    let mut label = || if stream.below(3) < 2 { "a" } else { "b" };
    let rows = texts.texts.iter().take(3_000);
    let rows: String = rows
        .map(|text| format!("\"{text}\",{}\n", label()))
        .collect();
    std::fs::write(&file, "text,label\n".to_owned() + &rows).unwrap();
    let mut task = task(&[], None, 3_000);
    task.config.datasets[0].source = file.display().to_string();
    let document = run(task, 64);
    let clean = without(&document, Mode::Clean).accuracy.mean;
    let majority = without(&document, Mode::Majority).accuracy.mean;
    // Three standard errors of a share of the texts tested on.
    let chance = 3.0 * (2.0 / 9.0 / document.data.test as f64).sqrt();
    assert!((clean - majority).abs() < chance, "{clean}, not {majority}");
}

#[test]
fn threads_and_batches_change_no_bit() {
    let made = |threads, batch| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().unwrap();
        pool.install(|| run(task(&["em"], Some(vec![20.0]), 200), batch))
    };
    let one = made(1, 64);
    assert_eq!(one, made(3, 7));
    // Another seed, other coins.
    let values = &of(&one, "em", Mode::Adaptive).macro_f1.values;
    assert_ne!(values[0], values[1]);
}

#[test]
fn coins_depend_on_no_other_cell_of_the_grid() {
    let alone = run(task(&["em"], Some(vec![20.0]), 100), 64);
    let beside = run(
        task(&["word-perturb", "em"], Some(vec![5.0, 20.0]), 100),
        64,
    );
    let last = &beside.results[beside.results.len() - 3..];
    assert_eq!(last, &alone.results[2..]);
}

#[test]
fn more_epsilon_is_worth_more_and_leaks_more() {
    let document = run(task(&["em"], Some(vec![1.0, 40.0]), 600), 64);
    let clean = without(&document, Mode::Clean).accuracy.mean;
    for mode in [Mode::Utility, Mode::Static, Mode::Adaptive] {
        let found: Vec<f64> = document
            .results
            .iter()
            .filter(|line| line.mode == mode)
            .map(|line| line.accuracy.mean)
            .collect();
        assert!(
            found[0] + 0.1 < found[1] && found[1] <= clean + 0.02,
            "{mode:?}: {found:?}"
        );
    }
}

/// The model in the binary, fine-tuned.
fn fine_tuned(mechanisms: &[&str], limit: usize) -> Task {
    let options = Options {
        learning_rate: 1e-3,
        ..Options::default()
    };
    Task {
        classifier: Learner::FineTune {
            model: "builtin".to_owned(),
            options,
        },
        ..task(mechanisms, None, limit)
    }
}

#[test]
fn a_fine_tuned_classifier_learns_and_keeps_the_laws() {
    let document = run(fine_tuned(&["identity", "constant"], 200), 64);
    assert_eq!(document.classifier, "fine-tuned");
    let clean = without(&document, Mode::Clean);
    let majority = without(&document, Mode::Majority);
    assert!(clean.macro_f1.mean > 0.8, "{clean:?}");
    // Every seed is another training, and clean and privatised texts are learned with the same coins.
    assert_ne!(clean.macro_f1.values[0], clean.macro_f1.values[1]);
    for mode in [Mode::Utility, Mode::Static, Mode::Adaptive] {
        let same = of(&document, "identity", mode);
        assert_eq!(same.accuracy.values, clean.accuracy.values);
        assert_eq!(same.macro_f1.values, clean.macro_f1.values);
        assert!(same.penalties.is_empty());
    }
    let adaptive = of(&document, "constant", Mode::Adaptive);
    assert!(adaptive.accuracy.mean <= majority.accuracy.mean + 0.02);
    let table = table::render(&document, 80);
    assert!(table.contains("builtin, fine-tuned for 1 epoch"), "{table}");
}

#[test]
fn fine_tuning_depends_on_no_thread_and_no_batch() {
    let made = |threads, batch| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().unwrap();
        pool.install(|| run(fine_tuned(&["identity"], 60), batch))
    };
    assert_eq!(made(1, 64), made(3, 7));
}

#[test]
fn what_cannot_be_fine_tuned_is_refused() {
    let refused = |model: &str, options: Options| {
        let mut task = fine_tuned(&[], 60);
        let model = model.to_owned();
        task.classifier = Learner::FineTune { model, options };
        let error = Prepared::new(task, &Access::default()).err().unwrap();
        error.to_string()
    };
    let usual = Options::default();
    for model in ["auto", "http://localhost/v1?model=m"] {
        let said = refused(model, usual);
        assert!(said.contains("run in this process"), "{said}");
    }
    let said = refused("logistic", usual);
    assert!(said.contains("--classifier logistic"), "{said}");
    let said = refused("builtin", Options { batch: 0, ..usual });
    assert!(said.contains("batch of 0"), "{said}");
}

/// Releases nothing of texts with an even number of bytes.
struct Half;

impl Mechanism for Half {
    fn guarantee(&self) -> Option<Guarantee> {
        None
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        let rewrite = |query: &Query<'_>| match query.text.len() % 4 {
            0 => Release::failed("too even"),
            2 => Release::of(" "),
            _ => Release::of(query.text),
        };
        Ok(batch.iter().map(rewrite).collect())
    }
}

#[test]
fn a_failed_release_is_an_empty_text_and_is_counted() {
    let mut task = task(&[], None, 300);
    task.config.mechanisms = vec![Source::own("half", Arc::new(Half))];
    let stop = AtomicBool::new(false);
    let control = Control {
        batch: 64,
        stop: &stop,
        progress: &Silent,
    };
    let prepared = Prepared::new(task, &Access::default()).unwrap();
    let (mut failed, mut all) = ([0, 0], 0);
    let mut keep = |record: &teda::task::Record<'_>| {
        all += 1;
        assert_eq!(
            record.error.is_some(),
            record.source.len().is_multiple_of(2)
        );
        assert_eq!(record.release.is_empty(), record.error.is_some());
        failed[usize::from(record.split == "test")] += u64::from(record.error.is_some());
        Ok(())
    };
    let document = prepared.run(&control, &mut keep).unwrap().unwrap();
    assert_eq!(all, 2 * 600);
    let missing = |mode| of(&document, "half", mode).missing;
    assert_eq!(missing(Mode::Utility), failed[0]);
    assert_eq!(missing(Mode::Static), failed[1]);
    assert_eq!(missing(Mode::Adaptive), failed[0] + failed[1]);
    assert!(table::render(&document, 80).contains(&(failed[0] + failed[1]).to_string()));
    let clean = without(&document, Mode::Clean).accuracy.mean;
    assert!(of(&document, "half", Mode::Static).accuracy.mean < clean);
}

#[test]
fn a_flag_that_is_set_stops_the_task() {
    let stop = AtomicBool::new(true);
    let control = Control {
        batch: 64,
        stop: &stop,
        progress: &Silent,
    };
    for task in [task(&["identity"], None, 100), fine_tuned(&[], 100)] {
        let prepared = Prepared::new(task, &Access::default()).unwrap();
        assert!(prepared.run(&control, &mut |_| Ok(())).unwrap().is_none());
    }
}
