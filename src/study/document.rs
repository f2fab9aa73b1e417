//! The result of a study: what was published and measured, side by side, as JSON.

use serde::Serialize;
use teda_core::{Error, Result};

use super::definition::Study;
use super::point::Point;
use super::published::Beside;
use super::statement::{Outcome, Tested};

/// The schema of [`Document`].
const SCHEMA: &str = "teda.study/1";

/// A part and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartRecord {
    /// Its name.
    pub name: String,
    /// Its folder below `parts`.
    pub folder: String,
    /// What it is.
    pub kind: &'static str,
    /// What it would need, if it was not run.
    pub needs: Option<String>,
    /// Points that it gave.
    pub points: usize,
    /// Tables to read as they are.
    pub text: String,
}

/// A picture that was drawn.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drawn {
    /// Its file, without ending; missing where there was nothing to draw.
    pub file: Option<String>,
    /// The figure of the paper.
    pub place: String,
    /// What it shows.
    pub title: String,
}

/// All results of one study.
///
/// # Schema
/// `teda.study/1`: the fields below, by name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Document {
    /// `teda.study/1`.
    pub schema: &'static str,
    /// The version of this program.
    pub teda: &'static str,
    /// The study's short name.
    pub study: String,
    /// What is reproduced.
    pub title: String,
    /// The paper.
    pub source: String,
    /// What can be reproduced, and what not.
    pub about: String,
    /// `smoke`, `default` or `paper`.
    pub scale: String,
    /// The error of each statement's test.
    pub error: f64,
    /// The statements, tested.
    pub statements: Vec<Tested>,
    /// Published numbers beside measured ones.
    pub published: Vec<Beside>,
    /// The pictures.
    pub figures: Vec<Drawn>,
    /// The parts.
    pub parts: Vec<PartRecord>,
    /// Every measured number.
    pub points: Vec<Point>,
}

impl Document {
    /// Tests the statements and joins published numbers with measured ones.
    ///
    /// # Errors
    /// Usage, for a statement or published row that does not fit the points.
    pub(super) fn new(study: &Study, parts: Vec<PartRecord>, points: Vec<Point>) -> Result<Self> {
        let views = &study.views;
        let statements = views.statements.iter();
        let statements = statements.map(|statement| {
            let tested = statement.tested(&points, views.error);
            tested.map_err(|e| e.context(format!("statement of {}", statement.place)))
        });
        let statements = statements.collect::<Result<_>>()?;
        let published: Vec<Vec<Beside>> = views
            .published
            .iter()
            .map(|row| row.beside(&points))
            .collect::<Result<_>>()?;
        Ok(Self {
            schema: SCHEMA,
            teda: env!("CARGO_PKG_VERSION"),
            study: study.name.clone(),
            title: views.title.clone(),
            source: views.source.clone(),
            about: views.about.clone(),
            scale: study.scale.clone(),
            error: views.error,
            statements,
            published: published.concat(),
            figures: Vec::new(),
            parts,
            points,
        })
    }

    /// Statements with an outcome.
    #[must_use]
    pub fn count(&self, outcome: Outcome) -> usize {
        self.statements
            .iter()
            .filter(|s| s.outcome == outcome)
            .count()
    }

    /// As JSON on one line.
    ///
    /// # Errors
    /// Failed, if it cannot be written as JSON.
    pub fn to_line(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|e| Error::failed(format!("study document: {e}")))
    }
}
