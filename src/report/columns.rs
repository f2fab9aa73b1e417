//! Text in columns, without frames: readable in a log file, a diff and a narrow terminal.

use comfy_table::{Table, presets};
use teda_core::plain;

/// An empty table with a header.
#[must_use]
pub fn table<const N: usize>(header: [&str; N]) -> Table {
    of(header)
}

/// An empty table with as many columns as the header has.
#[must_use]
pub fn of<'a>(header: impl IntoIterator<Item = &'a str>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    table
}

/// The table's lines without trailing blanks, each ended by a line feed. Control characters are escaped.
#[must_use]
pub fn lines(table: &Table) -> String {
    table.lines().fold(String::new(), |text, line| {
        text + &plain(line.trim_end()) + "\n"
    })
}
