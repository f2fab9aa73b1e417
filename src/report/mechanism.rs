//! How sentences refer to a mechanism.

use teda_core::{Unit, plain};
use teda_results::Cell;

/// The mechanism with its nominal ε.
#[must_use]
pub fn name(cell: &Cell) -> String {
    let at = cell.epsilon.map(|epsilon| {
        let per = match cell.epsilon_unit {
            None | Some(Unit::Text) => String::new(),
            Some(unit) => format!(" per {unit}"),
        };
        format!(" (nominal ε = {epsilon}{per})")
    });
    plain(&cell.mechanism).into_owned() + &at.unwrap_or_default()
}

/// A nominal ε with what one of it is spent on, for tables; `-` without one.
#[must_use]
pub fn nominal(epsilon: Option<f64>, unit: Option<Unit>) -> String {
    let unit = unit.map_or("", Unit::name);
    epsilon.map_or("-".into(), |e| format!("{e} / {unit}"))
}
