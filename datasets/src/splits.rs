//! Which rows belong to the split that was asked for.

use std::collections::BTreeSet;

use teda_core::{Error, Result};

/// The value of `split` that means all splits.
pub const ALL_SPLITS: &str = "all";

/// Name of the field that holds a row's split.
pub(crate) const FIELD: &str = "split";

/// A message lists at most this many splits: the field may turn out to hold something else.
const MOST_LISTED: usize = 20;

/// A filter on the split of a row, and the splits it has seen.
pub(crate) struct Splits<'a> {
    wanted: Option<&'a str>,
    found: BTreeSet<String>,
    admitted: bool,
    met: bool,
}

impl<'a> Splits<'a> {
    /// A filter for `wanted`; `None`, or [`ALL_SPLITS`], admits every row.
    pub(crate) fn new(wanted: Option<&'a str>) -> Self {
        Self {
            wanted: wanted.filter(|name| *name != ALL_SPLITS),
            found: BTreeSet::new(),
            admitted: false,
            met: false,
        }
    }

    /// The one split that is wanted, unless every row is.
    pub(crate) fn wanted(&self) -> Option<&'a str> {
        self.wanted
    }

    /// Whether a row of this split is wanted.
    pub(crate) fn admits(&mut self, split: Option<&str>) -> bool {
        self.met = true;
        let admitted = self.wanted.is_none() || self.wanted == split;
        self.admitted |= admitted;
        if let Some(split) = split
            && self.found.len() < MOST_LISTED
            && !self.found.contains(split)
        {
            self.found.insert(split.to_owned());
        }
        admitted
    }

    /// Refuses a split of which no row was seen; `name` is for messages.
    ///
    /// # Errors
    /// Usage, listing the existing splits.
    pub(crate) fn finish(&self, name: &str) -> Result<()> {
        let Some(wanted) = self.wanted.filter(|_| self.met && !self.admitted) else {
            return Ok(());
        };
        if self.found.is_empty() {
            return Err(Error::usage(format!(
                "'{name}' has no splits (no row has a field '{FIELD}'): leave out the split '{wanted}'"
            )));
        }
        let mut known: Vec<&str> = self.found.iter().map(String::as_str).collect();
        known.push(ALL_SPLITS);
        Err(Error::unknown_in_file("split", wanted, &known).context(format!("'{name}'")))
    }
}
