//! Which column holds the texts.

use teda_core::{Error, Result};

use crate::splits;

/// The column taken when none is asked for.
pub(crate) const DEFAULT: &str = "text";

/// A column of a file.
pub(crate) struct Column<'a> {
    /// Its name in the file.
    pub(crate) name: &'a str,
    /// Whether it holds strings.
    pub(crate) text: bool,
}

/// Index of the column to read: the one `asked` for, else `text`, else the only one with strings. A column
/// `split` says where a row belongs and is not taken for the text unless asked for.
///
/// # Errors
/// Usage, with the columns that there are; `file` is for messages.
pub(crate) fn choose(file: &str, asked: Option<&str>, columns: &[Column<'_>]) -> Result<usize> {
    let named = |name: &str| {
        let mut found = (0..columns.len()).filter(|i| columns[*i].name == name);
        (found.next(), found.next().is_some())
    };
    let names = || -> Vec<&str> { columns.iter().map(|column| column.name).collect() };
    let name = asked.unwrap_or(DEFAULT);
    match named(name) {
        (Some(_), true) => Err(Error::usage(format!(
            "'{file}' has more than one column '{name}': rename one"
        ))),
        (Some(index), false) if columns[index].text => Ok(index),
        (Some(_), false) => Err(Error::usage(format!(
            "column '{name}' of '{file}' does not hold strings: name one that does, as in '{file}:COLUMN'. \
             Columns: {}",
            names().join(", ")
        ))),
        (None, _) if asked.is_some() => {
            Err(Error::unknown("column", name, &names()).context(format!("'{file}'")))
        }
        (None, _) => {
            let mut strings = (0..columns.len())
                .filter(|i| columns[*i].text && columns[*i].name != splits::FIELD);
            match (strings.next(), strings.next()) {
                (Some(only), None) => Ok(only),
                (Some(_), Some(_)) => Err(Error::usage(format!(
                    "'{file}' has no column '{DEFAULT}' and more than one other with strings: say which, as in \
                     '{file}:COLUMN'. Columns: {}",
                    names().join(", ")
                ))),
                (None, _) => Err(Error::usage(format!(
                    "'{file}' has no column with strings. Columns: {}",
                    names().join(", ")
                ))),
            }
        }
    }
}
