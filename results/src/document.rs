//! The JSON document of a run: what `--format json` prints and `result.json` holds.

use crate::{Cell, UtilityCell, atomic};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;
use teda_core::digest::hexadecimal;
use teda_core::{Error, Result};

const SCHEMA: &str = "teda.audit/1";

/// All cells of a run.
///
/// # Schema
/// `{"schema": "teda.audit/1", "run_dir": string or null, "cells": [`[`Cell`]`], "utilities": [`[`UtilityCell`]`]}`; the last is
/// left out where no utility was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    schema: String,
    /// The run directory as the user would name it; missing if nothing was written.
    pub run_dir: Option<String>,
    /// The cells, in the order of the run's grid.
    pub cells: Vec<Cell>,
    /// What the releases are still good for, if it was asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub utilities: Vec<UtilityCell>,
}

#[derive(Deserialize)]
struct SchemaOnly {
    schema: Option<String>,
}

impl Document {
    /// A document with these cells.
    #[must_use]
    pub fn new(run_dir: Option<String>, cells: Vec<Cell>) -> Self {
        Self {
            schema: SCHEMA.into(),
            run_dir,
            cells,
            utilities: Vec::new(),
        }
    }

    /// The same with utilities.
    #[must_use]
    pub fn with_utilities(self, utilities: Vec<UtilityCell>) -> Self {
        Self { utilities, ..self }
    }

    /// The document on one line, without a line feed.
    ///
    /// # Errors
    /// Failed, if a number is infinite or NaN.
    pub fn to_line(&self) -> Result<String> {
        self.check()?;
        serde_json::to_string(self).map_err(|e| Error::failed(format!("result document: {e}")))
    }

    /// Parses a document; `source` is its name in error messages.
    ///
    /// # Errors
    /// Usage, if the text is not JSON, of another schema, or lacks a field.
    pub fn parse(text: &str, source: &str) -> Result<Self> {
        let usage = |e| Error::usage(format!("{source}: not a teda result: {e}"));
        let found: SchemaOnly = serde_json::from_str(text).map_err(usage)?;
        match found.schema.as_deref() {
            Some(SCHEMA) => serde_json::from_str(text).map_err(usage),
            Some(other) => Err(Error::usage(format!(
                "{source}: schema '{other}', but this teda reads '{SCHEMA}'"
            ))),
            None => Err(Error::usage(format!(
                "{source}: not a teda result: it has no \"schema\": \"{SCHEMA}\""
            ))),
        }
    }

    /// Writes the document, indented, atomically.
    ///
    /// # Errors
    /// Failed, if a number is infinite or NaN or the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        self.check()?;
        let mut text = serde_json::to_string_pretty(self)
            .map_err(|e| atomic::failed(path, "cannot write", &e))?;
        text.push('\n');
        atomic::write(path, text.as_bytes())
    }

    /// Reads a file written by [`Document::write`] or printed by `--format json`.
    ///
    /// # Errors
    /// Usage, for the reasons of [`Document::parse`], or if the file cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path)
            .map_err(|e| Error::usage(format!("{}: cannot read: {e}", path.display())))?;
        Self::parse(&text, &path.display().to_string())
    }

    /// SHA-256 over the cells of the document in a file, independent of the folder in which it was written: shows
    /// whether a run without rows still has its original results.
    ///
    /// # Errors
    /// Failed, if the file cannot be read or is not valid JSON.
    pub fn cells_sha256(path: &Path) -> Result<String> {
        let failed = |e: &dyn std::fmt::Display| atomic::failed(path, "cannot read", e);
        let text = fs::read(path).map_err(|e| failed(&e))?;
        let document: serde_json::Value = serde_json::from_slice(&text).map_err(|e| failed(&e))?;
        let cells = document["cells"].to_string();
        Ok(hexadecimal(&Sha256::digest(cells)))
    }

    fn check(&self) -> Result<()> {
        self.cells.iter().try_for_each(Cell::check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_one_line_and_reads_back() {
        let document = Document::new(Some("results/runs/x".into()), vec![Cell::example()]);
        let line = document.to_line().unwrap();
        assert!(line.starts_with(
            r#"{"schema":"teda.audit/1","run_dir":"results/runs/x","cells":[{"dataset":"snips""#
        ));
        assert!(!line.contains('\n'));
        assert_eq!(Document::parse(&line, "stdin").unwrap(), document);
    }

    #[test]
    fn a_file_reads_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("result.json");
        let document = Document::new(None, vec![Cell::example(), Cell::example()]);
        document.write(&path).unwrap();
        assert_eq!(Document::read(&path).unwrap(), document);
    }

    #[test]
    fn other_documents_are_refused_by_name() {
        let refused = |text: &str| Document::parse(text, "a.json").unwrap_err().to_string();
        assert_eq!(
            refused(r#"{"schema":"teda.audit/2","cells":7}"#),
            "a.json: schema 'teda.audit/2', but this teda reads 'teda.audit/1'"
        );
        assert!(refused("{}").contains("it has no \"schema\""));
        assert!(refused(r#"{"schema":"teda.audit/1","cells":[{}]}"#).contains("missing field"));
        assert!(refused(r#"{"schema":"teda.au"#).contains("not a teda result"));
        assert!(refused("").contains("not a teda result"));
    }

    #[test]
    fn an_infinite_number_is_not_written() {
        let mut cell = Cell::example();
        cell.success_rate = f64::INFINITY;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("result.json");
        let document = Document::new(None, vec![cell]);
        assert!(document.to_line().is_err());
        assert!(document.write(&path).is_err());
        assert!(!path.exists());
    }
}
