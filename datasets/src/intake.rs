//! What a reader of a format hands over, and who takes it: the one thing that all formats share.

use std::fmt;

use teda_core::{Result, shown};

use crate::columns::Column;
use crate::place::Place;

/// Takes the rows of a source, and of each row the fields of `N` columns.
pub(crate) trait Intake<const N: usize> {
    /// The column that the user named, where one was.
    fn asked(&self) -> Option<&str> {
        None
    }

    /// The names of the columns to hand over, given those of `file`; none where a column is not wanted. One
    /// that rows may lack can be named without being among `columns`.
    ///
    /// # Errors
    /// Usage, where a column is missing or there is a choice.
    fn choose(&self, file: &str, columns: &[Column<'_>]) -> Result<[Option<String>; N]>;

    /// Takes the chosen fields of one row.
    ///
    /// # Errors
    /// Usage, with the place, for a field that is not as it should be.
    fn take(&mut self, row: [Field<'_>; N], place: Place<'_>) -> Result<()>;

    /// Whether `file` may be plain text, whose rows have no columns.
    ///
    /// # Errors
    /// Usage, where columns are needed.
    fn allow_plain_text(&self, file: &str) -> Result<()>;

    /// Takes a row that is a text and has no columns.
    ///
    /// # Errors
    /// Usage, with the place, where columns are needed or the text is not as it should be.
    fn take_plain(&mut self, text: &str, place: Place<'_>) -> Result<()>;
}

/// What one row has in one column.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    /// The column's name.
    pub(crate) name: &'a str,
    pub(crate) value: Value<'a>,
}

/// A value of any format.
#[derive(Clone, Copy)]
pub(crate) enum Value<'a> {
    /// The row has no such field.
    Missing,
    Null,
    Text(&'a str),
    Number(f64),
    /// Something that nobody wants, in words.
    Other(&'static str),
}

impl<'a> Field<'a> {
    /// The field of a column that is not there or not wanted.
    pub(crate) const MISSING: Self = Self {
        name: "",
        value: Value::Missing,
    };

    /// The string that this is.
    ///
    /// # Errors
    /// Usage, with the place, where it is none.
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

/// What kind of value it is.
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
