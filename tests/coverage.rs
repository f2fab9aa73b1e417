//! Coverage: over thousands of simulated audits of randomised response, a bound at level α exceeds
//! the true ε no more often than α/2, the tail that it spends.
//!
//! Each audit runs the registry's own mechanism with an attack that is optimal for it (the released
//! text is the guess where it is a candidate, and ties are split), so the true ε is reachable and a
//! bound that spent more than it says would be caught. The binomial test is exact: with the true rate
//! at most α/2, more exceedances than its critical number occur in fewer than 1 of 10 000 seeds.

use std::sync::Arc;

use ndarray::{Array2, ArrayView2};
use statrs::distribution::{Binomial, DiscreteCDF};
use teda_core::estimator::{Design, Level, Observed, named};
use teda_core::{Encoder, Query, Result, Role, Seed, TokenMap};
use teda_mechanisms::{Context, Memory, registry};

/// Stands where randomised response needs no model.
struct NoModel;

impl Encoder for NoModel {
    fn encode(&self, texts: &[&str]) -> Result<Array2<f32>> {
        Ok(Array2::zeros((texts.len(), 0)))
    }

    fn dimension(&self) -> usize {
        0
    }
}

impl TokenMap for NoModel {
    fn tokenize(&self, _: &str) -> Vec<u32> {
        Vec::new()
    }

    fn detokenize(&self, _: &[u32]) -> String {
        String::new()
    }

    fn vectors(&self) -> ArrayView2<'_, f32> {
        ArrayView2::from_shape((0, 0), &[]).expect("an empty view")
    }

    fn released(&self) -> &[u32] {
        &[]
    }
}

const AUDITS: u64 = 2_000;
const TRIALS: u64 = 400;
const EPSILON: f64 = 1.0;

/// One simulated audit of randomised response over k texts: (secret, guess) of every trial.
fn audit(
    mechanism: &dyn teda_core::Mechanism,
    texts: &[String],
    seed: Seed,
) -> Vec<(usize, usize)> {
    let k = texts.len();
    let secrets: Vec<usize> = (0..TRIALS)
        .map(|t| seed.role(t, Role::Secret).stream().below(k))
        .collect();
    let queries: Vec<Query<'_>> = secrets
        .iter()
        .zip(0..)
        .map(|(secret, t)| Query {
            text: &texts[*secret],
            seed: seed.role(t, Role::Mechanism),
        })
        .collect();
    let releases = mechanism.rewrite(&queries).unwrap();
    let guess = |release: &str| texts.iter().position(|text| text == release).unwrap();
    let guesses = releases.iter().map(|release| guess(&release.text));
    secrets.into_iter().zip(guesses).collect()
}

/// The bound of an estimator that is shown these trials.
fn bound(estimator: &str, alpha: f64, trials: &[(usize, usize)], k: usize) -> f64 {
    let mut evidence = (named(estimator).unwrap().begin)(Design {
        k,
        trials: TRIALS,
        tuning: 0,
        level: Level::new(alpha).unwrap(),
        delta: 0.0,
    });
    let candidates: Vec<u32> = (0..k as u32).collect();
    for (secret, guess) in trials {
        let trial = Observed {
            candidates: &candidates,
            secret: *secret,
            guess: *guess,
            margin: 1.0,
            failure: None,
            log_likelihoods: &[],
        };
        evidence.record(&trial).unwrap();
    }
    evidence.bound().epsilon
}

/// Exceedances of the true ε over all audits, one count for each (estimator, α).
fn exceedances(k: usize, cases: &[(&str, f64)]) -> Vec<u64> {
    let texts: Arc<[String]> = (0..k).map(|i| format!("text {i}")).collect();
    let model = Arc::new(NoModel);
    let context = Context {
        texts: texts.clone(),
        tokens: model.clone(),
        encoder: model,
        generator: None,
        sampler: None,
        language_model: None,
        memory: Memory::default(),
    };
    let entry = registry::entry("krr").unwrap();
    let settings = entry.settings(None, &[]).unwrap();
    let krr = entry.instance(&context, Some(EPSILON), &settings).unwrap();
    let root = Seed::root(2026).named("coverage").at(k as u64);
    let mut counts = vec![0; cases.len()];
    for number in 0..AUDITS {
        let trials = audit(&*krr, &texts, root.at(number));
        for (count, (estimator, alpha)) in counts.iter_mut().zip(cases) {
            let bound = bound(estimator, *alpha, &trials, k);
            *count += u64::from(bound > EPSILON);
        }
    }
    counts
}

#[test]
fn no_bound_exceeds_the_truth_more_often_than_it_may() {
    for k in [2, 4, 16] {
        let mut cases = vec![("teda", 0.05), ("teda", 0.01)];
        if k == 2 {
            cases.extend([("baseline", 0.05), ("baseline", 0.01)]);
        }
        for ((estimator, alpha), seen) in cases.iter().zip(exceedances(k, &cases)) {
            let p = match seen {
                0 => 1.0,
                seen => Binomial::new(alpha / 2.0, AUDITS).unwrap().sf(seen - 1),
            };
            println!("{estimator} k={k} α={alpha}: {seen} of {AUDITS} above ε, p = {p:.4}");
            assert!(
                p > 1e-4,
                "{estimator} k={k} α={alpha}: {seen} of {AUDITS}, p = {p}"
            );
        }
    }
}

/// The test above could not fail if the bounds were merely far too low: at k = 2 and α = 0.05 the
/// forced-choice bound must also exceed the truth about as often as it may.
#[test]
fn the_forced_choice_bound_spends_most_of_its_tail() {
    let seen = exceedances(2, &[("teda", 0.05)])[0];
    // Clopper-Pearson is conservative by at most one atom of the binomial: 50 are expected at most,
    // and a bound at half the tail would give 25 ± 5.
    assert!(seen >= 26, "{seen} of {AUDITS} at a tail of 0.025");
}
