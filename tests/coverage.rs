//! Coverage: over thousands of simulated audits of randomised response, a bound at level α exceeds
//! the true ε no more often than α/2, the tail that it spends.
//!
//! Each audit runs the registry's own mechanism with an attack that is optimal for it (the released
//! text is the guess where it is a candidate, and ties are split), so the true ε is reachable and a
//! bound that spent more than it says would be caught. The binomial test is exact: with the true rate
//! at most α/2, more exceedances than its critical number occur in fewer than 1 of 10 000 seeds.

use statrs::distribution::{Binomial, DiscreteCDF};
use teda::Audit;
use teda::selftest::bound;
use teda_core::Seed;
use teda_core::estimator::{Design, Level, named};

const AUDITS: u64 = 2_000;
const TRIALS: u64 = 400;
const EPSILON: f64 = 1.0;

/// Exceedances of the true ε over all audits of randomised response over k texts, one count for each (estimator, α).
fn exceedances(k: usize, cases: &[(&str, f64)]) -> Vec<u64> {
    let audit = Audit::of("krr")
        .dataset(&format!("categories:{k}"))
        .epsilons([EPSILON])
        .k(k)
        .lambda(0.0)
        .attacks(["likelihood-ratio"]);
    let prepared = audit.prepare().unwrap();
    let simulation = prepared.simulation().unwrap();
    let root = Seed::root(2026).named("coverage").at(k as u64);
    let mut counts = vec![0; cases.len()];
    for number in 0..AUDITS {
        let trials = simulation.audit(TRIALS, root.at(number)).unwrap();
        for (count, (estimator, alpha)) in counts.iter_mut().zip(cases) {
            let design = Design {
                k,
                trials: TRIALS,
                tuning: 0,
                level: Level::new(*alpha).unwrap(),
                delta: 0.0,
            };
            let bound = bound(named(estimator).unwrap(), design, &trials).unwrap();
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
