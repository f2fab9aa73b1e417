//! Parquet, of which only the column with the texts (and the one with the splits) is read.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use polars::prelude::{
    ArrowDataType, DataFrame, ParallelStrategy, ParquetReader, PolarsResult, SerReader,
};
use teda_core::{Error, Result};

use crate::bytes;
use crate::columns::{self, Column};
use crate::intake::Intake;
use crate::splits;

/// Reads every row of the file that `bytes` are.
///
/// # Errors
/// Usage, for a file that is not Parquet, has no such column, or a null or something not UTF-8 in it; failed,
/// for a broken one.
pub(super) fn read(bytes: &[u8], intake: &mut Intake<'_>) -> Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    if !bytes::begins_as_parquet(bytes) {
        return Err(Error::usage(format!(
            "'{}' is not Parquet, whatever its name says: end its name in that of its format",
            intake.name
        )));
    }
    if !bytes::is_parquet(bytes) {
        return Err(broken(intake.name, "it ends too early"));
    }
    let columns = guarded(|| columns(bytes)).map_err(|error| broken(intake.name, &error))?;
    let described: Vec<Column<'_>> = columns
        .iter()
        .map(|(name, text)| Column { name, text: *text })
        .collect();
    let text = columns::choose(intake.name, intake.column, &described)?;
    let split = match intake.splits.wanted() {
        Some(_) => described
            .iter()
            .position(|c| c.text && c.name == splits::FIELD),
        None => None,
    };
    let mut wanted = vec![text];
    wanted.extend(split.filter(|split| *split != text));
    wanted.sort_unstable();
    let frame = guarded(|| frame(bytes, &wanted, usize::MAX))
        .map_err(|error| located(bytes, &wanted, &error, intake))?;
    push(&frame, described[text].name, split.is_some(), intake)
        .map_err(|error| broken(intake.name, &error.to_string()))?
}

/// Names of the columns, and whether they hold strings.
fn columns(bytes: &[u8]) -> PolarsResult<Vec<(String, bool)>> {
    let schema = reader(bytes)?.schema()?;
    Ok(schema
        .iter()
        .map(|(name, field)| (name.to_string(), *field.dtype() == ArrowDataType::Utf8View))
        .collect())
}

/// The `columns`, by ascending index, of the first `rows` rows.
fn frame(bytes: &[u8], columns: &[usize], rows: usize) -> PolarsResult<DataFrame> {
    reader(bytes)?
        .with_projection(Some(columns.to_vec()))
        .with_slice(Some((0, rows)))
        .read_parallel(ParallelStrategy::None)
        .finish()
}

fn reader(bytes: &[u8]) -> PolarsResult<ParquetReader<Cursor<&[u8]>>> {
    let mut reader = ParquetReader::new(Cursor::new(bytes));
    let mut metadata = (**reader.get_metadata()?).clone();
    // Without the writer's own notes, which can make something else of a string (a pandas category, say), a
    // string is a string.
    metadata.key_value_metadata = None;
    reader.set_metadata(Arc::new(metadata));
    Ok(reader)
}

/// Pushes the rows of `frame`. The outer error is that of polars, the inner one that of a row.
fn push(
    frame: &DataFrame,
    text: &str,
    split: bool,
    intake: &mut Intake<'_>,
) -> PolarsResult<Result<()>> {
    let texts = frame.column(text)?.str()?;
    let splits = match split {
        true => Some(frame.column(splits::FIELD)?.str()?),
        false => None,
    };
    for (index, text) in texts.iter().enumerate() {
        let split = splits.and_then(|splits| splits.get(index));
        if !intake.splits.admits(split) {
            continue;
        }
        let place = intake.row(index + 1);
        let pushed = match text {
            Some(text) => intake.selection.push(text, place),
            None => place.refuse("the text is null: remove such rows, or write an empty string"),
        };
        if pushed.is_err() {
            return Ok(pushed);
        }
    }
    Ok(Ok(()))
}

/// The error for `message` on reading `columns`, with the row where that is about its UTF-8.
fn located(bytes: &[u8], columns: &[usize], message: &str, intake: &Intake<'_>) -> Error {
    let rows = match guarded(|| reader(bytes)?.num_rows()) {
        Ok(rows) if message.contains("UTF-8") => rows,
        _ => return broken(intake.name, message),
    };
    // The first rows that can be read, and that cannot. Values are checked by the page, so what is found is
    // the first row of the page at worst.
    let (mut readable, mut unreadable) = (0, rows);
    while readable + 1 < unreadable {
        let middle = readable.midpoint(unreadable);
        match guarded(|| frame(bytes, columns, middle)) {
            Ok(_) => readable = middle,
            Err(_) => unreadable = middle,
        }
    }
    Error::usage(format!(
        "'{}', row {unreadable} or a later one: a string is not UTF-8: write the file again from texts in \
         UTF-8",
        intake.name
    ))
}

/// Runs `read`, and makes an error of a panic: polars indexes by numbers from the file, so a broken one can
/// send it out of bounds. (Where such a number is the size of an allocation, the process still ends.)
fn guarded<T>(read: impl FnOnce() -> PolarsResult<T>) -> std::result::Result<T, String> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err("its parts do not fit together".to_owned()),
    }
}

fn broken(name: &str, message: &str) -> Error {
    Error::failed(format!(
        "'{name}' is a broken Parquet file ({message}): copy, download or write it again"
    ))
}
