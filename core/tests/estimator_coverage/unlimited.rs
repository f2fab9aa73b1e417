//! Limits that may be looked at after every trial: betting and Robbins' mixture.

use crate::simulation::{AUDITS, Law, assert_covered, false_claims, levels};
use teda_core::estimator::anytime::{Anytime, success_limit};
use teda_core::stats::betting::{Betting, Horizon, Wager};
use teda_core::stats::binomial::{self, Probability};
use teda_core::{Seed, Stream};

/// A draw of a value in [0, 1].
type Draw = fn(&mut Stream) -> f64;

/// Laws of such values with their means.
const VALUES: [(&str, f64, Draw); 5] = [
    ("fair coin", 0.5, |s| f64::from(s.uniform() < 0.5)),
    ("loaded coin", 0.95, |s| f64::from(s.uniform() < 0.95)),
    ("rare event", 0.02, |s| f64::from(s.uniform() < 0.02)),
    ("uniform", 0.5, |s| s.uniform()),
    ("near 1", 20.0 / 21.0, |s| s.uniform().powf(0.05)),
];

/// A betting limit never falls, so the last one exceeds the mean if any before it did: this is the
/// rate under looks after every value, for both horizons.
#[test]
fn betting_limits_cover_the_mean_under_any_number_of_looks() {
    const TRIALS: u64 = 150;
    for (name, mean, draw) in VALUES {
        for level in levels() {
            for horizon in [Horizon::Trials(TRIALS), Horizon::AnyTime] {
                let seen = false_claims(name, AUDITS, |seed| {
                    let mut stream = seed.stream();
                    let mut betting = Betting::new(level.tail(), horizon);
                    (0..TRIALS).for_each(|_| betting.observe(draw(&mut stream)));
                    betting.lower_limit().p > mean
                });
                let what = format!("betting, {name}, {horizon:?}");
                assert_covered(&what, seen, level.tail());
            }
        }
    }
}

#[test]
fn wagers_refute_the_true_mean_no_more_often_than_they_may() {
    for (name, mean, draw) in VALUES {
        for level in levels() {
            let seen = false_claims(name, AUDITS, |seed| {
                let mut stream = seed.stream();
                let mut wager = Wager::new(mean, level.tail(), Horizon::AnyTime);
                (0..500).for_each(|_| wager.observe(draw(&mut stream)));
                wager.refuted()
            });
            assert_covered(&format!("wager, {name}"), seen, level.tail());
        }
    }
}

/// Highest evidence, over all times, against the true success rate from below and from above.
fn peaks(truth: Probability, seed: Seed, trials: u64) -> (f64, f64) {
    let mut stream = seed.stream();
    let level = levels()[0];
    let mut watched = Anytime::new(level);
    let (mut lower, mut upper) = (0.0_f64, 0.0_f64);
    for _ in 0..trials {
        watched.observe(stream.uniform() < truth.p);
        let (s, t) = (watched.successes(), watched.trials());
        // The evidence is positive on the side of the truth on which the rate is.
        if s as f64 >= truth.p * t as f64 {
            lower = lower.max(watched.ln_evidence(truth));
        } else {
            let failures = Anytime::from_counts(level, t - s, t);
            upper = upper.max(failures.ln_evidence(truth.complement()));
        }
    }
    (lower, upper)
}

/// A look after each of 400 trials. The tail of 0.05 is there to be compared with others: a limit for
/// one look would fail there in a third of the audits.
#[test]
fn anytime_covers_under_a_look_after_every_trial() {
    for (k, epsilon) in [(2, 0.0), (2, 1.0), (4, 3.0)] {
        let truth = success_limit(k, epsilon, 0.0);
        let found: Vec<(f64, f64)> = (0..AUDITS)
            .map(|i| peaks(truth, Seed::root(7).named("robbins").at(i), 400))
            .collect();
        for tail in [0.05, 0.025, 0.005_f64] {
            let above = |peak: f64| peak >= -tail.ln();
            let low = found.iter().filter(|(lower, _)| above(*lower)).count() as u64;
            let high = found.iter().filter(|(_, upper)| above(*upper)).count() as u64;
            assert_covered(&format!("Robbins, lower, k={k} ε={epsilon}"), low, tail);
            assert_covered(&format!("Robbins, upper, k={k} ε={epsilon}"), high, tail);
            if tail == 0.05 {
                assert!((20..=100).contains(&low), "not used up: {low}");
            }
        }
    }
}

#[test]
fn refuting_is_exactly_crossing_the_evidence() {
    let truth = success_limit(4, 2.0, 0.0);
    for level in levels() {
        let seen = false_claims("refutes", 200, |seed| {
            let mut watched = Anytime::new(level);
            Law::RandomisedResponse { k: 4, epsilon: 2.0 }
                .trials(seed, 300)
                .any(|trial| {
                    watched.observe(trial.right());
                    let crossed = watched.ln_evidence(truth) >= -level.tail().ln() + 1e-8;
                    assert_eq!(watched.refutes(4, 2.0, 0.0), crossed);
                    crossed
                })
        });
        assert!(seen <= 15, "{seen} of 200");
    }
}

/// Why a limit for one look will not do: looked at after each of 1000 trials, Clopper-Pearson at a
/// tail of 0.05 is above the truth in a third of the audits.
#[test]
fn a_limit_for_one_look_fails_under_many() {
    let truth = success_limit(2, 1.0, 0.0);
    let seen = false_claims("clopper-pearson", AUDITS, |seed| {
        let mut stream = seed.stream();
        let mut successes = 0;
        (1..=1_000).any(|t| {
            successes += u64::from(stream.uniform() < truth.p);
            successes as f64 > t as f64 * truth.p && binomial::at_least(successes, t, truth) <= 0.05
        })
    });
    println!("Clopper-Pearson looked at 1000 times: {seen} of {AUDITS}");
    assert!((560..=760).contains(&seen), "{seen} of {AUDITS}");
}
