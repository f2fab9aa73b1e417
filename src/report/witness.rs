//! The candidate texts that show a bound, if particular texts do.

use std::path::Path;
use std::sync::Arc;

use teda_core::{Error, Result};
use teda_results::{Manifest, texts};

use crate::audit::counting::Counted;

/// Where the texts that candidates are indices of are found, list by list.
pub enum Texts<'a> {
    /// In the directory of a run, if it kept them.
    Stored(&'a Path, &'a Manifest),
    /// In memory.
    Here(Vec<Arc<[String]>>),
}

impl Texts<'_> {
    /// Reads all of them; empty for a run that kept no texts.
    ///
    /// # Errors
    /// Failed, if they cannot be read or are not those of the run.
    pub fn read(self) -> Result<Vec<Arc<[String]>>> {
        match self {
            Self::Here(lists) => Ok(lists),
            Self::Stored(directory, manifest) => match &manifest.texts_sha256 {
                Some(sha256) => {
                    let lists = texts::read(directory, sha256)?;
                    Ok(lists.into_iter().map(Arc::from).collect())
                }
                None => Ok(Vec::new()),
            },
        }
    }

    fn misfit(&self) -> Error {
        let place = match self {
            Self::Stored(directory, _) => format!("{}: texts.parquet does", directory.display()),
            Self::Here(_) => "the texts do".to_owned(),
        };
        Error::failed(format!(
            "{place} not fit the cells: they were changed or belong to another run"
        ))
    }
}

/// The witness of a cell.
pub struct Witness {
    /// Indices of the texts, as in the rows.
    numbers: Vec<u32>,
    /// The texts, in the same order; empty for a run that kept no texts.
    pub texts: Vec<String>,
}

impl Witness {
    /// The indices with `+` between them.
    #[must_use]
    pub fn numbers(&self) -> String {
        let numbers: Vec<String> = self.numbers.iter().map(u32::to_string).collect();
        numbers.join("+")
    }
}

/// The witness of each cell, with its texts if the run kept them.
///
/// # Errors
/// Failed, if the texts cannot be read or are not those of the run.
pub fn find(cells: &[Counted], texts: Texts<'_>) -> Result<Vec<Option<Witness>>> {
    let numbers: Vec<Option<Vec<u32>>> = cells
        .iter()
        .map(|cell| match cell.plan.explored {
            0 => cell.count.evidence.witness(),
            _ => cell.count.hunted.clone(),
        })
        .collect();
    // A run may have very many texts: they are read only if needed.
    let misfit = texts.misfit();
    let lists = match numbers.iter().any(Option::is_some) {
        true => texts.read()?,
        false => Vec::new(),
    };
    let witness = |(cell, numbers): (&Counted, Option<Vec<u32>>)| {
        let Some(numbers) = numbers else {
            return Ok(None);
        };
        let texts = match cell.plan.texts.filter(|_| !lists.is_empty()) {
            Some(list) => said(&lists, list, &numbers).ok_or_else(|| misfit.clone())?,
            None => Vec::new(),
        };
        Ok(Some(Witness { numbers, texts }))
    };
    cells.iter().zip(numbers).map(witness).collect()
}

/// The texts of a list with these indices.
fn said(lists: &[Arc<[String]>], list: u32, numbers: &[u32]) -> Option<Vec<String>> {
    let list = lists.get(list as usize)?;
    let text = |number: &u32| list.get(*number as usize).cloned();
    numbers.iter().map(text).collect()
}
