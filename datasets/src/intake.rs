//! What a reader is told and where it puts its rows: the one thing that all formats share.

use std::fmt;

use teda_core::{Error, Result};

use crate::selection::Selection;
use crate::splits::Splits;

/// A reading in progress.
pub(crate) struct Intake<'a> {
    /// How messages name the source.
    pub(crate) name: &'a str,
    /// The column that was asked for.
    pub(crate) column: Option<&'a str>,
    /// The filter on splits.
    pub(crate) splits: Splits<'a>,
    /// The other filters, and the texts so far.
    pub(crate) selection: Selection,
}

impl<'a> Intake<'a> {
    /// A line of the source.
    pub(crate) fn line(&self, number: usize) -> Place<'a> {
        Place::line(self.name, number)
    }

    /// A row of a source without lines.
    pub(crate) fn row(&self, number: usize) -> Place<'a> {
        Place {
            name: self.name,
            unit: "row",
            number,
        }
    }
}

/// Where in a source something is.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    name: &'a str,
    unit: &'static str,
    /// Counted from 1.
    number: usize,
}

impl<'a> Place<'a> {
    /// A line of the source called `name`.
    pub(crate) fn line(name: &'a str, number: usize) -> Self {
        Self {
            name,
            unit: "line",
            number,
        }
    }

    /// An error of the request: what is here is not what was said to be.
    pub(crate) fn refuse<T>(self, what: impl fmt::Display) -> Result<T> {
        Err(Error::usage(format!("{self}: {what}")))
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}', {} {}", self.name, self.unit, self.number)
    }
}
