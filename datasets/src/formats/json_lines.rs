//! JSON lines: an object or a plain string a line. Blank lines hold no row.

use serde_json::{Map, Value};
use teda_core::Result;

use crate::columns::{self, Column};
use crate::intake::{Intake, Place};
use crate::splits;

/// Reads every line of `content`. The first object decides the column, and every other one must have it.
///
/// # Errors
/// Usage, with the line that is not as it should be.
pub(super) fn read(content: &str, intake: &mut Intake<'_>) -> Result<()> {
    let mut column: Option<String> = None;
    for (number, line) in (1..).zip(content.lines()) {
        let place = intake.line(number);
        if line.trim().is_empty() {
            continue;
        }
        match serde_json::from_str(line) {
            Ok(Value::Object(row)) => {
                let column = match &column {
                    Some(column) => column,
                    None => column.insert(choose(&row, intake)?),
                };
                if intake.splits.wanted().is_none() || intake.splits.admits(split(&row, place)?) {
                    intake.selection.push(text(&row, column, place)?, place)?;
                }
            }
            Ok(Value::String(text)) => {
                if let Some(column) = intake.column {
                    return place.refuse(format_args!(
                        "this is a plain string, not an object with a field '{column}'"
                    ));
                }
                if intake.splits.admits(None) {
                    intake.selection.push(&text, place)?;
                }
            }
            Ok(Value::Array(_)) => {
                return place.refuse(
                    "this is an array, not one object or string a line: write each element on a line of its \
                     own, for example with jq -c '.[]'",
                );
            }
            Ok(other) => {
                return place.refuse(format_args!(
                    "this is {}, not an object or a string",
                    kind(&other)
                ));
            }
            Err(error) => {
                let column = error.column();
                // Its own place is "line 1" of the line.
                let said = error.to_string();
                let said = said.split(" at line ").next().unwrap_or_default();
                return place.refuse(format_args!(
                    "this is not JSON (column {column}: {said}); every line is to be a whole value"
                ));
            }
        }
    }
    Ok(())
}

/// The column by the fields of the first object.
fn choose(row: &Map<String, Value>, intake: &Intake<'_>) -> Result<String> {
    let named = intake.column.unwrap_or(columns::DEFAULT);
    let columns: Vec<Column<'_>> = row
        .iter()
        .map(|(name, value)| Column {
            name,
            // A null may be a string in the next row. What the column to read holds is checked with its line.
            text: value.is_string() || value.is_null() || name == named,
        })
        .collect();
    let index = columns::choose(intake.name, intake.column, &columns)?;
    Ok(columns[index].name.to_owned())
}

fn text<'a>(row: &'a Map<String, Value>, column: &str, place: Place<'_>) -> Result<&'a str> {
    match row.get(column) {
        Some(Value::String(text)) => Ok(text),
        Some(other) => place.refuse(format_args!(
            "field '{column}' is {}, not a string: mend or remove the line",
            kind(other)
        )),
        None => place.refuse(format_args!(
            "there is no field '{column}': add it or remove the line"
        )),
    }
}

fn split<'a>(row: &'a Map<String, Value>, place: Place<'_>) -> Result<Option<&'a str>> {
    match row.get(splits::FIELD) {
        Some(Value::String(split)) => Ok(Some(split)),
        None | Some(Value::Null) => Ok(None),
        Some(other) => place.refuse(format_args!(
            "field '{}' is {}, not a string, so no split can be chosen by it",
            splits::FIELD,
            kind(other)
        )),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
