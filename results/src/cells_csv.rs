//! `cells.csv`: one row a cell, with a header of [`Cell`]'s fields in their order, but for those that are no single
//! values (`witness_texts`, `signs`, `candidates`), which `result.json` has.
//!
//! An absent value is an empty field; numbers are the shortest decimals that read back exactly.

use crate::{Cell, atomic};
use std::path::Path;
use teda_core::{Error, Result};

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

/// The columns that older files lack.
const LATER: [&str; 7] = [
    "failed_mechanism",
    "failed_transport",
    "failed_attack",
    "trained",
    "below_chance",
    "choices",
    "chosen_epsilon",
];

/// The cells as CSV text with its header, also where there is no cell.
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
            witness_texts: Vec::new(),
            signs: Vec::new(),
            candidates: None,
            ..cell.clone()
        };
        writer.serialize(columns).map_err(|e| failed(&e))?;
    }
    let bytes = writer.into_inner().map_err(|e| failed(&e))?;
    String::from_utf8(bytes).map_err(|e| failed(&e))
}

/// Writes `cells.csv` in one step.
///
/// # Errors
/// Failed, if a number is infinite or NaN or the file cannot be written.
pub fn write(path: &Path, cells: &[Cell]) -> Result<()> {
    atomic::write(path, to_string(cells)?.as_bytes())
}

/// Reads a file of [`write()`]; columns may stand in any order, further ones are ignored, and those of causes may
/// be missing, as they do in older files.
///
/// # Errors
/// Usage, if the file cannot be read, lacks a column or holds an unreadable value; the message
/// has the file and the line.
pub fn read(path: &Path) -> Result<Vec<Cell>> {
    let usage = |e| Error::usage(format!("{}: no teda cells: {e}", path.display()));
    let mut reader = csv::Reader::from_path(path).map_err(usage)?;
    // Checked first, for a file without rows would otherwise pass whatever its header says.
    let header = reader.headers().map_err(usage)?;
    let missing = |column: &&&str| !header.iter().any(|h| h == **column);
    let mut needed = COLUMNS.iter().filter(|column| !LATER.contains(column));
    if let Some(column) = needed.find(missing) {
        return Err(Error::usage(format!(
            "{}: no teda cells: there is no column '{column}'",
            path.display()
        )));
    }
    reader
        .deserialize()
        .collect::<std::result::Result<_, _>>()
        .map_err(usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_read_back_exactly() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cells.csv");
        let cells = vec![
            Cell::example(),
            Cell {
                dataset: "a \"quoted\", dataset\nof two lines".into(),
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
        write(&path, &cells).unwrap();
        assert_eq!(read(&path).unwrap(), cells);
        let quoted = Cell {
            witness_texts: vec!["a".into(), "b".into()],
            ..Cell::example()
        };
        write(&path, &[quoted]).unwrap();
        assert_eq!(read(&path).unwrap(), [Cell::example()]);
        write(&path, &[]).unwrap();
        assert_eq!(read(&path).unwrap(), []);
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

    #[test]
    fn a_file_without_causes_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cells.csv");
        let old = to_string(&[Cell::example()])
            .unwrap()
            .replace("failed_mechanism,failed_transport,failed_attack,", "")
            .replace("6,3,2,1,", "6,");
        std::fs::write(&path, old).unwrap();
        let cells = read(&path).unwrap();
        assert_eq!((cells[0].failed, cells[0].failed_mechanism), (6, 0));
        assert_eq!(cells[0].success_rate, Cell::example().success_rate);
    }

    #[test]
    fn a_wrong_file_is_refused_with_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cells.csv");
        let refused = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read(&path).unwrap_err().to_string()
        };
        assert!(refused("a,b\n1,2\n").contains("no column 'dataset'"));
        let good = to_string(&[Cell::example()]).unwrap();
        let error = refused(&good.replace("6123", "many"));
        assert!(
            error.contains("cells.csv") && error.contains("line: 2"),
            "{error}"
        );
    }
}
