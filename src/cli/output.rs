//! Standard output: what was asked for, and an orderly end where nobody reads it. Standard error: what is said beside it.
//!
//! A terminal obeys what it is shown: whatever goes to one passes through [`plain_lines`]. What is piped goes on as it is.

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;

use clap::ValueEnum;
use teda_core::{Error, Result, plain_lines};
use teda_results::{Cell, Document, UtilityCell, cells_csv};

use teda::report::{table, utilities, warnings};

use super::interrupt::interrupt;

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Table,
    /// One document (schema `teda.audit/1` for audits).
    Json,
    /// One line a cell.
    Csv,
}

/// Writes `text` to standard output. A reader that has gone away (`| head`) is no error.
///
/// # Errors
/// Failed, if it cannot be written.
pub fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let text = match out.is_terminal() {
        true => plain_lines(text),
        false => text.into(),
    };
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(e) => Err(Error::failed(format!(
            "cannot write to standard output: {e}"
        ))),
        Ok(()) => Ok(()),
    }
}

/// A line for the user on standard error. Where nobody reads it any more the command ends as by an interrupt.
pub fn say(line: impl std::fmt::Display) {
    if let Err(e) = writeln!(std::io::stderr(), "{}", plain_lines(&line.to_string()))
        && e.kind() == ErrorKind::BrokenPipe
    {
        interrupt().reader_left();
    }
}

/// The cells of the run in `directory` with its utilities, as they are printed; as CSV the cells alone.
///
/// # Errors
/// Failed, if a number cannot be written.
pub fn cells(
    format: Format,
    directory: &Path,
    cells: Vec<Cell>,
    measured: Vec<UtilityCell>,
) -> Result<String> {
    match format {
        Format::Table if measured.is_empty() => Ok(table::render(&cells)),
        Format::Table => Ok(table::render(&cells) + "\n" + &utilities::render(&measured)),
        Format::Csv => cells_csv::to_string(&cells),
        Format::Json => {
            let document = Document::new(Some(directory.display().to_string()), cells);
            Ok(document.with_utilities(measured).to_line()? + "\n")
        }
    }
}

/// Warns on standard error of failures that a user must not overlook.
pub fn warn(cells: &[Cell]) {
    for line in warnings::lines(cells) {
        say(line);
    }
}
