//! Places in a source, and errors that name them.

use std::fmt;

use teda_core::{Error, Result};

/// A place in a source.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    name: &'a str,
    unit: Unit,
    /// Counted from 1.
    number: usize,
}

/// The unit in which places are counted.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Line,
    /// A row of a source without lines.
    Row,
}

impl<'a> Place<'a> {
    /// A line of the source named `name`.
    pub(crate) fn line(name: &'a str, number: usize) -> Self {
        Self {
            name,
            unit: Unit::Line,
            number,
        }
    }

    /// A row of the source named `name`, which has no lines.
    pub(crate) fn row(name: &'a str, number: usize) -> Self {
        Self {
            name,
            unit: Unit::Row,
            number,
        }
    }

    /// The name of the source.
    pub(crate) fn name(self) -> &'a str {
        self.name
    }

    /// The unit of this place.
    pub(crate) fn unit(self) -> Unit {
        self.unit
    }

    /// An error of the request: the content here is not what it should be.
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
