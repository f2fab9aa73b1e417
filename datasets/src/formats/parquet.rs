//! Parquet, of which only the columns needed are read.

use std::io::Cursor;

use teda_core::{Error, Result, shown};
use teda_parquet::arrow::array::Array;
use teda_parquet::{Broken, Footer};

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
    let footer =
        Footer::plain(&mut Cursor::new(bytes)).map_err(|error| broken(file, &error.to_string()))?;
    let kinds: Vec<(String, Kind)> = footer
        .fields()
        .map(|field| (field.name.to_string(), Kind::of(field.dtype())))
        .collect();
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
    let names: Vec<&str> = wanted.iter().map(|column| &*kinds[*column].0).collect();
    limits.check_input(file, "unpacks to", unpacked(&footer, &names))?;
    let mut number = 0;
    for group in 0..footer.groups().len() {
        let values: Vec<Box<dyn Array>> = names
            .iter()
            .map(|name| footer.column(&mut Cursor::new(bytes), group, name, None))
            .collect::<teda_parquet::Result<_>>()
            .map_err(|error| located(file, bytes, &footer, &names, &error))?;
        let read = |column: usize| {
            let place = wanted.iter().position(|wanted| *wanted == column)?;
            Some(&*values[place])
        };
        let mut cells = chosen
            .iter()
            .map(|column| cells(column.map(|column| &kinds[column]), column.and_then(read)))
            .collect::<teda_parquet::Result<Vec<_>>>()
            .map_err(|error| broken(file, &error.to_string()))?;
        for _ in 0..footer.groups()[group].num_rows() {
            number += 1;
            let row = std::array::from_fn(|column| cells[column].next().unwrap_or(Field::MISSING));
            intake.take(row, Place::row(file, number))?;
        }
    }
    Ok(())
}

/// Bytes that these columns take once they are read, according to the file: those of their pages, and for each value
/// those of the pointer to it. (A page that is larger than the file says is detected when it is read.)
fn unpacked(footer: &Footer, columns: &[&str]) -> u64 {
    /// Bytes per string in memory, besides its content.
    const VIEW: u64 = 16;
    let mut size = 0_u64;
    for group in footer.groups() {
        for column in columns {
            let chunks = group.columns_under_root_iter(column).into_iter().flatten();
            let pages = chunks.map(|chunk| u64::try_from(chunk.uncompressed_size()).unwrap_or(0));
            let views = (group.num_rows() as u64).saturating_mul(VIEW);
            size = pages.fold(size.saturating_add(views), u64::saturating_add);
        }
    }
    size
}

/// The error on reading `columns`, with the row if it is about the row's UTF-8.
fn located(file: &str, bytes: &[u8], footer: &Footer, columns: &[&str], error: &Broken) -> Error {
    let message = error.to_string();
    if !message.contains("UTF-8") {
        return broken(file, &message);
    }
    // The largest number of first rows known to be readable, and the smallest known not to be. Values are checked page
    // by page, so the row found is at worst the first row of the page.
    let (mut readable, mut unreadable) = (0, footer.rows());
    while readable + 1 < unreadable {
        let middle = readable.midpoint(unreadable);
        match are_readable(bytes, footer, columns, middle) {
            true => readable = middle,
            false => unreadable = middle,
        }
    }
    Error::usage(format!(
        "'{file}', row {unreadable} or a later one: a string is not UTF-8: write the file again from texts in \
         UTF-8"
    ))
}

/// Whether the first `rows` rows can be read.
fn are_readable(bytes: &[u8], footer: &Footer, columns: &[&str], rows: usize) -> bool {
    let mut before = 0;
    (0..footer.groups().len()).all(|group| {
        let first = rows.saturating_sub(before);
        before += footer.groups()[group].num_rows();
        let read = |name: &&str| footer.column(&mut Cursor::new(bytes), group, name, Some(first));
        first == 0 || columns.iter().all(|name| read(name).is_ok())
    })
}

fn broken(file: &str, message: &str) -> Error {
    Error::failed(format!(
        "'{file}' is a broken Parquet file ({}): copy, download or write it again",
        shown(message)
    ))
}
