//! Coverage of `learned`: over many simulated audits, a bound from the guesses of an attack that learned exceeds the
//! true ε no more often than α/2, with every estimator that takes such an attack.
//!
//! ```text
//! AUDITS=2000 cargo test --release --workspace --test learned_coverage -- --nocapture
//! ```
//!
//! Without `AUDITS`, there are 60 of each subject. Each audit has 700 trials: the attack learns from the first 210 and
//! judges the other 490, as in the smallest audit that has it. The binomial test is exact: with a true rate of at most α/2, it fails in fewer than 1 of 10 000 seeds.
//! An attack that is counted on the trials that it learned from must be caught by the same test.

use std::sync::Arc;

use rayon::prelude::*;
use statrs::distribution::{Binomial, DiscreteCDF};
use teda::audit::run::Prepared;
use teda::audit::trial::{self, Guess, Trial};
use teda::{Attack, Audit, Guarantee, Learner, Mechanism, Observation, Query, Release, Result};
use teda_attacks::{Build, registry};
use teda_core::estimator::{ALL, Design, Estimator, Level, Needs};
use teda_core::{Example, Role, Seed, Stream};
use teda_models::builtin;

const K: usize = 2;
const TRIALS: u64 = 700;
/// Trials that are learned from: 30 %.
const TRAINED: usize = 210;
const ALPHAS: [f64; 2] = [0.05, 0.01];
/// A p-value below this is no accident.
const ALARM: f64 = 1e-4;

/// A mechanism of known ε over some texts.
struct Subject {
    name: &'static str,
    epsilon: f64,
    prepared: Prepared,
    context: teda_attacks::Context,
}

/// `number` words that say nothing.
fn sentence(stream: &mut Stream, number: usize) -> String {
    let words: Vec<String> = (0..number)
        .map(|_| format!("w{}", stream.below(300)))
        .collect();
    words.join(" ")
}

/// Releases that have nothing to do with the text.
struct Null;

impl Mechanism for Null {
    fn rewrite(&self, queries: &[Query<'_>]) -> Result<Vec<Release>> {
        let release = |query: &Query<'_>| {
            let mut stream = query.seed.stream();
            let words = 1 + stream.below(30);
            Release::of(sentence(&mut stream, words))
        };
        Ok(queries.iter().map(release).collect())
    }

    fn guarantee(&self) -> Option<Guarantee> {
        Some(Guarantee::claimed(0.0))
    }
}

fn texts(number: usize, words: fn(&mut Stream) -> usize) -> Vec<String> {
    let mut stream = Seed::root(3).named("texts").stream();
    let text = |i| {
        let words = words(&mut stream);
        format!("{} t{i}", sentence(&mut stream, words))
    };
    (0..number).map(text).collect()
}

impl Subject {
    /// Pairs and secrets are uniform.
    fn new(name: &'static str, epsilon: f64, audit: Audit, texts: &[String]) -> Self {
        let audit = audit.texts(texts).lambda(0.0).attacks(["random"]);
        let encoder = Arc::new(builtin::encoder().unwrap());
        let prepared = audit.prepare().unwrap();
        let corpus = prepared.simulation().unwrap().corpus;
        let context = teda_attacks::Context {
            texts: corpus.texts.clone(),
            vectors: corpus.vectors.clone(),
            tokens: encoder.clone(),
            encoder,
            judge: None,
            writer: None,
        };
        Self {
            name,
            epsilon,
            prepared,
            context,
        }
    }

    fn all() -> Vec<Self> {
        let usual = |stream: &mut Stream| 3 + stream.below(10);
        // From 1 word to 300, most of them short.
        let wild = |stream: &mut Stream| (300.0_f64).powf(stream.uniform()) as usize;
        let null = |name, texts: &[String]| Self::new(name, 0.0, Audit::new(Null), texts);
        // One text is twice as long as the others.
        let four = ["a b c", "d e f", "g h i", "j k l m n o"].map(String::from);
        vec![
            null("null, 200 texts", &texts(200, usual)),
            null("null, 4 texts", &texts(4, usual)),
            null("null, wild lengths", &texts(60, wild)),
            Self::new("krr", 1.0, Audit::of("krr").epsilons([1.0]), &four),
        ]
    }

    fn learner(&self) -> Box<dyn Learner> {
        match registry::entry("learned").unwrap().build {
            Build::Learns(build) => build(&self.context).unwrap(),
            Build::Scores(_) => panic!("'learned' does not learn"),
        }
    }

    /// The trials of one audit.
    fn trials(&self, root: Seed) -> Vec<Trial> {
        let simulation = self.prepared.simulation().unwrap();
        simulation.audit(TRIALS, root).unwrap()
    }
}

fn observation(trial: &Trial) -> Observation<'_> {
    Observation {
        candidates: &trial.candidates,
        release: &trial.release,
        log_likelihoods: &[],
        seed: Seed::root(0),
    }
}

fn examples(trials: &[Trial]) -> Vec<Example<'_>> {
    let example = |trial| Example {
        observation: observation(trial),
        secret: trial.secret,
    };
    trials.iter().map(example).collect()
}

/// The trial with the guess that follows from scores.
fn guessed(trial: &Trial, scores: Vec<f64>, root: Seed) -> Trial {
    let ties = root.role(trial.number, Role::Ties);
    let guess: Guess = trial::decide(Some(Ok(scores)), K, ties).unwrap();
    Trial {
        guesses: vec![guess],
        ..trial.clone()
    }
}

/// The guesses of an attack on trials.
fn judged(attack: &dyn Attack, trials: &[Trial], root: Seed) -> Vec<Trial> {
    let shown: Vec<Observation<'_>> = trials.iter().map(observation).collect();
    let scores = trial::scores(attack, &shown).unwrap();
    let each = trials.iter().zip(scores);
    each.map(|(trial, scores)| guessed(trial, scores.unwrap(), root))
        .collect()
}

/// Guesses on the trials that are learned from, by models without them, and on the others.
fn honest(subject: &Subject, trials: &[Trial], root: Seed) -> [Vec<Trial>; 2] {
    let (first, others) = trials.split_at(TRAINED);
    let fitted = subject.learner().fit(&examples(first)).unwrap();
    let own = first.iter().zip(fitted.out_of_fold);
    let own = own.map(|(trial, scores)| guessed(trial, scores, root));
    [own.collect(), judged(&*fitted.attack, others, root)]
}

/// The planted bug: the trials that are counted are those that were learned from, too.
fn in_sample(subject: &Subject, trials: &[Trial], root: Seed) -> [Vec<Trial>; 2] {
    let (first, others) = trials.split_at(TRAINED);
    let attack = subject.learner().fit(&examples(others)).unwrap().attack;
    [
        judged(&*attack, first, root),
        judged(&*attack, others, root),
    ]
}

/// How an audit comes to its guesses.
type Play = fn(&Subject, &[Trial], Seed) -> [Vec<Trial>; 2];

fn bound(estimator: &Estimator, design: Design, [tuning, counted]: &[Vec<Trial>; 2]) -> f64 {
    let mut evidence = (estimator.begin)(design);
    for trial in tuning {
        evidence.tune(&trial.observed(&trial.numbers(), 0)).unwrap();
    }
    for trial in counted {
        evidence
            .record(&trial.observed(&trial.numbers(), 0))
            .unwrap();
    }
    evidence.bound().epsilon
}

/// How often an estimator at a level exceeded the truth.
struct Count {
    estimator: &'static str,
    alpha: f64,
    exceeded: u64,
    /// P[Bin(audits, α/2) ≥ exceeded].
    p: f64,
}

fn count(subject: &Subject, audits: u64, play: Play) -> Vec<Count> {
    let mut cases: Vec<(&Estimator, Design)> = Vec::new();
    for estimator in ALL {
        for alpha in ALPHAS {
            let design = Design {
                k: K,
                trials: TRIALS - TRAINED as u64,
                tuning: TRAINED as u64,
                level: Level::new(alpha).unwrap(),
                delta: 0.0,
            };
            if estimator.needs == Needs::Guesses && (estimator.supports)(&design).is_ok() {
                cases.push((estimator, design));
            }
        }
    }
    let root = Seed::root(2026)
        .named("learned coverage")
        .named(subject.name);
    let exceeded: Vec<Vec<bool>> = (0..audits)
        .into_par_iter()
        .map(|audit| {
            let root = root.at(audit);
            let guessed = play(subject, &subject.trials(root), root);
            let above =
                |case: &(&Estimator, Design)| bound(case.0, case.1, &guessed) > subject.epsilon;
            cases.iter().map(above).collect()
        })
        .collect();
    let counts = cases.iter().enumerate().map(|(case, (estimator, design))| {
        let alpha = design.level.alpha();
        let exceeded = exceeded.iter().filter(|audit| audit[case]).count() as u64;
        let law = Binomial::new(alpha / 2.0, audits).unwrap();
        let p = match exceeded {
            0 => 1.0,
            seen => law.sf(seen - 1),
        };
        println!(
            "{}: {} at α = {alpha}: {exceeded} of {audits} above ε, p = {p:.2e}",
            subject.name, estimator.name
        );
        Count {
            estimator: estimator.name,
            alpha,
            exceeded,
            p,
        }
    });
    counts.collect()
}

#[test]
fn no_bound_from_learned_guesses_exceeds_the_truth_more_often_than_it_may() {
    let audits = std::env::var("AUDITS").map_or(60, |audits| audits.parse().unwrap());
    for subject in Subject::all() {
        for count in count(&subject, audits, honest) {
            let Count {
                estimator,
                alpha,
                exceeded,
                p,
            } = count;
            // A credible bound promises nothing in repetition.
            assert!(
                p > ALARM || estimator == "joint-beta",
                "{}: {estimator} at α = {alpha}: {exceeded} of {audits} above ε, p = {p}",
                subject.name
            );
        }
    }
}

/// The test above must be able to fail: trials that were learned from are no evidence.
#[test]
fn counting_trials_that_were_learned_from_is_caught() {
    let subjects = Subject::all();
    for subject in &subjects[..2] {
        for count in count(subject, 30, in_sample) {
            let caught = count.p < ALARM;
            let pooled = ["teda", "baseline", "abstain"].contains(&count.estimator);
            assert!(caught || !pooled, "{}: {}", subject.name, count.estimator);
        }
    }
}
