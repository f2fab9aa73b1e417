//! JSON lines: an object or a plain string per line. Blank lines are not rows.

use std::fmt;

use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value as Json};
use teda_core::{Result, shown};

use crate::columns::{Column, Holds};
use crate::intake::{Field, Intake, Value};
use crate::place::Place;

/// Reads every line of `content`, the content of `file`. The columns are chosen by the first object.
///
/// # Errors
/// Usage, with the invalid line.
pub(super) fn read<const N: usize>(
    file: &str,
    content: &str,
    intake: &mut impl Intake<N>,
) -> Result<()> {
    let mut chosen: Option<[Option<String>; N]> = None;
    for (number, line) in (1..).zip(content.lines()) {
        let place = Place::line(file, number);
        if line.trim().is_empty() {
            continue;
        }
        match value_of(line) {
            Ok(Json::Object(row)) => {
                let chosen = match &chosen {
                    Some(chosen) => chosen,
                    None => chosen.insert(intake.choose(file, &columns(&row))?),
                };
                let fields = chosen.each_ref().map(|name| match name {
                    Some(name) => Field {
                        name,
                        value: row.get(name).map_or(Value::Missing, value),
                    },
                    None => Field::MISSING,
                });
                intake.take(fields, place)?;
            }
            Ok(Json::String(text)) => intake.take_plain(&text, place)?,
            Ok(Json::Array(_)) => {
                return place.refuse(
                    "this is an array, not one object or string a line: write each element on a line of its \
                     own, for example with jq -c '.[]'",
                );
            }
            Ok(other) => {
                return place.refuse(format_args!(
                    "this is {}, not an object or a string",
                    value(&other)
                ));
            }
            // Any value can be read as one, so an error about data comes from [`Row`].
            Err(error) if error.is_data() => {
                let said = error.to_string();
                let said = said.split(" at line ").next().unwrap_or_default();
                return place.refuse(format_args!(
                    "{said}: it is unclear which value is meant; write each key once"
                ));
            }
            Err(error) => {
                let column = error.column();
                // The error's own place is "line 1" of the line.
                let said = error.to_string();
                let said = said.split(" at line ").next().unwrap_or_default();
                return place.refuse(format_args!(
                    "this is not JSON (column {column}: {said}); every line must be a whole value"
                ));
            }
        }
    }
    Ok(())
}

/// The value of a line. An object must have every key once: of two, serde_json would silently keep the last.
fn value_of(line: &str) -> serde_json::Result<Json> {
    match line.trim_start().starts_with('{') {
        true => serde_json::from_str(line).map(|Row(fields)| Json::Object(fields)),
        false => serde_json::from_str(line),
    }
}

/// The fields of an object, each of which occurs once.
struct Row(Map<String, Json>);

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Row;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Row, A::Error> {
        let mut fields = Map::new();
        while let Some((key, value)) = map.next_entry::<String, Json>()? {
            if fields.contains_key(&key) {
                let key = shown(&key);
                return Err(A::Error::custom(format_args!(
                    "the key '{key}' is given twice"
                )));
            }
            fields.insert(key, value);
        }
        Ok(Row(fields))
    }
}

/// The columns, from the fields of the first object.
fn columns(row: &Map<String, Json>) -> Vec<Column<'_>> {
    row.iter()
        .map(|(name, value)| Column {
            name,
            // A null may be a string in the next row.
            holds: match value {
                Json::String(_) | Json::Null => Holds::Strings,
                _ => Holds::Anything,
            },
        })
        .collect()
}

fn value(json: &Json) -> Value<'_> {
    match json {
        Json::Null => Value::Null,
        Json::Bool(_) => Value::Other("a truth value"),
        // A number beyond all floats is invalid JSON to serde_json, so there is always a value.
        Json::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
        Json::String(text) => Value::Text(text),
        Json::Array(_) => Value::Other("an array"),
        Json::Object(_) => Value::Other("an object"),
    }
}
