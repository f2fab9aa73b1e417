//! `cells.csv`: one row per cell, with a header of [`Cell`]'s fields in order, except those that are not single values
//! (`witness_texts`, `signs`, `candidates`, `metric`, `recall`, `guesses`, `chosen_guesses`, `composition`), and `mean_units`, which are in
//! `result.json`.
//!
//! A missing value is an empty field; numbers are the shortest decimals that read back exactly. Control characters in
//! names are escaped, and a name that a spreadsheet would take for a formula is prefixed by `'`: the name of a file or
//! program must not run as code on the machine of whoever opens the table.

use crate::{Cell, atomic};
use std::path::Path;
use teda_core::{Error, Result, plain};

/// The columns, in order.
const COLUMNS: [&str; 30] = [
    "dataset",
    "mechanism",
    "epsilon",
    "epsilon_unit",
    "neighbours",
    "k",
    "lambda",
    "attack",
    "trials",
    "hits",
    "failed",
    "failed_mechanism",
    "failed_transport",
    "failed_attack",
    "success_rate",
    "success_lower",
    "alpha",
    "delta",
    "estimator",
    "empirical_epsilon",
    "ceiling",
    "claimed_epsilon",
    "verdict",
    "seconds",
    "witness",
    "explanation",
    "trained",
    "below_chance",
    "choices",
    "chosen_epsilon",
];

/// The cells as CSV text with its header, even if there are no cells.
///
/// # Errors
/// Failed, if a number is infinite or NaN.
pub fn to_string(cells: &[Cell]) -> Result<String> {
    let failed = |e: &dyn std::fmt::Display| Error::failed(format!("cells as CSV: {e}"));
    // The header is written by hand because the csv crate writes none for an empty table.
    let mut writer = csv::WriterBuilder::new()
        .has_headers(false)
        .from_writer(Vec::new());
    writer.write_record(COLUMNS).map_err(|e| failed(&e))?;
    for cell in cells {
        cell.check()?;
        let columns = Cell {
            dataset: name(&cell.dataset),
            mechanism: name(&cell.mechanism),
            attack: name(&cell.attack),
            estimator: name(&cell.estimator),
            explanation: name(&cell.explanation),
            witness_texts: Vec::new(),
            signs: Vec::new(),
            candidates: None,
            metric: None,
            mean_units: None,
            recall: None,
            guesses: None,
            chosen_guesses: None,
            composition: None,
            ..cell.clone()
        };
        writer.serialize(columns).map_err(|e| failed(&e))?;
    }
    let bytes = writer.into_inner().map_err(|e| failed(&e))?;
    String::from_utf8(bytes).map_err(|e| failed(&e))
}

/// A text escaped so that a spreadsheet does not interpret it.
#[must_use]
pub fn name(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = plain(text);
    match formula {
        true => format!("'{text}"),
        false => text.into_owned(),
    }
}

/// Writes `cells.csv` atomically.
///
/// # Errors
/// Failed, if a number is infinite or NaN or the file cannot be written.
pub fn write(path: &Path, cells: &[Cell]) -> Result<()> {
    atomic::write(path, to_string(cells)?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_read_back_exactly() {
        let read = |text: String| -> Vec<Cell> {
            let rows = csv::Reader::from_reader(text.as_bytes()).into_deserialize();
            rows.map(std::result::Result::unwrap).collect()
        };
        let cells = vec![
            Cell::example(),
            Cell {
                dataset: "a \"quoted\", dataset".into(),
                epsilon: None,
                epsilon_unit: None,
                claimed_epsilon: None,
                success_rate: 0.1 + 0.2,
                empirical_epsilon: f64::INFINITY,
                witness: Some("3+17".into()),
                lambda: -1e-300,
                ..Cell::example()
            },
        ];
        assert_eq!(read(to_string(&cells).unwrap()), cells);
        let quoted = Cell {
            witness_texts: vec!["a".into(), "b".into()],
            ..Cell::example()
        };
        assert_eq!(read(to_string(&[quoted]).unwrap()), [Cell::example()]);
        assert_eq!(read(to_string(&[]).unwrap()), []);
    }

    #[test]
    fn no_name_steers_a_terminal_or_runs_in_a_spreadsheet() {
        let hostile = Cell {
            dataset: "=HYPERLINK(\"http://x\")".into(),
            mechanism: "exec:a\u{1b}[2J\nb\u{202e}".into(),
            attack: "\t@SUM(1)".into(),
            lambda: -1.0,
            ..Cell::example()
        };
        let text = to_string(&[hostile]).unwrap();
        let line = text.lines().nth(1).unwrap();
        assert!(
            line.starts_with(r#""'=HYPERLINK(""http://x"")",exec:a\u{1b}[2J\nb\u{202e},"#),
            "{line}"
        );
        assert!(line.contains(r"-1.0,'\t@SUM(1),"), "{line}");
        assert_eq!(text.lines().count(), 2);
    }

    #[test]
    fn the_columns_are_the_fields_in_order() {
        let value = serde_json::to_string(&Cell::example()).unwrap();
        let mut from = 0;
        for column in COLUMNS {
            from += value[from..].find(&format!("\"{column}\":")).unwrap();
        }
        assert_eq!(
            serde_json::to_value(Cell::example())
                .unwrap()
                .as_object()
                .unwrap()
                .len(),
            COLUMNS.len()
        );
        assert!(to_string(&[]).unwrap().starts_with("dataset,mechanism,"));
    }
}
