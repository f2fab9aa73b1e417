//! Bounds from exact likelihoods: certificates and Rao-Blackwell.

use crate::simulation::{AUDITS, Law, assert_covered, false_claims, levels};
use teda_core::estimator::abstain::{self, Guesses};
use teda_core::estimator::certificate::{ApproximateCertificate, Certificate};
use teda_core::estimator::rao_blackwell::{RaoBlackwell, final_draw_probability, hit_probability};
use teda_core::estimator::{Level, teda};
use teda_core::stats::betting::Horizon;
use teda_core::{ConfusionMatrix, Seed};

const LAWS: [Law; 5] = [
    Law::RandomisedResponse { k: 2, epsilon: 0.0 },
    Law::RandomisedResponse { k: 2, epsilon: 1.0 },
    Law::RandomisedResponse { k: 4, epsilon: 2.0 },
    Law::Laplace { epsilon: 1.0 },
    Law::Laplace { epsilon: 4.0 },
];

/// It spends no level, so there is nothing to count: it may never be above the truth, and on these
/// laws it reaches it.
#[test]
fn a_certificate_never_exceeds_the_truth() {
    for law in LAWS {
        let epsilon = law.epsilon(0.0);
        let seen = false_claims("certificate", AUDITS, |seed| {
            let mut certificate = Certificate::new();
            for trial in law.trials(seed, 40) {
                certificate.observe(&trial.log_likelihoods).unwrap();
            }
            assert!(certificate.epsilon() >= epsilon - 1e-12, "{law:?}");
            certificate.epsilon() > epsilon
        });
        assert_eq!(seen, 0, "{law:?}");
    }
}

#[test]
fn a_certificate_at_a_delta_claims_no_more_than_it_may() {
    let gaussian = Law::Gaussian { mu: 1.5 };
    for law in LAWS.into_iter().chain([gaussian]) {
        for level in levels() {
            for (delta, horizon) in [(0.1, Horizon::Trials(150)), (0.02, Horizon::AnyTime)] {
                let truth = law.epsilon(delta);
                let seen = false_claims("certificate at delta", AUDITS, |seed| {
                    let mut certificate =
                        ApproximateCertificate::new(delta, level, horizon).unwrap();
                    for trial in law.trials(seed, 150) {
                        certificate
                            .observe(trial.secret, &trial.log_likelihoods)
                            .unwrap();
                    }
                    certificate.epsilon() > truth
                });
                let what = format!("certificate, {law:?}, δ={delta}, {horizon:?}");
                assert_covered(&what, seen, level.tail());
            }
        }
    }
}

#[test]
fn a_certificate_at_a_delta_comes_near_the_truth() {
    for (law, delta, near) in [
        (Law::Gaussian { mu: 1.0 }, 0.01, 0.35),
        (Law::Laplace { epsilon: 2.0 }, 0.01, 0.15),
        (Law::RandomisedResponse { k: 2, epsilon: 1.0 }, 0.1, 0.1),
    ] {
        let mut certificate =
            ApproximateCertificate::new(delta, levels()[1], Horizon::Trials(20_000)).unwrap();
        for trial in law.trials(Seed::root(1).named("near"), 20_000) {
            certificate
                .observe(trial.secret, &trial.log_likelihoods)
                .unwrap();
        }
        let (found, truth) = (certificate.epsilon(), law.epsilon(delta));
        println!("{law:?} at δ={delta}: {found} of {truth}");
        assert!(
            found <= truth && found > truth - near,
            "{law:?}: {found} of {truth}"
        );
    }
}

/// The limit of the success rate against the attack's true one, which is what ε allows under randomised
/// response and below it otherwise.
#[test]
fn posterior_hits_claim_no_more_than_they_may() {
    for law in [
        Law::RandomisedResponse { k: 2, epsilon: 0.0 },
        Law::RandomisedResponse { k: 4, epsilon: 2.0 },
        Law::Laplace { epsilon: 4.0 },
        Law::Gaussian { mu: 1.5 },
    ] {
        for level in levels() {
            for horizon in [Horizon::Trials(150), Horizon::AnyTime] {
                let seen = false_claims("rao-blackwell", AUDITS, |seed| {
                    let mut bound = RaoBlackwell::new(law.k(), level, horizon);
                    for trial in law.trials(seed, 150) {
                        let x = hit_probability(&trial.log_likelihoods, &[trial.guess]).unwrap();
                        bound.observe(x);
                    }
                    bound.success_limit().p > law.hit_rate()
                });
                let what = format!("Rao-Blackwell, {law:?}, {horizon:?}");
                assert_covered(&what, seen, level.tail());
            }
        }
    }
}

/// A mechanism that draws one of four finished texts, each of them randomised response: the release is
/// randomised response, too.
#[test]
fn averaged_last_draws_claim_no_more_than_they_may() {
    let law = Law::RandomisedResponse { k: 2, epsilon: 1.0 };
    let probabilities = [0.4, 0.3, 0.2, 0.1];
    for level in levels() {
        let seen = false_claims("last draw", AUDITS, |seed| {
            let mut bound = RaoBlackwell::new(2, level, Horizon::Trials(150));
            let finished: Vec<f64> = law
                .trials(seed, 600)
                .map(|trial| f64::from(u8::from(trial.right())))
                .collect();
            for hits in finished.chunks(4) {
                bound.observe(final_draw_probability(&probabilities, hits).unwrap());
            }
            bound.bound(0.0) > 1.0
        });
        assert_covered("last draw", seen, level.tail());
        assert!(seen > 0, "far below what it may claim");
    }
}

/// Two score functions over 50 000 outputs, as an exponential mechanism has them.
struct Toy {
    ln: [Vec<f64>; 2],
    /// The largest log-likelihood ratio of any output.
    exact: f64,
}

impl Toy {
    const OUTPUTS: usize = 50_000;

    /// Scores are sums of twelve uniform numbers, nearly normal, times `spread`.
    fn new(seed: Seed, spread: f64) -> Self {
        let mut stream = seed.stream();
        let ln = [(); 2].map(|()| {
            let scores: Vec<f64> = (0..Self::OUTPUTS)
                .map(|_| spread * (0..12).map(|_| stream.uniform()).sum::<f64>())
                .collect();
            let total = scores.iter().map(|s| s.exp()).sum::<f64>().ln();
            scores.iter().map(|s| s - total).collect::<Vec<f64>>()
        });
        let exact = (0..Self::OUTPUTS)
            .map(|y| (ln[0][y] - ln[1][y]).abs())
            .fold(0.0, f64::max);
        Self { ln, exact }
    }

    /// Secrets with the log-likelihoods of their outputs.
    fn trials(&self, seed: Seed, number: usize) -> Vec<(usize, [f64; 2])> {
        let cumulated = self.ln.each_ref().map(|ln| {
            let mut sum = 0.0;
            let sums = ln.iter().map(|ln| {
                sum += ln.exp();
                sum
            });
            sums.collect::<Vec<f64>>()
        });
        let mut stream = seed.stream();
        (0..number)
            .map(|_| {
                let secret = stream.below(2);
                let u = stream.uniform();
                let y = cumulated[secret].partition_point(|sum| *sum <= u);
                let y = y.min(Self::OUTPUTS - 1);
                (secret, [self.ln[0][y], self.ln[1][y]])
            })
            .collect()
    }
}

/// Most of a mechanism's outputs tell little and a few tell much: the same 10⁴ outputs show the forced
/// guess, the abstaining attack and the certificate very different shares of it.
#[test]
fn a_certificate_sees_what_guesses_cannot() {
    let toy = Toy::new(Seed::root(12).named("toy"), 0.535);
    let level = Level::new(0.1).unwrap();
    let trials = toy.trials(Seed::root(12).named("trials"), 10_000);

    let mut certificate = Certificate::new();
    let mut matrix = ConfusionMatrix::new(2);
    let mut posterior = RaoBlackwell::new(2, level, Horizon::Trials(10_000));
    let mut margins = Vec::new();
    for (secret, ln) in &trials {
        let guess = usize::from(ln[1] > ln[0]);
        certificate.observe(ln).unwrap();
        matrix.record(*secret, guess, None);
        posterior.observe(hit_probability(ln, &[guess]).unwrap());
        margins.push(((ln[0] - ln[1]).abs(), guess == *secret));
    }
    let (tuning, certifying) = margins.split_at(3_000);
    let threshold = abstain::threshold(tuning, 7_000, 2, level, 0.0).unwrap();
    let mut guesses = Guesses::default();
    for (margin, right) in certifying {
        guesses.record(threshold, *margin, *right);
    }

    let forced = teda::bound(&matrix, level, 0.0).epsilon;
    let abstaining = abstain::bound(&guesses, 2, level, 0.0);
    let (posterior, proven) = (posterior.bound(0.0), certificate.epsilon());
    let exact = toy.exact;
    println!(
        "exact {exact}, forced {forced}, posterior {posterior}, abstaining {abstaining}, certificate {proven}"
    );
    assert!(proven <= exact && proven > 0.9 * exact);
    assert!(forced < 0.25 * exact && posterior > forced);
    assert!(abstaining > 2.0 * forced && abstaining < proven);
}
