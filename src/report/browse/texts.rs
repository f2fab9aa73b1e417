//! The texts that the candidates of trials are numbers of, as far as they can be had.

use std::sync::Arc;

use teda_core::Neighbours;
use teda_datasets::Limits;
use teda_results::Status;

use crate::report::finished_run::FinishedRun;
use crate::report::rejudge::lists;

/// The data set that is read from standard input.
const STDIN: &str = "-";

/// The texts of a run.
pub struct Texts {
    lists: Vec<Arc<[String]>>,
    /// Why there are none; `None` if there are.
    pub missing: Option<String>,
}

impl Texts {
    /// The texts of a run: those that it kept, else those of its data sets. Where neither is there it says why.
    #[must_use]
    pub fn of(run: &FinishedRun, limits: Limits) -> Self {
        match found(run, limits) {
            Ok(lists) => Self {
                lists,
                missing: None,
            },
            Err(why) => Self {
                lists: Vec::new(),
                missing: Some(why),
            },
        }
    }

    /// A text of a cell's candidates; `None` if there is none.
    #[must_use]
    pub fn text(&self, run: &FinishedRun, cell: u32, number: u32) -> Option<&str> {
        self.lists
            .get(list(run, cell))?
            .get(number as usize)
            .map(String::as_str)
    }

    /// For every text of every list, whether `is` holds.
    #[must_use]
    pub fn all(&self, is: impl Fn(&str) -> bool) -> Vec<Vec<bool>> {
        let of_list = |list: &Arc<[String]>| list.iter().map(|text| is(text)).collect();
        self.lists.iter().map(of_list).collect()
    }
}

/// The list that a cell's candidates are numbers of.
#[must_use]
pub fn list(run: &FinishedRun, cell: u32) -> usize {
    let plan = run.manifest.cells.get(cell as usize);
    plan.and_then(|plan| plan.texts).unwrap_or_default() as usize
}

fn found(run: &FinishedRun, limits: Limits) -> Result<Vec<Arc<[String]>>, String> {
    if run.manifest.texts_sha256.is_none() {
        let is_made =
            run.config.neighbours == Neighbours::OneToken || run.config.recorded().is_some();
        if is_made && run.manifest.status != Status::Complete {
            return Err(
                "texts are kept once all trials are made, and these are no texts of a data set"
                    .to_owned(),
            );
        }
        if run.config.datasets.iter().any(|data| data.source == STDIN) {
            return Err("they came from standard input, and the run has not kept them".to_owned());
        }
    }
    lists(run, limits).map_err(|e| e.to_string())
}
