//! From a planned cell and its counts to a line of the result.

use teda_core::estimator::{Level, binomial};
use teda_core::{Privacy, Result, Verdict};
use teda_results::{Cell, CellPlan};

use crate::count::Count;
use crate::explanation;

/// The results of all cells, `[cells]` of each input.
///
/// # Errors
/// As for one cell.
pub fn judge(plans: &[CellPlan], counts: &[Count], seconds: &[Option<f64>]) -> Result<Vec<Cell>> {
    plans
        .iter()
        .zip(counts)
        .zip(seconds)
        .map(|((plan, count), seconds)| judge_cell(plan, count, *seconds))
        .collect()
}

/// The cell's result. Depends on the plan and the counts alone, so that a stored run can be judged
/// again at any time.
///
/// # Errors
/// Usage, for a level that the plan should not hold.
fn judge_cell(plan: &CellPlan, count: &Count, seconds: Option<f64>) -> Result<Cell> {
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
        witness: count.evidence.witness().map(|texts| {
            let numbers: Vec<String> = texts.iter().map(u32::to_string).collect();
            numbers.join("+")
        }),
        explanation: String::new(),
    };
    cell.explanation = explanation::of(&cell, verdict);
    Ok(cell)
}
