//! Rows into tallies: the one way, whether rows are resumed, merged or judged again.

use teda_core::{Error, Result, Tally};
use teda_results::{CellPlan, Row};

/// An empty tally for each cell.
#[must_use]
pub fn tallies(cells: &[CellPlan]) -> Vec<Tally> {
    cells
        .iter()
        .map(|cell| Tally::new(cell.k as usize))
        .collect()
}

/// Counts a stored row.
///
/// # Errors
/// Failed, if it does not fit its cell: the rows were changed or belong to another run.
pub fn add(tallies: &mut [Tally], row: &Row) -> Result<()> {
    let (secret, guess) = (row.secret as usize, row.guess as usize);
    let fits = |tally: &&mut Tally| {
        secret < tally.k() && guess < tally.k() && row.hit == (secret == guess)
    };
    let tally = tallies.get_mut(row.cell as usize).filter(fits);
    tally
        .ok_or_else(|| foreign(row))?
        .record(secret, guess, row.error.is_some());
    Ok(())
}

/// The error for a row that is not of this run.
#[must_use]
pub fn foreign(row: &Row) -> Error {
    Error::failed(format!(
        "the row of cell {}, trial {} does not fit this run: the rows were changed or belong to another run",
        row.cell, row.trial
    ))
}
