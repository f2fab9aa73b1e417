//! What a cell is: across runs, and in documents.

use std::fmt;

use serde::Serialize;
use teda_core::{Neighbours, Unit, plain};
use teda_results::{Cell, CellPlan};

/// (dataset, mechanism, ε, neighbours, k, λ, attack).
#[derive(Debug, PartialEq)]
pub struct Key<'a> {
    dataset: &'a str,
    mechanism: &'a str,
    epsilon: Option<f64>,
    neighbours: Neighbours,
    k: u32,
    lambda: f64,
    attack: &'a str,
}

impl<'a> From<&'a Cell> for Key<'a> {
    fn from(cell: &'a Cell) -> Self {
        Self {
            dataset: &cell.dataset,
            mechanism: &cell.mechanism,
            epsilon: cell.epsilon,
            neighbours: cell.neighbours,
            k: cell.k,
            lambda: cell.lambda,
            attack: &cell.attack,
        }
    }
}

impl<'a> From<&'a CellPlan> for Key<'a> {
    fn from(plan: &'a CellPlan) -> Self {
        Self {
            dataset: &plan.dataset,
            mechanism: &plan.mechanism,
            epsilon: plan.epsilon,
            neighbours: plan.neighbours,
            k: plan.k,
            lambda: plan.lambda,
            attack: &plan.attack,
        }
    }
}

impl Key<'_> {
    /// Whether both are of the same releases: equal except for the attack.
    #[must_use]
    pub fn is_beside(&self, other: &Key<'_>) -> bool {
        *self
            == Key {
                attack: self.attack,
                ..*other
            }
    }
}

impl Key<'_> {
    /// What it consists of, each with its name in a table.
    fn parts(&self) -> [(&'static str, String); 7] {
        [
            ("mechanism", plain(self.mechanism).into_owned()),
            (
                "nominal ε",
                self.epsilon.map_or("-".into(), |e| e.to_string()),
            ),
            ("k", self.k.to_string()),
            ("λ", self.lambda.to_string()),
            ("data set", plain(self.dataset).into_owned()),
            ("neighbours", self.neighbours.to_string()),
            ("attack", plain(self.attack).into_owned()),
        ]
    }

    /// In what one of `others` differs, if that is a single thing: its name, and its value there.
    #[must_use]
    pub fn nearest<'a>(
        &self,
        mut others: impl Iterator<Item = Key<'a>>,
    ) -> Option<(&'static str, String)> {
        others.find_map(|other| {
            let both = self.parts().into_iter().zip(other.parts());
            let mut different = both.filter(|(own, other)| own != other);
            match (different.next(), different.next()) {
                (Some((_, other)), None) => Some(other),
                _ => None,
            }
        })
    }
}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&plain(self.mechanism))?;
        if let Some(epsilon) = self.epsilon {
            write!(f, " ε={epsilon}")?;
        }
        write!(
            f,
            " k={} λ={} {} on {}",
            self.k,
            self.lambda,
            self.attack,
            plain(self.dataset)
        )?;
        if self.neighbours == Neighbours::AnyTexts {
            return Ok(());
        }
        write!(f, " ({})", self.neighbours)
    }
}

/// What a series is, in documents.
#[derive(Serialize)]
pub struct Series<'a> {
    dataset: &'a str,
    mechanism: &'a str,
    epsilon: Option<f64>,
    epsilon_unit: Option<Unit>,
    neighbours: Neighbours,
    k: u32,
    lambda: f64,
}

impl<'a> From<&'a CellPlan> for Series<'a> {
    fn from(plan: &'a CellPlan) -> Self {
        Self {
            dataset: &plan.dataset,
            mechanism: &plan.mechanism,
            epsilon: plan.epsilon,
            epsilon_unit: plan.epsilon_unit,
            neighbours: plan.neighbours,
            k: plan.k,
            lambda: plan.lambda,
        }
    }
}

impl<'a> From<&'a Cell> for Series<'a> {
    fn from(cell: &'a Cell) -> Self {
        Self {
            dataset: &cell.dataset,
            mechanism: &cell.mechanism,
            epsilon: cell.epsilon,
            epsilon_unit: cell.epsilon_unit,
            neighbours: cell.neighbours,
            k: cell.k,
            lambda: cell.lambda,
        }
    }
}
