//! The candidate texts that show a bound, where single ones do.

use teda_core::{Error, Result};

use crate::audit::counting::Counted;

/// The witness of a cell.
pub struct Witness {
    /// Numbers of the texts, as the rows have them.
    numbers: Vec<u32>,
    /// What they say, in the same order; empty for a run that kept no texts.
    pub texts: Vec<String>,
}

impl Witness {
    /// The numbers with `+` between them.
    #[must_use]
    pub fn numbers(&self) -> String {
        let numbers: Vec<String> = self.numbers.iter().map(u32::to_string).collect();
        numbers.join("+")
    }
}

/// The witness of each cell, with its texts as the run kept them; `lists` is empty for a run that kept none.
///
/// # Errors
/// Failed, where the texts cannot be read or are not those of the run.
pub fn find(
    cells: &[Counted],
    lists: impl FnOnce() -> Result<Vec<Vec<String>>>,
) -> Result<Vec<Option<Witness>>> {
    let numbers: Vec<Option<Vec<u32>>> = cells
        .iter()
        .map(|cell| match cell.plan.explored {
            0 => cell.count.evidence.witness(),
            _ => cell.count.hunted.clone(),
        })
        .collect();
    // All texts of a run may be many: they are read where they are needed.
    let lists = match numbers.iter().any(Option::is_some) {
        true => lists()?,
        false => Vec::new(),
    };
    let witness = |(cell, numbers): (&Counted, Option<Vec<u32>>)| {
        let Some(numbers) = numbers else {
            return Ok(None);
        };
        let texts = match cell.plan.texts.filter(|_| !lists.is_empty()) {
            Some(list) => said(&lists, list, &numbers).ok_or_else(|| {
                Error::failed(
                    "the run's texts do not fit its manifest: they were changed or belong to another run",
                )
            })?,
            None => Vec::new(),
        };
        Ok(Some(Witness { numbers, texts }))
    };
    cells.iter().zip(numbers).map(witness).collect()
}

/// The texts of a list that have these numbers.
fn said(lists: &[Vec<String>], list: u32, numbers: &[u32]) -> Option<Vec<String>> {
    let list = lists.get(list as usize)?;
    let text = |number: &u32| list.get(*number as usize).cloned();
    numbers.iter().map(text).collect()
}
