//! Bounds from two error rates: Gaussian DP, a confidence bound for Gaussian mechanisms alone, and the
//! joint Beta interval, a credible one.

use crate::simulation::{AUDITS, Law, assert_covered, at_least, false_claims, levels};
use teda_core::estimator::error_counts::ErrorCounts;
use teda_core::estimator::{gdp, joint_beta};
use teda_core::{ConfusionMatrix, Seed, Stream};

fn errors(law: Law, seed: Seed, trials: usize) -> ErrorCounts {
    let mut matrix = ConfusionMatrix::new(2);
    for trial in law.trials(seed, trials) {
        matrix.record(trial.secret, trial.guess, None);
    }
    ErrorCounts::of(&matrix).unwrap()
}

#[test]
fn a_gaussian_mechanism_is_never_farther_than_it_is() {
    for mu in [0.0, 1.0, 3.0] {
        for level in levels() {
            let law = Law::Gaussian { mu };
            let mut epsilons = 0;
            let seen = false_claims("gdp", AUDITS, |seed| {
                let counts = errors(law, seed, 400);
                let above = gdp::bound(&counts, level, 1e-3).unwrap() > law.epsilon(1e-3);
                epsilons += u64::from(above);
                gdp::mu_lower_limit(&counts, level) > mu
            });
            assert_covered(&format!("Gaussian DP, μ={mu}"), seen, level.tail());
            assert_covered(&format!("its ε at δ, μ={mu}"), epsilons, level.tail());
        }
    }
}

/// Why it is for Gaussian mechanisms only.
#[test]
fn gaussian_dp_overstates_randomised_response() {
    let law = Law::RandomisedResponse { k: 2, epsilon: 1.0 };
    let seen = false_claims("gdp on krr", 200, |seed| {
        let counts = errors(law, seed, 10_000);
        gdp::bound(&counts, levels()[1], 1e-5).unwrap() > law.epsilon(1e-5)
    });
    println!("Gaussian DP on randomised response: {seen} of 200 above the truth");
    assert_eq!(seen, 200);
}

/// A draw from Beta(½, ½): sin² of a uniform angle.
fn rate(stream: &mut Stream) -> f64 {
    (std::f64::consts::FRAC_PI_2 * stream.uniform())
        .sin()
        .powi(2)
}

fn count(rate: f64, trials: u64, stream: &mut Stream) -> u64 {
    (0..trials).filter(|_| stream.uniform() < rate).count() as u64
}

/// ε at δ = 0 of a test with these error rates.
fn epsilon(fpr: f64, fnr: f64) -> f64 {
    let ratio = |a: f64, b: f64| (a / b).ln().abs();
    ratio(1.0 - fpr, fnr).max(ratio(1.0 - fnr, fpr))
}

/// What a credible bound promises: where the rates are drawn from its prior, it is above their ε with
/// probability α/2, no more and no less.
#[test]
fn the_joint_beta_interval_is_calibrated_under_its_prior() {
    for level in levels() {
        let seen = false_claims("joint beta", AUDITS, |seed| {
            let mut stream = seed.stream();
            let (fpr, fnr) = (rate(&mut stream), rate(&mut stream));
            let false_positives = count(fpr, 60, &mut stream);
            let counts = ErrorCounts::new(false_positives, 60, count(fnr, 90, &mut stream), 90);
            joint_beta::bound(&counts, level, 0.0) > epsilon(fpr, fnr)
        });
        assert_covered("joint Beta under its prior", seen, level.tail());
        let fewer = 1.0 - at_least(seen + 1, AUDITS, level.tail());
        assert!(
            fewer > 1e-4,
            "far below its probability: {seen} of {AUDITS}"
        );
    }
}

/// Why it is labelled credible: in repetition it claims too much where both constraints bind, and
/// always where ε is 0.
#[test]
fn the_joint_beta_interval_does_not_cover_randomised_response() {
    let level = levels()[0];
    let rate = |epsilon: f64| {
        let law = Law::RandomisedResponse { k: 2, epsilon };
        false_claims("joint beta on krr", AUDITS, |seed| {
            joint_beta::bound(&errors(law, seed, 1_000), level, 0.0) > epsilon
        })
    };
    let (one, none) = (rate(1.0), rate(0.0));
    println!("joint Beta on randomised response: {one} at ε = 1, {none} at ε = 0, of {AUDITS}");
    assert!((100..=260).contains(&one), "{one}");
    assert_eq!(none, AUDITS);
}
