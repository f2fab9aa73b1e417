//! Standard output: what was asked for, and an orderly end where nobody reads it. Standard error: what is said beside it.
//!
//! A terminal obeys what it is shown: whatever goes to one passes through [`plain_lines`]. What is piped goes on as it is.

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;

use clap::ValueEnum;
use teda_core::{Error, Result, plain_lines};
use teda_results::{Cell, Document, UtilityCell, cells_csv};

use teda::report::columns::{Table, WIDTH, wrap, wrapped};
use teda::report::{table, utilities, warnings};

use super::color;
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
    /// A table for GitHub and the like.
    Markdown,
    /// A table for a paper (`booktabs`).
    Latex,
}

/// The narrowest terminal that lines are fitted to.
const NARROWEST: usize = 40;

/// The columns that standard output has for a table: those of the terminal, what COLUMNS says where there is none, else 80.
pub fn width() -> usize {
    let terminal = terminal_size::terminal_size_of(std::io::stdout());
    let said = || std::env::var("COLUMNS").ok()?.parse().ok();
    let width = terminal
        .map(|(width, _)| usize::from(width.0))
        .or_else(said);
    width
        .filter(|width| *width > 0)
        .unwrap_or(WIDTH)
        .max(NARROWEST)
}

/// A table as wide as standard output at most.
pub fn fitted(table: Table) -> String {
    wrapped(table, width())
}

/// Prose in lines as wide as standard output at most.
pub fn prose(text: &str) -> String {
    wrap(text, width())
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
    let line = line.to_string();
    let line = plain_lines(&line);
    // What is piped is left in one line each, for whoever searches it.
    let text = match terminal_size::terminal_size_of(std::io::stderr()) {
        Some((width, _)) if width.0 > 0 => wrap(&line, usize::from(width.0).max(NARROWEST)),
        _ => format!("{line}\n"),
    };
    if let Err(e) = std::io::stderr().write_all(color::first_word(&text).as_bytes())
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
    let both = |cells: String, measured: String| match &measured[..] {
        "" => cells,
        _ => cells + "\n" + &measured,
    };
    match format {
        Format::Table => Ok(both(
            table::render(&cells, width()),
            utilities::render(&measured, width()),
        )),
        Format::Markdown => Ok(both(
            table::markdown(&cells),
            utilities::markdown(&measured),
        )),
        Format::Latex => Ok(both(table::latex(&cells), utilities::latex(&measured))),
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
