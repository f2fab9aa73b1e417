//! The cells of two runs side by side.

use teda_core::Result;
use teda_results::{Cell, UtilityCell};

use crate::cli::compare::{Stored, p_value};
use crate::cli::key::Key;

/// Two runs side by side.
pub struct Difference<'a> {
    /// Before and after, as the user named them.
    pub sources: [&'a str; 2],
    /// Probability of a false alarm over all cells that are compared.
    pub tolerance: f64,
    /// Cells that both have: those that moved first, and of these the smallest p-value.
    pub both: Vec<Pair<'a>>,
    /// Cells that only one of them has: before and after.
    pub only: [Vec<Alone<'a>>; 2],
    /// Utilities that both have.
    pub utilities: Vec<[&'a UtilityCell; 2]>,
}

/// A cell that both runs have.
pub struct Pair<'a> {
    /// Before and after.
    pub cells: [&'a Cell; 2],
    /// The level at which the rates are the same, or why they are not compared.
    pub p: std::result::Result<f64, String>,
    /// Whether that level is too small.
    pub moved: bool,
}

/// A cell that only one run has.
pub struct Alone<'a> {
    /// The cell.
    pub cell: &'a Cell,
    /// In what the nearest cell of the other run differs, and its value there.
    pub nearest: Option<(&'static str, String)>,
}

impl<'a> Difference<'a> {
    /// Compares the cells of two runs.
    ///
    /// # Errors
    /// Usage, for a run that has a cell twice.
    pub fn of(before: &'a Stored, after: &'a Stored, tolerance: f64) -> Result<Self> {
        let mut both = Vec::new();
        for cell in &before.cells {
            let key = Key::from(cell);
            // Refuses a cell that is there twice.
            before.cell(&key)?;
            if let Some(other) = after.cell(&key)? {
                let stopped = before.stopped(cell).map(|why| (before, why));
                let stopped = stopped.or_else(|| after.stopped(other).map(|why| (after, why)));
                both.push(Pair {
                    cells: [cell, other],
                    p: match stopped {
                        Some((run, why)) => Err(format!("{}: {why}", run.source)),
                        None => Ok(p_value(cell, other)),
                    },
                    moved: false,
                });
            }
        }
        let mut difference = Self {
            sources: [&before.source, &after.source],
            tolerance,
            both,
            only: [alone(before, after)?, alone(after, before)?],
            utilities: utilities(before, after),
        };
        let level = difference.level();
        for pair in &mut difference.both {
            pair.moved = pair.p.as_ref().is_ok_and(|p| *p <= level);
        }
        let p = |pair: &Pair<'_>| *pair.p.as_ref().unwrap_or(&f64::INFINITY);
        difference.both.sort_by(|a, b| {
            let by_moved = b.moved.cmp(&a.moved);
            // The others stay in the order of the run.
            by_moved.then(if a.moved && b.moved {
                p(a).total_cmp(&p(b))
            } else {
                std::cmp::Ordering::Equal
            })
        });
        Ok(difference)
    }

    /// Number of cells that are compared.
    #[must_use]
    pub fn compared(&self) -> usize {
        self.both.iter().filter(|pair| pair.p.is_ok()).count()
    }

    /// Number of cells that moved.
    #[must_use]
    pub fn moved(&self) -> usize {
        self.both.iter().filter(|pair| pair.moved).count()
    }

    /// The p-value at or below which a cell moved: the tolerance over the number of cells that are compared.
    #[must_use]
    pub fn level(&self) -> f64 {
        self.tolerance / self.compared().max(1) as f64
    }
}

/// The cells that `other` does not have, each with the nearest of those that only `other` has.
fn alone<'a>(own: &'a Stored, other: &'a Stored) -> Result<Vec<Alone<'a>>> {
    let left = missing(other, own)?;
    let alone = |cell: &'a Cell| Alone {
        cell,
        nearest: Key::from(cell).nearest(left.iter().map(|cell| Key::from(*cell))),
    };
    Ok(missing(own, other)?.into_iter().map(alone).collect())
}

/// The cells of `own` that `other` does not have.
fn missing<'a>(own: &'a Stored, other: &Stored) -> Result<Vec<&'a Cell>> {
    let mut found = Vec::new();
    for cell in &own.cells {
        if other.cell(&Key::from(cell))?.is_none() {
            found.push(cell);
        }
    }
    Ok(found)
}

/// The utilities that both runs measured in the same way.
fn utilities<'a>(before: &'a Stored, after: &'a Stored) -> Vec<[&'a UtilityCell; 2]> {
    let is_same = |a: &UtilityCell, b: &UtilityCell| {
        let names = |u: &UtilityCell| {
            let of = (u.dataset.clone(), u.mechanism.clone(), u.utility.clone());
            (of, u.signature.clone(), u.neighbours)
        };
        names(a) == names(b) && (a.epsilon, a.k, a.lambda) == (b.epsilon, b.k, b.lambda)
    };
    let pair = |own: &'a UtilityCell| {
        let other = after.utilities.iter().find(|other| is_same(own, other))?;
        Some([own, other])
    };
    before.utilities.iter().filter_map(pair).collect()
}
