//! Failures that a user must not overlook: what failed, and in how many trials.

use teda_core::Cause;
use teda_results::Cell;

use crate::report::mechanism::name;

/// The share of a cell's trials above which failures are worth a warning.
const NOTICEABLE: f64 = 0.01;

/// What failed in more than 1 % of a cell's trials, in words; `None` if no cause did.
#[must_use]
pub fn of(cell: &Cell) -> Vec<String> {
    let noticed = |cause| {
        let failed = match cause {
            Cause::Mechanism => cell.failed_mechanism,
            Cause::Transport => cell.failed_transport,
            Cause::Attack => cell.failed_attack,
        };
        let share = failed as f64 / cell.trials as f64;
        (share > NOTICEABLE).then(|| {
            let trials = format!(
                "{failed} of {} trials ({:.0} %)",
                cell.trials,
                100.0 * share
            );
            match cause {
                Cause::Mechanism => format!("{trials} have no release: the mechanism failed"),
                Cause::Transport => {
                    format!("{trials} were lost on the way: time-outs or a failing server")
                }
                Cause::Attack => {
                    format!("{trials} have no scores: the {} attack failed", cell.attack)
                }
            }
        })
    };
    Cause::ALL.into_iter().filter_map(noticed).collect()
}

/// A line for every cell for which [`of`] has a warning.
#[must_use]
pub fn lines(cells: &[Cell]) -> Vec<String> {
    let line = |cell: &Cell| {
        let failures = of(cell);
        (!failures.is_empty()).then(|| {
            format!(
                "warning: {}, {} attack: {}",
                name(cell),
                cell.attack,
                failures.join("; ")
            )
        })
    };
    cells.iter().filter_map(line).collect()
}
