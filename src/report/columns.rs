//! Text in columns, without frames, and prose beside it: readable in a log file, a diff and a narrow terminal.

pub use comfy_table::Table;
use comfy_table::{ColumnConstraint, ContentArrangement, Width, presets};
use teda_core::plain;
use textwrap::{Options, WordSplitter};
use unicode_width::UnicodeWidthStr;

/// The width of a terminal of which nothing is known.
pub const WIDTH: usize = 80;

/// Prose is hard to read in longer lines than these.
const PROSE: usize = 100;

/// An empty table with a header.
#[must_use]
pub fn table<const N: usize>(header: [&str; N]) -> Table {
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

/// Like [`lines`], with entries wrapped between words to fit `width` columns, if they do not.
#[must_use]
pub fn wrapped(mut table: Table, width: usize) -> String {
    let natural = lines(&table);
    if natural.lines().all(|line| width_of(line) <= width) {
        return natural;
    }
    let mut longest: Vec<usize> = vec![0; table.column_count()];
    for row in table.header().into_iter().chain(table.row_iter()) {
        for (longest, cell) in longest.iter_mut().zip(row.cell_iter()) {
            let words = cell.content();
            let words = words.split_whitespace().map(width_of);
            *longest = words.fold(*longest, usize::max);
        }
    }
    table
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width).unwrap_or(u16::MAX));
    for (column, longest) in table.column_iter_mut().zip(longest) {
        // With a blank on either side.
        let longest = u16::try_from(longest + 2).unwrap_or(u16::MAX);
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(longest)));
    }
    lines(&table)
}

/// Prose in lines of at most `width` columns, without a broken word. A line's own indentation is kept.
#[must_use]
pub fn wrap(text: &str, width: usize) -> String {
    let wrap = |line: &str| {
        let indent = &line[..line.len() - line.trim_start().len()];
        let options = Options::new(width.min(PROSE))
            .break_words(false)
            .word_splitter(WordSplitter::NoHyphenation)
            .initial_indent(indent)
            .subsequent_indent(indent);
        textwrap::fill(line.trim(), options) + "\n"
    };
    text.lines().map(wrap).collect()
}

/// The columns that a line takes on a terminal.
#[must_use]
pub fn width_of(line: &str) -> usize {
    line.width()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_wrapped_between_words_and_keeps_its_indentation() {
        let text = "one two three\n\n  four five six\n";
        assert_eq!(wrap(text, 9), "one two\nthree\n\n  four\n  five\n  six\n");
        assert_eq!(wrap("unbreakable-word", 5), "unbreakable-word\n");
    }

    #[test]
    fn a_wide_table_is_wrapped_between_words() {
        let mut wide = table(["name", "what it is"]);
        wide.add_row(["some-thing", "several words that do not fit into one line"]);
        let text = wrapped(wide, 30);
        assert!(text.lines().all(|line| width_of(line) <= 30), "{text}");
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(
            words.contains(&"some-thing") && words.contains(&"several"),
            "{text}"
        );
    }
}
