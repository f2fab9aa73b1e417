//! From a planned cell and its counts to a line of the result.

use std::path::Path;

use teda_core::estimator::{Level, binomial};
use teda_core::{Privacy, Result, Verdict};
use teda_results::{Cell, CellPlan, Manifest};

use crate::count::Count;
use crate::explanation;
use crate::witness::{self, Witness};

/// The results of all cells of the run in `directory`, `[cells]` of each input. They depend on what it stores
/// alone, so that it can be judged again at any time.
///
/// # Errors
/// Usage, for a level that a plan should not hold; failed, where the run's texts cannot be read.
pub fn judge(
    manifest: &Manifest,
    directory: &Path,
    counts: &[Count],
    seconds: &[Option<f64>],
) -> Result<Vec<Cell>> {
    let witnesses = witness::find(manifest, directory, counts)?;
    let known = counts.iter().zip(seconds).zip(witnesses);
    manifest
        .cells
        .iter()
        .zip(known)
        .map(|(plan, ((count, seconds), witness))| judge_cell(plan, count, *seconds, witness))
        .collect()
}

fn judge_cell(
    plan: &CellPlan,
    count: &Count,
    seconds: Option<f64>,
    witness: Option<Witness>,
) -> Result<Cell> {
    let level = Level::new(plan.alpha)?;
    let (tally, bound) = (&count.tally, count.evidence.bound());
    let claim = plan.claimed_epsilon.map(|epsilon| Privacy {
        epsilon,
        delta: plan.claimed_delta.unwrap_or(0.0),
    });
    let trials = tally.trials();
    let verdict = Verdict::on(claim, bound, plan.delta);
    let mut cell = Cell {
        dataset: plan.dataset.clone(),
        mechanism: plan.mechanism.clone(),
        epsilon: plan.epsilon,
        epsilon_unit: plan.epsilon_unit.clone(),
        neighbours: plan.neighbours.clone(),
        k: plan.k,
        lambda: plan.lambda,
        attack: plan.attack.clone(),
        trials,
        hits: tally.hits(),
        failed: tally.failed(),
        success_rate: tally.hits() as f64 / trials as f64,
        success_lower: binomial::lower_limit(tally.hits(), trials, level.tail()).p,
        alpha: plan.alpha,
        delta: plan.delta,
        estimator: plan.estimator.clone(),
        empirical_epsilon: bound.epsilon,
        ceiling: bound.ceiling,
        claimed_epsilon: plan.claimed_epsilon,
        verdict: verdict.name().to_owned(),
        seconds,
        witness: witness.as_ref().map(Witness::numbers),
        witness_texts: witness.map(|witness| witness.texts).unwrap_or_default(),
        explanation: String::new(),
    };
    cell.explanation = explanation::of(&cell, verdict);
    Ok(cell)
}
