//! Bugs planted on purpose, which the checks must detect.

use rayon::prelude::*;
use teda_core::estimator::{Design, Level, named, teda};
use teda_core::{ConfusionMatrix, Result, Seed};

use super::subject::guesses_with_its_coins;
use super::{Check, Size, Subject, bound};
use crate::audit::simulation::Simulation;
use crate::audit::trial::Trial;

/// Audits per bug: it shows in most of them.
const AUDITS: u64 = 300;
const ALPHA: f64 = 0.05;
/// Cells of a mechanism from which one is chosen.
const CELLS: u64 = 10;

/// The checks on planted bugs.
///
/// # Errors
/// If a mechanism cannot be built or fails.
pub fn planted(size: Size, root: Seed) -> Result<Vec<Check>> {
    let krr = Subject::new("krr", 2, 1.0, 0.0, 1.0)?;
    let broken = Subject::new("krr-half-noise", 2, 1.0, 0.0, 2.0)?;
    let exceeds = |subject: &Subject, name: &str, shown: Shown| -> Result<Check> {
        let (root, simulation) = (root.named(name), subject.simulation()?);
        let exceeded: Vec<bool> = (0..AUDITS)
            .into_par_iter()
            .map(|audit| {
                let seed = root.at(audit);
                let trials = simulation.audit(size.trials, seed)?;
                Ok(shown(&simulation, trials, seed)? > subject.claim)
            })
            .collect::<Result<_>>()?;
        let exceeded = exceeded.into_iter().filter(|exceeded| *exceeded).count();
        Ok(Check::planted(name, AUDITS, exceeded as u64, ALPHA / 2.0))
    };
    // The strongest of ten cells, each audited at this level.
    let strongest = |alpha: f64| -> Result<u64> {
        let (root, simulation) = (root.named("cells"), krr.simulation()?);
        let exceeded: Vec<bool> = (0..AUDITS)
            .into_par_iter()
            .map(|audit| {
                let mut greatest = 0.0_f64;
                for cell in 0..CELLS {
                    let trials = simulation.audit(size.trials, root.at(audit).at(cell))?;
                    let design = Design {
                        level: Level::new(alpha)?,
                        ..design(&trials)?
                    };
                    greatest = greatest.max(bound(named("teda")?, design, &trials)?);
                }
                Ok(greatest > krr.truth)
            })
            .collect::<Result<_>>()?;
        Ok(exceeded.into_iter().filter(|exceeded| *exceeded).count() as u64)
    };
    Ok(vec![
        Check::planted(
            "the strongest of ten cells, its choice not paid for",
            AUDITS,
            strongest(ALPHA)?,
            ALPHA / 2.0,
        ),
        Check::new(
            format!("the strongest of ten cells, its choice paid for, α = {ALPHA}"),
            AUDITS,
            strongest(ALPHA / CELLS as f64)?,
            ALPHA / 2.0,
        ),
        exceeds(
            &broken,
            "a mechanism with half the noise that it claims",
            |_, trials, _| bound(named("teda")?, design(&trials)?, &trials),
        )?,
        exceeds(
            &krr,
            "an attack that tosses the mechanism's own coins",
            |simulation, mut trials, seed| {
                let guesses = guesses_with_its_coins(simulation, &trials, seed)?;
                for (trial, guess) in trials.iter_mut().zip(guesses) {
                    trial.guesses[0].candidate = guess;
                }
                bound(named("teda")?, design(&trials)?, &trials)
            },
        )?,
        exceeds(
            &krr,
            "a Clopper-Pearson limit looked at after every trial",
            |_, trials, _| peeked(&trials),
        )?,
        exceeds(
            &krr,
            "the best of ten parts of an audit without paying for the choice",
            |_, trials, _| luckiest_part(&trials),
        )?,
    ])
}

/// The bound that a faulty audit would report.
type Shown = fn(&Simulation<'_>, Vec<Trial>, Seed) -> Result<f64>;

fn design(trials: &[Trial]) -> Result<Design> {
    Ok(Design {
        k: 2,
        trials: trials.len() as u64,
        tuning: 0,
        level: Level::new(ALPHA)?,
        delta: 0.0,
    })
}

fn matrix(trials: &[Trial]) -> ConfusionMatrix {
    let mut matrix = ConfusionMatrix::new(2);
    for trial in trials {
        matrix.record(trial.secret, trial.guesses[0].candidate, None);
    }
    matrix
}

/// The largest bound over all times.
fn peeked(trials: &[Trial]) -> Result<f64> {
    let level = Level::new(ALPHA)?;
    let mut matrix = ConfusionMatrix::new(2);
    let mut greatest = 0.0_f64;
    for trial in trials {
        matrix.record(trial.secret, trial.guesses[0].candidate, None);
        greatest = greatest.max(teda::bound(&matrix, level, 0.0).epsilon);
    }
    Ok(greatest)
}

/// The largest bound of ten parts of the trials, each at the full level.
fn luckiest_part(trials: &[Trial]) -> Result<f64> {
    let level = Level::new(ALPHA)?;
    let part = trials.len().div_ceil(10).max(1);
    let parts = trials.chunks(part).map(matrix);
    let bounds = parts.map(|matrix| teda::bound(&matrix, level, 0.0).epsilon);
    Ok(bounds.fold(0.0, f64::max))
}
