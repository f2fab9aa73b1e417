//! The columns of a file, and which of them holds the texts.

use teda_core::{Error, Result, listed};

use crate::splits;

/// The default column.
const DEFAULT: &str = "text";

/// A column of a file.
pub(crate) struct Column<'a> {
    /// Its name in the file.
    pub(crate) name: &'a str,
    /// The kind of its values.
    pub(crate) holds: Holds,
}

/// The kind of a column's values, as far as it is known before they are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holds {
    Strings,
    /// Never strings.
    OtherThings,
    /// Perhaps strings, perhaps not: every value is checked where it is.
    Anything,
}

/// Name of the column to read: the one `asked` for, or else `text`, or else the only one with strings. A column
/// `split` names a row's split and is not taken for the text unless asked for.
///
/// # Errors
/// Usage, listing the existing columns; `file` is for messages.
pub(crate) fn choose<'c>(
    file: &str,
    asked: Option<&str>,
    columns: &[Column<'c>],
) -> Result<&'c str> {
    let name = asked.unwrap_or(DEFAULT);
    match named(file, name, columns)? {
        Some(column) if column.holds != Holds::OtherThings => Ok(column.name),
        Some(_) => Err(Error::usage(format!(
            "column '{name}' of '{file}' does not hold strings: name one that does, as in '{file}:COLUMN'. \
             Columns: {}",
            names(columns)
        ))),
        None if asked.is_some() => {
            let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
            Err(Error::unknown_in_file("column", name, &names).context(format!("'{file}'")))
        }
        None => only(file, columns),
    }
}

/// The column named `name`, if there is one.
///
/// # Errors
/// Usage, if there are several.
pub(crate) fn named<'c, 'n>(
    file: &str,
    name: &str,
    columns: &'c [Column<'n>],
) -> Result<Option<&'c Column<'n>>> {
    let mut found = columns.iter().filter(|column| column.name == name);
    match (found.next(), found.next()) {
        (_, Some(_)) => Err(Error::usage(format!(
            "'{file}' has more than one column '{name}': rename one"
        ))),
        (column, None) => Ok(column),
    }
}

/// The names of `columns`, for messages.
pub(crate) fn names(columns: &[Column<'_>]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    listed(&names)
}

/// Name of the only column with strings.
fn only<'c>(file: &str, columns: &[Column<'c>]) -> Result<&'c str> {
    let mut strings = columns
        .iter()
        .filter(|column| column.holds == Holds::Strings && column.name != splits::FIELD);
    match (strings.next(), strings.next()) {
        (Some(only), None) => Ok(only.name),
        (Some(_), Some(_)) => Err(Error::usage(format!(
            "'{file}' has no column '{DEFAULT}' and more than one other with strings: say which, as in \
             '{file}:COLUMN'. Columns: {}",
            names(columns)
        ))),
        (None, _) => Err(Error::usage(format!(
            "'{file}' has no column with strings. Columns: {}",
            names(columns)
        ))),
    }
}
