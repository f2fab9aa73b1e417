//! Turns a planned cell and its counts into a line of the result.

use teda_core::estimator::Level;
use teda_core::stats::binomial;
use teda_core::{Cause, Privacy, Result, Verdict};
use teda_results::{Cell, Metric};

use crate::audit::counting::Counted;
use crate::audit::stopping::ANYTIME;
use crate::report::explanation;
use crate::report::witness::{self, Texts, Witness};

/// The results of counted cells. Texts are read only if a cell quotes some. Results depend only on what a run stores,
/// so that it can be judged again at any time.
///
/// # Errors
/// Usage, for a level that a valid plan cannot hold; failed, if the run's texts cannot be read.
pub fn judge(cells: &[Counted], texts: Texts<'_>) -> Result<Vec<Cell>> {
    let witnesses = witness::find(cells, texts)?;
    let cells = cells.iter().zip(witnesses);
    cells
        .map(|(cell, witness)| judge_cell(cell, witness))
        .collect()
}

fn judge_cell(counted: &Counted, witness: Option<Witness>) -> Result<Cell> {
    let Counted {
        plan,
        count,
        seconds,
    } = counted;
    let level = Level::new(plan.alpha)?;
    let (matrix, bound) = (&count.matrix, count.evidence.bound());
    let claim = plan.claimed_epsilon.map(|epsilon| Privacy {
        epsilon,
        delta: plan.claimed_delta.unwrap_or(0.0),
    });
    let trials = matrix.trials();
    let verdict = Verdict::on(claim, bound, plan.delta);
    let mut cell = Cell {
        dataset: plan.dataset.clone(),
        mechanism: plan.mechanism.clone(),
        epsilon: plan.epsilon,
        epsilon_unit: plan.epsilon_unit,
        neighbours: plan.neighbours,
        k: plan.k,
        lambda: plan.lambda,
        attack: plan.attack.clone(),
        trials,
        hits: matrix.hits(),
        failed: matrix.failed(),
        failed_mechanism: matrix.failed_by(Cause::Mechanism),
        failed_transport: matrix.failed_by(Cause::Transport),
        failed_attack: matrix.failed_by(Cause::Attack),
        success_rate: matrix.hits() as f64 / trials as f64,
        success_lower: binomial::lower_limit(matrix.hits(), trials, level.tail()).p,
        alpha: plan.alpha,
        delta: plan.delta,
        estimator: plan.estimator.clone(),
        empirical_epsilon: bound.epsilon,
        ceiling: bound.ceiling,
        claimed_epsilon: plan.claimed_epsilon,
        verdict,
        seconds: *seconds,
        witness: witness.as_ref().map(Witness::numbers),
        witness_texts: witness.map(|witness| witness.texts).unwrap_or_default(),
        explanation: String::new(),
        trained: plan.trained,
        // If the number of trials was not fixed in advance, the tail of the binomial says nothing.
        below_chance: plan.estimator != ANYTIME
            && binomial::upper_limit(matrix.hits(), trials, level.tail()).p
                < 1.0 / f64::from(plan.k),
        choices: count.choices,
        chosen_epsilon: Some(count.chosen_epsilon()),
        signs: plan.signs.clone(),
        // A hunt ends with one set by design.
        candidates: (plan.explored == 0)
            .then(|| count.variety.summary())
            .flatten(),
        // At distance 0 nothing is claimed per unit of distance.
        mean_units: plan.mean_units,
        recall: count.readings.recall(),
        guesses: count.evidence.guesses(),
        chosen_guesses: count.chosen_guesses(),
        composition: plan.composition,
        metric: plan.diameter.filter(|d| *d > 0.0).map(|diameter| Metric {
            greatest_distance: diameter,
            epsilon_per_distance: bound.epsilon / diameter,
        }),
    };
    cell.verdict = verdict.without_answers(bound, cell.unanswered(), trials);
    // On its own, a cell was not chosen among several.
    let alone = Cell {
        choices: 1,
        ..cell.clone()
    };
    cell.explanation = explanation::of(&alone);
    Ok(cell)
}
