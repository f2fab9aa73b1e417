//! The intake of a data set: takes the text of each row in the requested split.

use teda_core::{Error, Result};

use crate::columns::{self, Column, Holds};
use crate::intake::{Field, Intake, Value};
use crate::place::{Place, Unit};
use crate::selection::Selection;
use crate::splits::{self, Splits};

/// The state of reading a data set.
pub(crate) struct Texts<'a> {
    /// The column that was asked for.
    pub(crate) column: Option<&'a str>,
    /// The filter on splits.
    pub(crate) splits: Splits<'a>,
    /// The other filters, and the texts so far.
    pub(crate) selection: Selection,
}

impl Texts<'_> {
    /// What was selected from `file`, once it is read to the end.
    ///
    /// # Errors
    /// Usage, if there is no row of the requested split.
    pub(crate) fn finish(self, file: &str) -> Result<Selection> {
        self.splits.finish(file)?;
        Ok(self.selection)
    }
}

impl Intake<2> for Texts<'_> {
    fn asked(&self) -> Option<&str> {
        self.column
    }

    /// The text, and the split if one is requested.
    fn choose(&self, file: &str, columns: &[Column<'_>]) -> Result<[Option<String>; 2]> {
        let text = columns::choose(file, self.column, columns)?;
        // Without strings it cannot hold names of splits, whatever it is called.
        let unusable = |column: &Column<'_>| {
            column.name == splits::FIELD && column.holds == Holds::OtherThings
        };
        let split = self.splits.wanted().is_some() && !columns.iter().any(unusable);
        Ok([
            Some(text.to_owned()),
            split.then(|| splits::FIELD.to_owned()),
        ])
    }

    fn take(&mut self, [text, split]: [Field<'_>; 2], place: Place<'_>) -> Result<()> {
        let split = match split.value {
            Value::Text(split) => Some(split),
            Value::Missing | Value::Null => None,
            other => {
                return place.refuse(format_args!(
                    "field '{}' is {other}, not a string, so no split can be chosen by it",
                    splits::FIELD
                ));
            }
        };
        // The split first: rows of other splits need no text.
        if !self.splits.admits(split) {
            return Ok(());
        }
        // A column of strings is fixed as a whole.
        if matches!(text.value, Value::Null) && place.unit() == Unit::Row {
            return place.refuse("the text is null: remove such rows, or write an empty string");
        }
        self.selection.push(text.text(place)?, place)
    }

    fn allow_plain_text(&self, file: &str) -> Result<()> {
        if let Some(column) = self.column {
            return Err(Error::usage(format!(
                "'{file}' is plain text, one text a line, and has no column '{column}': leave ':{column}' out"
            )));
        }
        if let Some(split) = self.splits.wanted() {
            return Err(Error::usage(format!(
                "'{file}' is plain text, one text a line, and has no splits: leave out the split '{split}'"
            )));
        }
        Ok(())
    }

    fn take_plain(&mut self, text: &str, place: Place<'_>) -> Result<()> {
        if let Some(column) = self.column {
            return place.refuse(format_args!(
                "this is a plain string, not an object with a field '{column}'"
            ));
        }
        if !self.splits.admits(None) {
            return Ok(());
        }
        self.selection.push(text, place)
    }
}
