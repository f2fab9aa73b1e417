//! Where in a source something is, and errors that say so.

use std::fmt;

use teda_core::{Error, Result};

/// Where in a source something is.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    name: &'a str,
    unit: Unit,
    /// Counted from 1.
    number: usize,
}

/// What places are counted in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Line,
    /// Of a source without lines.
    Row,
}

impl<'a> Place<'a> {
    /// A line of the source called `name`.
    pub(crate) fn line(name: &'a str, number: usize) -> Self {
        Self {
            name,
            unit: Unit::Line,
            number,
        }
    }

    /// A row of the source called `name`, which has no lines.
    pub(crate) fn row(name: &'a str, number: usize) -> Self {
        Self {
            name,
            unit: Unit::Row,
            number,
        }
    }

    /// What the source is called.
    pub(crate) fn name(self) -> &'a str {
        self.name
    }

    /// What this place is one of.
    pub(crate) fn unit(self) -> Unit {
        self.unit
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

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Line => "line",
            Self::Row => "row",
        })
    }
}
