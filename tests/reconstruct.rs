//! What holds of the attack that writes sources back: its bounds cover, its recalls are exact where the truth is known, and
//! a stored run is read as one that is being made.

use statrs::distribution::{Binomial, DiscreteCDF};
use teda::report::finished_run;
use teda::report::rejudge::Request;
use teda::selftest::bound;
use teda::{Audit, Report};
use teda_core::Seed;
use teda_core::estimator::{Design, Level, named};
use teda_results::Recall;

/// Short requests that the rewriter in the binary repeats when it is greedy.
const TEXTS: [&str; 4] = [
    "play some jazz",
    "book a table for two",
    "what is the weather in paris",
    "rate this book five stars",
];

/// Over simulated audits of randomised response, whose releases it writes back as they are, the attack guesses as well as
/// any: bounds from its guesses exceed the true ε in α/2 of the audits at most, and nearly as often as they may.
#[test]
fn its_bounds_cover_the_truth_and_reach_it() {
    const AUDITS: u64 = 2_000;
    const TRIALS: u64 = 400;
    const EPSILON: f64 = 1.0;
    const ALPHA: f64 = 0.05;
    // Two texts: with more, a release can be neither candidate, and then nobody reaches ε.
    let audit = Audit::of("krr")
        .texts(TEXTS[..2].iter().copied())
        .epsilons([EPSILON]);
    let audit = audit.lambda(0.0).attacks(["reconstruct"]);
    let prepared = audit.prepare().unwrap();
    let simulation = prepared.simulation().unwrap();
    let root = Seed::root(2026).named("reconstruct");
    let estimator = named("teda").unwrap();
    let design = || Design {
        k: 2,
        trials: TRIALS,
        tuning: 0,
        level: Level::new(ALPHA).unwrap(),
        delta: 0.0,
    };
    let exceeds = |number: u64| {
        let trials = simulation.audit(TRIALS, root.at(number)).unwrap();
        bound(estimator, design(), &trials).unwrap() > EPSILON
    };
    let seen = (0..AUDITS).filter(|number| exceeds(*number)).count() as u64;
    let tail = Binomial::new(ALPHA / 2.0, AUDITS).unwrap();
    let p = if seen == 0 { 1.0 } else { tail.sf(seen - 1) };
    println!("{seen} of {AUDITS} above ε, p = {p:.4}");
    assert!(p > 1e-4, "{seen} of {AUDITS}, p = {p}");
    // Clopper-Pearson is conservative by at most one atom of the binomial: 50 are expected at most, and a bound at half the
    // tail, or an attack that reads less, would give 25 ± 5.
    assert!(
        seen >= 26,
        "{seen} of {AUDITS} at a tail of {}",
        ALPHA / 2.0
    );
}

fn recall(report: &Report) -> Recall {
    report.cells()[0].recall.unwrap()
}

fn audit(mechanism: &str) -> Audit {
    Audit::of(mechanism)
        .texts(TEXTS)
        .lambda(0.0)
        .trials(300)
        .attacks(["reconstruct", "embedding"])
}

#[test]
fn everything_comes_back_of_identity_and_nothing_of_constant() {
    let identity = audit("identity").run().unwrap();
    let cell = &identity.cells()[0];
    assert_eq!((cell.hits, cell.failed), (300, 0));
    let read = recall(&identity);
    assert_eq!((read.texts, read.rare_texts), (300, 300));
    assert_eq!(
        (read.tokens_of_release, read.rare_of_release),
        (Some(1.0), Some(1.0))
    );
    assert_eq!((read.tokens, read.rare), (Some(1.0), Some(1.0)));
    // The other attack reads nothing back.
    assert_eq!(identity.cells()[1].recall, None);
    let constant = audit("constant").run().unwrap();
    let cell = &constant.cells()[0];
    assert_eq!(cell.empirical_epsilon, 0.0);
    let chance = Binomial::new(0.5, 300).unwrap();
    assert!(
        chance.cdf(cell.hits) > 1e-4 && chance.sf(cell.hits) > 1e-4,
        "{}",
        cell.hits
    );
    let read = recall(&constant);
    assert_eq!(
        (read.tokens_of_release, read.rare_of_release),
        (Some(0.0), Some(0.0))
    );
    assert!(read.tokens < Some(0.1), "{read:?}");
}

/// A stored run that was made without the attack says the same as one that was made with it, from its rows alone.
#[test]
fn a_stored_run_is_read_as_one_that_is_being_made() {
    let folder = tempfile::tempdir().unwrap();
    let made = |name: &str, attacks: &[&str]| {
        let audit = audit("em").epsilons([20.0]).attacks(attacks);
        let out = folder.path().join(name);
        let report = audit.out(&out).run().unwrap();
        (report, finished_run::open(&out).unwrap())
    };
    let (with, stored_with) = made("with", &["reconstruct"]);
    let (_, stored) = made("without", &["embedding"]);
    let attacks = teda::audit::choices::Attacks::parse(&["reconstruct".to_owned()]).unwrap();
    let request = Request {
        attacks: Some(attacks),
        ..Request::default()
    };
    let asked = request.cells(&stored).unwrap();
    let access = teda::models::Access::default();
    let late = request
        .judge(&stored, &asked, &[1], 0, None, &access)
        .unwrap();
    let (early, late) = (&with.cells()[0], &late[0]);
    assert!(early.recall.is_some_and(|read| read.tokens > Some(0.0)));
    assert_eq!((early.hits, early.recall), (late.hits, late.recall));
    // Its own rows keep what was written, and are counted to the same.
    let again = stored_with.judge_as_it_was().unwrap();
    assert_eq!(again[0].recall, early.recall);
    let rows = teda_results::trials::rows(&stored_with.directory).unwrap();
    let written = rows.filter(|row| row.as_ref().unwrap().reading.is_some());
    assert_eq!(written.count() as u64, 300 - early.failed_mechanism);
}
