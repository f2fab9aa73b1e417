//! Checks, by counting, what the estimators do on mechanisms whose ε is known.
//!
//! # Definition
//! *Coverage*: over many audits of a mechanism of known ε, a bound at level α may exceed it in a share of α/2 of them.
//! The check's p-value is P[Bin(audits, α/2) ≥ exceedances], exactly; the check fails if it is below 10⁻⁴. *Planted
//! bugs*: a mechanism, an attack or a use of statistics that is wrong on purpose must be detected: its p-value must be
//! below 10⁻⁴.
//!
//! # Guarantee
//! A correct check fails with probability at most 10⁻⁴, over seeds; the seed is fixed, so a check that passes here
//! passes everywhere.

mod bugs;
mod subject;

use rayon::prelude::*;
use statrs::distribution::{Binomial, DiscreteCDF};
use teda_core::estimator::{ALL, Design, Estimator, Level, Needs};
use teda_core::{Result, Seed};

use crate::audit::trial::Trial;

pub use subject::Subject;

/// A p-value below this is no accident.
const ALARM: f64 = 1e-4;

/// The levels that are checked.
const ALPHAS: [f64; 2] = [0.05, 0.01];

/// How much to run.
#[derive(Debug, Clone, Copy)]
pub struct Size {
    /// Audits per mechanism.
    pub audits: u64,
    /// Trials per audit.
    pub trials: u64,
}

impl Size {
    /// Two minutes at most.
    pub const QUICK: Self = Self {
        audits: 2_000,
        trials: 300,
    };
    /// Ten times as many audits, of more trials.
    pub const FULL: Self = Self {
        audits: 20_000,
        trials: 1_000,
    };
}

/// The outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// As it should be.
    Passed,
    /// Not as it should be.
    Failed,
    /// Not a guarantee: shown but not judged.
    Shown,
}

/// A line of the table.
pub struct Check {
    /// What is checked.
    pub what: String,
    /// Number of audits.
    pub audits: u64,
    /// How many of them have a bound above the truth.
    pub exceeded: u64,
    /// The share that is allowed.
    pub allowed: f64,
    /// P[Bin(audits, allowed) ≥ exceeded].
    pub p: f64,
    /// The outcome.
    pub outcome: Outcome,
}

impl Check {
    fn new(what: String, audits: u64, exceeded: u64, allowed: f64) -> Self {
        let p = match exceeded {
            0 => 1.0,
            seen => Binomial::new(allowed, audits).map_or(f64::NAN, |law| law.sf(seen - 1)),
        };
        Self {
            what,
            audits,
            exceeded,
            allowed,
            p,
            outcome: if p >= ALARM {
                Outcome::Passed
            } else {
                Outcome::Failed
            },
        }
    }

    /// A bug that must be detected.
    fn planted(what: &str, audits: u64, exceeded: u64, allowed: f64) -> Self {
        let mut check = Self::new(format!("planted: {what}"), audits, exceeded, allowed);
        check.outcome = match check.outcome {
            Outcome::Failed => Outcome::Passed,
            _ => Outcome::Failed,
        };
        check
    }
}

/// All checks; `watch` hears how many parts of them are done, and how many there are.
///
/// # Errors
/// If a mechanism cannot be built or fails.
pub fn run(size: Size, watch: &(dyn Fn(u64, u64) + Sync)) -> Result<Vec<Check>> {
    let root = Seed::root(2026).named("selftest");
    let mut checks = Vec::new();
    let subjects = [
        Subject::new("constant", 2, 0.0, 0.0, 0.0)?,
        Subject::new("krr", 2, 1.0, 0.0, 1.0)?,
        Subject::new("krr", 4, 1.0, 0.0, 1.0)?,
        Subject::new("laplace", 2, 1.0, 0.0, 1.0)?,
        Subject::new("gaussian", 2, 1.0, 0.05, 1.0)?,
    ];
    // The planted bugs are one more.
    let total = subjects.len() as u64 + 1;
    for (done, subject) in (0..).zip(subjects) {
        watch(done, total);
        checks.extend(coverage(&subject, size, root.named(&subject.name))?);
    }
    watch(total - 1, total);
    checks.extend(bugs::planted(size, root.named("bugs"))?);
    watch(total, total);
    Ok(checks)
}

/// The checks of every estimator that applies to a subject.
fn coverage(subject: &Subject, size: Size, root: Seed) -> Result<Vec<Check>> {
    let mut cases: Vec<(&Estimator, Design)> = Vec::new();
    for estimator in ALL {
        for alpha in ALPHAS {
            let design = Design {
                k: 2,
                trials: size.trials,
                tuning: 0,
                level: Level::new(alpha)?,
                delta: subject.delta,
            };
            let fits = estimator.needs != Needs::Gaussian || subject.is_gaussian();
            if fits && (estimator.supports)(&design).is_ok() {
                cases.push((estimator, design));
            }
        }
    }
    let simulation = subject.simulation()?;
    let counts: Vec<Vec<u64>> = (0..size.audits)
        .into_par_iter()
        .map(|audit| {
            let trials = simulation.audit(size.trials, root.at(audit))?;
            cases
                .iter()
                .map(|(estimator, design)| {
                    let bound = bound(estimator, *design, &trials)?;
                    Ok(u64::from(bound > subject.truth))
                })
                .collect()
        })
        .collect::<Result<_>>()?;
    Ok(cases
        .iter()
        .enumerate()
        .map(|(case, (estimator, design))| {
            let exceeded = counts.iter().map(|counts| counts[case]).sum();
            let alpha = design.level.alpha();
            let what = format!("{} on {}, α = {alpha}", estimator.name, subject.name);
            let mut check = Check::new(what, size.audits, exceeded, alpha / 2.0);
            // A credible bound guarantees nothing under repetition.
            if estimator.name == "joint-beta" {
                check.outcome = Outcome::Shown;
            }
            check
        })
        .collect())
}

/// An estimator's bound for an audit.
///
/// # Errors
/// Failed, for an impossible trial.
pub fn bound(estimator: &Estimator, design: Design, trials: &[Trial]) -> Result<f64> {
    let mut evidence = (estimator.begin)(design);
    for trial in trials {
        evidence.record(&trial.observed(&trial.numbers(), 0))?;
    }
    Ok(evidence.bound().epsilon)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_values_are_exact_and_decide() {
        let half = Check::new(String::new(), 10, 9, 0.5);
        assert!((half.p - 11.0 / 1024.0).abs() < 1e-12);
        assert_eq!(half.outcome, Outcome::Passed);
        assert_eq!(Check::new(String::new(), 10, 0, 0.5).p, 1.0);
        assert_eq!(
            Check::new(String::new(), 100, 90, 0.5).outcome,
            Outcome::Failed
        );
        assert_eq!(Check::planted("", 100, 90, 0.5).outcome, Outcome::Passed);
        assert_eq!(Check::planted("", 100, 50, 0.5).outcome, Outcome::Failed);
    }

    #[test]
    fn a_small_selftest_passes() {
        let size = Size {
            audits: 200,
            trials: 120,
        };
        for check in run(size, &|_, _| ()).unwrap() {
            assert_ne!(
                check.outcome,
                Outcome::Failed,
                "{}: p = {}",
                check.what,
                check.p
            );
        }
    }
}
