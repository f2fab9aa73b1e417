//! CSV and TSV: a header, then rows with the same number of fields, quoted where necessary. Blank lines are not rows.

use csv::{ErrorKind, Position, ReaderBuilder, StringRecord};
use serde_json::{Map, Value as Json};
use teda_core::{Error, Result, shown};

use super::quotes;
use crate::columns::{Column, Holds};
use crate::intake::{Field, Intake, Value};
use crate::place::Place;

/// Reads every row of `content`, the content of `file`, whose fields are separated by `delimiter`.
///
/// # Errors
/// Usage, for a header without the columns and, with its line, for a row that does not match the header.
pub(super) fn read<const N: usize>(
    file: &str,
    content: &str,
    delimiter: u8,
    intake: &mut impl Intake<N>,
) -> Result<()> {
    // Before the check of quotes, which would find those of JSON wrong.
    refuse_json(file, content)?;
    quotes::check(file, content, delimiter)?;
    let mut reader = ReaderBuilder::new()
        .delimiter(delimiter)
        .from_reader(content.as_bytes());
    let mut lines = Lines::new(content);
    let header = match reader.headers() {
        Ok(header) => header.clone(),
        Err(error) => return refuse(file, &error, &mut lines),
    };
    if header.is_empty() {
        return Ok(());
    }
    if intake.asked().is_none() {
        suspect(file, &header, delimiter)?;
    }
    let columns: Vec<Column<'_>> = header
        .iter()
        .map(|name| Column {
            name,
            holds: Holds::Strings,
        })
        .collect();
    let chosen = intake.choose(file, &columns)?.map(|name| {
        header
            .iter()
            .position(|column| Some(column) == name.as_deref())
    });
    let mut record = StringRecord::new();
    loop {
        match reader.read_record(&mut record) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(error) => return refuse(file, &error, &mut lines),
        }
        let line = record.position().map_or(0, |position| lines.of(position));
        let row = chosen.map(|column| match column {
            Some(column) => Field {
                name: &header[column],
                value: Value::Text(&record[column]),
            },
            None => Field::MISSING,
        });
        intake.take(row, Place::line(file, line))?;
    }
}

/// Refuses JSON lines, whose first object would be taken for a header.
fn refuse_json(file: &str, content: &str) -> Result<()> {
    let first = content.lines().next().unwrap_or_default();
    if serde_json::from_str::<Map<String, Json>>(first).is_err() {
        return Ok(());
    }
    Place::line(file, 1).refuse(
        "the header is a JSON object, as in a file of JSON lines: end the file's name in '.jsonl'",
    )
}

/// Refuses the one-column header that a file with other separators gives: reading on would give texts, but wrong ones.
fn suspect(file: &str, header: &StringRecord, delimiter: u8) -> Result<()> {
    let first = &header[0];
    let instead = if header.len() > 1 {
        return Ok(());
    } else if delimiter == b',' && first.contains('\t') {
        "separated by tabs: end the file's name in '.tsv'"
    } else if delimiter == b',' && first.contains(';') {
        "separated by semicolons: separate by commas instead"
    } else if delimiter == b'\t' && first.contains(',') {
        "separated by commas: end the file's name in '.csv'"
    } else {
        return Ok(());
    };
    Place::line(file, 1).refuse(format_args!(
        "the header '{}' looks like that of a file {instead}",
        shown(first)
    ))
}

fn refuse(file: &str, error: &csv::Error, lines: &mut Lines<'_>) -> Result<()> {
    match error.kind() {
        ErrorKind::UnequalLengths {
            pos: Some(position),
            expected_len,
            len,
        } => Place::line(file, lines.of(position)).refuse(format_args!(
            "the row has {len} fields and the header {expected_len}: quote fields with separators or line ends \
             in them, or fix the row"
        )),
        _ => Err(Error::failed(format!("cannot read '{file}': {error}"))),
    }
}

/// Lines of records. The csv crate's own are those of the byte after the previous record, which with CRLF or blank
/// lines is on an earlier line.
struct Lines<'a> {
    content: &'a str,
    byte: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    fn new(content: &'a str) -> Self {
        Self {
            content,
            byte: 0,
            line: 1,
        }
    }

    /// Line on which the record at `position` begins; positions must not decrease.
    fn of(&mut self, position: &Position) -> usize {
        let bytes = self.content.as_bytes();
        let at = usize::try_from(position.byte()).map_or(bytes.len(), |at| at.min(bytes.len()));
        let blank = bytes[at..]
            .iter()
            .take_while(|byte| matches!(byte, b'\r' | b'\n'))
            .count();
        let passed = &bytes[self.byte..at + blank];
        self.line += passed.iter().filter(|byte| **byte == b'\n').count();
        self.byte = at + blank;
        self.line
    }
}
