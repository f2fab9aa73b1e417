//! Bounds from guesses alone: abstention and the worst pair.

use crate::simulation::{AUDITS, Law, assert_covered, false_claims, levels};
use teda_core::ConfusionMatrix;
use teda_core::Seed;
use teda_core::estimator::abstain::{self, Guesses};
use teda_core::estimator::anytime::success_limit;
use teda_core::estimator::worst_pair::{self, Hits};
use teda_core::estimator::{Level, teda};

/// An audit that tunes on one part of its trials and certifies on the other.
fn abstaining(law: Law, seed: Seed, tuning: usize, trials: usize, level: Level, delta: f64) -> f64 {
    let mut all = law.trials(seed, tuning + trials);
    let seen: Vec<(f64, bool)> = all
        .by_ref()
        .take(tuning)
        .map(|trial| (trial.margin, trial.right()))
        .collect();
    let threshold = abstain::threshold(&seen, trials as u64, law.k(), level, delta).unwrap();
    let mut guesses = Guesses::default();
    for trial in all {
        guesses.record(threshold, trial.margin, trial.right());
    }
    abstain::bound(&guesses, law.k(), level, delta)
}

#[test]
fn an_abstaining_attack_claims_no_more_than_it_may() {
    for law in [
        Law::RandomisedResponse { k: 2, epsilon: 0.0 },
        Law::RandomisedResponse { k: 2, epsilon: 1.0 },
        Law::RandomisedResponse { k: 4, epsilon: 2.0 },
        Law::Laplace { epsilon: 1.0 },
        Law::Laplace { epsilon: 4.0 },
        Law::Gaussian { mu: 1.5 },
    ] {
        for delta in [0.0, 0.05] {
            if delta == 0.0 && matches!(law, Law::Gaussian { .. }) {
                continue;
            }
            for level in levels() {
                let seen = false_claims("abstain", AUDITS, |seed| {
                    abstaining(law, seed, 200, 300, level, delta) > law.epsilon(delta)
                });
                let what = format!("abstaining, {law:?}, δ={delta}");
                assert_covered(&what, seen, level.tail());
            }
        }
    }
}

/// Laplace noise at ε = 4: half of the outputs have the full ratio, and only an attack that waits for
/// them shows it. Tail 0.05.
#[test]
fn abstaining_shows_what_the_forced_guess_cannot() {
    let law = Law::Laplace { epsilon: 4.0 };
    let level = Level::new(0.1).unwrap();
    let audits = 10;
    let (mut waiting, mut forced) = (0.0, 0.0);
    for i in 0..audits {
        let seed = Seed::root(4).named("power").at(i);
        waiting += abstaining(law, seed, 10_000, 10_000, level, 0.0) / audits as f64;
        let mut matrix = ConfusionMatrix::new(2);
        for trial in law.trials(seed, 10_000) {
            matrix.record(trial.secret, trial.guess, None);
        }
        forced += teda::bound(&matrix, level, 0.0).epsilon / audits as f64;
    }
    println!("abstaining {waiting}, forced {forced}");
    assert!((3.75..3.95).contains(&waiting), "{waiting}");
    assert!((2.50..2.60).contains(&forced), "{forced}");
}

/// Pairs that are all at ε = 0.2, in two halves.
fn equal_pairs(seed: Seed, pairs: usize, trials: u64) -> [Vec<Hits>; 2] {
    let rate = success_limit(2, 0.2, 0.0).p;
    let mut stream = seed.stream();
    [(); 2].map(|()| {
        (0..pairs)
            .map(|_| Hits {
                hits: (0..trials).filter(|_| stream.uniform() < rate).count() as u64,
                trials,
            })
            .collect()
    })
}

#[test]
fn the_worst_of_equal_pairs_is_no_worse_than_all() {
    for level in levels() {
        let united = false_claims("bonferroni", AUDITS, |seed| {
            let [pairs, _] = equal_pairs(seed, 20, 60);
            worst_pair::bonferroni(&pairs, 2, level, 0.0)
                .unwrap()
                .epsilon
                > 0.2
        });
        assert_covered("Bonferroni", united, level.tail());
        let halved = false_claims("split", AUDITS, |seed| {
            let [selection, certification] = equal_pairs(seed, 20, 60);
            let worst = worst_pair::split(&selection, &certification, 2, level, 0.0);
            worst.unwrap().unwrap().epsilon > 0.2
        });
        assert_covered("split", halved, level.tail());
    }
}

/// The best of 50 limits at a tail of 0.05 each, 200 trials a pair: false in 86 % of the audits.
#[test]
fn the_largest_of_many_bounds_is_no_bound() {
    let level = Level::new(0.1).unwrap();
    let seen = false_claims("naive", 500, |seed| {
        let [pairs, _] = equal_pairs(seed, 50, 200);
        pairs.iter().any(|pair| {
            let alone = worst_pair::bonferroni(&[*pair], 2, level, 0.0).unwrap();
            alone.epsilon > 0.2
        })
    });
    println!("naive maximum: {seen} of 500");
    assert!((400..=460).contains(&seen), "{seen} of 500");
}
