//! Text in columns, without frames: it survives a log file, a diff and a narrow terminal.

use comfy_table::{Table, presets};
use teda_core::plain;

/// An empty table under a header.
#[must_use]
pub fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    table
}

/// The table's lines without trailing blanks, ended by a line feed. Nothing in them steers a terminal.
#[must_use]
pub fn lines(table: &Table) -> String {
    table.lines().fold(String::new(), |text, line| {
        text + &plain(line.trim_end()) + "\n"
    })
}
