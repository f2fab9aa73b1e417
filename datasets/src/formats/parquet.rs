//! Parquet, of which only the columns needed are read.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use polars::prelude::{DataFrame, ParallelStrategy, ParquetReader, PolarsResult, SerReader};
use teda_core::{Error, Result, shown};

use super::cells::{Kind, cells};
use crate::bytes;
use crate::columns::{Column, Holds};
use crate::intake::{Field, Intake};
use crate::limits::Limits;
use crate::place::Place;

/// Reads every row of the file with content `bytes`.
///
/// # Errors
/// Usage, for a file that is not Parquet, lacks columns, unpacks to too much, or has a value in one that is not UTF-8,
/// and for rows that `intake` refuses; failed, if it is broken.
pub(super) fn read<const N: usize>(
    file: &str,
    bytes: &[u8],
    limits: Limits,
    intake: &mut impl Intake<N>,
) -> Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    if !bytes::begins_as_parquet(bytes) {
        return Err(Error::usage(format!(
            "'{file}' is not Parquet, whatever its name says: end its name in that of its format"
        )));
    }
    if !bytes::is_parquet(bytes) {
        return Err(broken(file, "it ends too early"));
    }
    let kinds = guarded(|| kinds(bytes)).map_err(|error| broken(file, &error))?;
    let columns: Vec<Column<'_>> = kinds
        .iter()
        .map(|(name, kind)| Column {
            name,
            holds: match kind {
                Kind::Text => Holds::Strings,
                _ => Holds::OtherThings,
            },
        })
        .collect();
    let chosen = intake.choose(file, &columns)?.map(|name| {
        kinds
            .iter()
            .position(|(column, _)| Some(column) == name.as_ref())
    });
    let mut wanted: Vec<usize> = chosen.iter().flatten().copied().collect();
    wanted.retain(|column| kinds[*column].1.is_read());
    wanted.sort_unstable();
    wanted.dedup();
    let size = guarded(|| unpacked(bytes, wanted.iter().map(|column| &*kinds[*column].0)))
        .map_err(|error| broken(file, &error))?;
    limits.check_input(file, "unpacks to", size)?;
    guarded(|| pages(bytes, wanted.iter().map(|column| &*kinds[*column].0)))
        .and_then(|found| found)
        .map_err(|error| broken(file, &error))?;
    let frame = guarded(|| frame(bytes, &wanted, usize::MAX))
        .map_err(|error| located(file, bytes, &wanted, &error))?;
    let mut cells = chosen
        .iter()
        .map(|column| cells(&frame, column.map(|column| &kinds[column])))
        .collect::<PolarsResult<Vec<_>>>()
        .map_err(|error| broken(file, &error.to_string()))?;
    for number in 1..=frame.height() {
        let row = std::array::from_fn(|column| cells[column].next().unwrap_or(Field::MISSING));
        intake.take(row, Place::row(file, number))?;
    }
    Ok(())
}

/// Names of the columns, and what they hold.
fn kinds(bytes: &[u8]) -> PolarsResult<Vec<(String, Kind)>> {
    let schema = reader(bytes)?.schema()?;
    Ok(schema
        .iter()
        .map(|(name, field)| (name.to_string(), Kind::of(field.dtype())))
        .collect())
}

/// Bytes that these columns take once they are read, according to the file: those of their pages, and for each value
/// those of the pointer to it. (A page that is larger than the file says is detected when it is read.)
fn unpacked<'a>(bytes: &[u8], columns: impl Iterator<Item = &'a str>) -> PolarsResult<u64> {
    /// Bytes per string in memory, besides its content.
    const VIEW: u64 = 16;
    let mut reader = reader(bytes)?;
    let groups = &reader.get_metadata()?.row_groups;
    let mut size = 0_u64;
    for column in columns {
        for group in groups {
            let chunks = group.columns_under_root_iter(column).into_iter().flatten();
            let pages = chunks.map(|chunk| u64::try_from(chunk.uncompressed_size()).unwrap_or(0));
            let views = (group.num_rows() as u64).saturating_mul(VIEW);
            size = pages.fold(size.saturating_add(views), u64::saturating_add);
        }
    }
    Ok(size)
}

/// Checks that the pages of these columns can match what the file says about them.
fn pages<'a>(
    bytes: &[u8],
    columns: impl Iterator<Item = &'a str>,
) -> PolarsResult<std::result::Result<(), String>> {
    let mut reader = reader(bytes)?;
    let groups = &reader.get_metadata()?.row_groups;
    for column in columns {
        for group in groups {
            for chunk in group.columns_under_root_iter(column).into_iter().flatten() {
                let (range, values) = (chunk.byte_range(), chunk.num_values());
                if let Err(wrong) = super::pages::check(bytes, range, values, group.num_rows()) {
                    return Ok(Err(wrong));
                }
            }
        }
    }
    Ok(Ok(()))
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
    // Without the writer's own metadata, which can turn a string into something else (a pandas category, say), a
    // string is a string.
    metadata.key_value_metadata = None;
    reader.set_metadata(Arc::new(metadata));
    Ok(reader)
}

/// The error for `message` on reading `columns`, with the row if it is about the row's UTF-8.
fn located(file: &str, bytes: &[u8], columns: &[usize], message: &str) -> Error {
    let rows = match guarded(|| reader(bytes)?.num_rows()) {
        Ok(rows) if message.contains("UTF-8") => rows,
        _ => return broken(file, message),
    };
    // The largest number of first rows known to be readable, and the smallest known not to be. Values are checked page
    // by page, so the row found is at worst the first row of the page.
    let (mut readable, mut unreadable) = (0, rows);
    while readable + 1 < unreadable {
        let middle = readable.midpoint(unreadable);
        match guarded(|| frame(bytes, columns, middle)) {
            Ok(_) => readable = middle,
            Err(_) => unreadable = middle,
        }
    }
    Error::usage(format!(
        "'{file}', row {unreadable} or a later one: a string is not UTF-8: write the file again from texts in \
         UTF-8"
    ))
}

/// Runs `read`, and turns a panic into an error: polars indexes by numbers from the file, so a broken file can make it
/// go out of bounds. (If such a number is the size of an allocation, the process still ends.)
fn guarded<T>(read: impl FnOnce() -> PolarsResult<T>) -> std::result::Result<T, String> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err("its parts do not fit together".to_owned()),
    }
}

fn broken(file: &str, message: &str) -> Error {
    Error::failed(format!(
        "'{file}' is a broken Parquet file ({}): copy, download or write it again",
        shown(message)
    ))
}
