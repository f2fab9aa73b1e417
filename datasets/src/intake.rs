//! What a reader of a format hands over, and who receives it: the one thing that all formats share.

use std::fmt;

use teda_core::{Result, shown};

use crate::columns::Column;
use crate::place::Place;

/// Receives the rows of a source, with the fields of `N` columns for each row.
pub(crate) trait Intake<const N: usize> {
    /// The column that the user named, if any.
    fn asked(&self) -> Option<&str> {
        None
    }

    /// The names of the columns to hand over, given those of `file`; `None` for a column that is not needed. A column
    /// that rows may lack can be named without being among `columns`.
    ///
    /// # Errors
    /// Usage, if a column is missing or the choice is ambiguous.
    fn choose(&self, file: &str, columns: &[Column<'_>]) -> Result<[Option<String>; N]>;

    /// Takes the chosen fields of one row.
    ///
    /// # Errors
    /// Usage, with the place, for an invalid field.
    fn take(&mut self, row: [Field<'_>; N], place: Place<'_>) -> Result<()>;

    /// Whether `file` may be plain text, whose rows have no columns.
    ///
    /// # Errors
    /// Usage, if columns are needed.
    fn allow_plain_text(&self, file: &str) -> Result<()>;

    /// Takes a row that is a text and has no columns.
    ///
    /// # Errors
    /// Usage, with the place, if columns are needed or the text is invalid.
    fn take_plain(&mut self, text: &str, place: Place<'_>) -> Result<()>;
}

/// The value of one row in one column.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    /// The column's name.
    pub(crate) name: &'a str,
    pub(crate) value: Value<'a>,
}

/// A value in any format.
#[derive(Clone, Copy)]
pub(crate) enum Value<'a> {
    /// The row has no such field.
    Missing,
    Null,
    Text(&'a str),
    Number(f64),
    /// Something that is not needed, described in words.
    Other(&'static str),
}

impl<'a> Field<'a> {
    /// The field of a column that is missing or not needed.
    pub(crate) const MISSING: Self = Self {
        name: "",
        value: Value::Missing,
    };

    /// This value as a string.
    ///
    /// # Errors
    /// Usage, with the place, if it is not a string.
    pub(crate) fn text(self, place: Place<'_>) -> Result<&'a str> {
        let Self { name, value } = self;
        let unit = place.unit();
        match value {
            Value::Text(text) => Ok(text),
            Value::Missing => place.refuse(format_args!(
                "there is no field '{}': add it or remove the {unit}",
                shown(name)
            )),
            _ => place.refuse(format_args!(
                "field '{}' is {value}, not a string: fix or remove the {unit}",
                shown(name)
            )),
        }
    }
}

/// The kind of value.
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "missing",
            Self::Null => "null",
            Self::Text(_) => "a string",
            Self::Number(_) => "a number",
            Self::Other(kind) => kind,
        })
    }
}
