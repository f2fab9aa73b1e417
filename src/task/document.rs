//! The results as data: one line for each mechanism, ε and mode, as JSON and as CSV.

use serde::Serialize;
use teda_core::{Error, Result, Unit};
use teda_results::ModelRecord;
use teda_results::cells_csv;
use teda_server::Usage;

use super::learner::FineTuning;
use super::score::Spread;

/// What was trained and tested on what.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The most frequent class of the training texts, whatever the text.
    Majority,
    /// Clean texts and clean texts: the upper line.
    Clean,
    /// Privatised texts and clean ones.
    Utility,
    /// Clean texts and privatised ones.
    Static,
    /// Privatised texts and privatised ones.
    Adaptive,
}

impl Mode {
    /// Its name in JSON and CSV.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Majority => "majority",
            Self::Clean => "clean",
            Self::Utility => "utility",
            Self::Static => "static",
            Self::Adaptive => "adaptive",
        }
    }
}

/// The scores of one mode.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Line {
    /// The mechanism; none where no text is privatised.
    pub mechanism: Option<String>,
    /// Its nominal ε.
    pub epsilon: Option<f64>,
    /// What one nominal ε is spent on.
    pub epsilon_unit: Option<Unit>,
    /// What was trained and tested on what.
    pub mode: Mode,
    /// Accuracy over the seeds.
    pub accuracy: Spread,
    /// Macro F1 over the seeds.
    pub macro_f1: Spread,
    /// The penalty λ of each seed's classifier; none for the majority class, and for models that are fine-tuned.
    pub penalties: Vec<f64>,
    /// Texts without a release among those trained and tested on, over all seeds.
    pub missing: u64,
    /// Those of them that were lost on the way, which says nothing about the mechanism.
    pub lost: u64,
}

/// A class and how often it occurs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Class {
    /// The label.
    pub name: String,
    /// Texts of it to train on.
    pub train: usize,
    /// Texts of it to test on.
    pub test: usize,
}

/// The data set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Data {
    /// Its name.
    pub name: String,
    /// The column of the labels.
    pub label: String,
    /// SHA-256 of labels and texts.
    pub sha256: String,
    /// What divides it into texts to train and to test on: its own `splits`, or the `digests` of its texts.
    pub divided_by: &'static str,
    /// Texts to train on.
    pub train: usize,
    /// Texts to test on.
    pub test: usize,
    /// The classes, sorted by name.
    pub classes: Vec<Class>,
}

/// All results of one task.
///
/// # Schema
/// `teda.task/1`: the fields below, by name.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Document {
    /// `teda.task/1`.
    pub schema: &'static str,
    /// The version of this program.
    pub teda: &'static str,
    /// The texts.
    pub data: Data,
    /// The kind of classifier.
    pub classifier: &'static str,
    /// How it was fine-tuned, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fine_tuning: Option<FineTuning>,
    /// The sentence encoder that it sees texts by.
    pub encoder: String,
    /// The root of all coins.
    pub seed: u64,
    /// Repetitions, each with other coins.
    pub seeds: u32,
    /// The models that were used.
    pub models: Vec<ModelRecord>,
    /// Whether the same command gives the same numbers again; not with models on servers.
    pub reproducible: bool,
    /// What was spent on each server.
    pub servers: Vec<(String, Usage)>,
    /// The scores: the majority class, the clean line, then three of each mechanism at each ε.
    pub results: Vec<Line>,
}

/// The columns of the CSV.
const COLUMNS: [&str; 14] = [
    "dataset",
    "label",
    "mechanism",
    "epsilon",
    "epsilon_unit",
    "mode",
    "accuracy",
    "accuracy_deviation",
    "macro_f1",
    "macro_f1_deviation",
    "seeds",
    "train",
    "test",
    "missing",
];

impl Document {
    /// As JSON on one line.
    ///
    /// # Errors
    /// Failed, if a number is infinite or NaN.
    pub fn to_line(&self) -> Result<String> {
        serde_json::to_string(self).map_err(|e| Error::failed(format!("result document: {e}")))
    }

    /// As CSV: a header, and one row a line. Control characters in names are escaped, and a name that a spreadsheet
    /// would take for a formula is prefixed by `'`.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let number = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
        let mut csv = COLUMNS.join(",") + "\n";
        for line in &self.results {
            let row = [
                name(&self.data.name),
                name(&self.data.label),
                line.mechanism.as_deref().map_or(String::new(), name),
                number(line.epsilon),
                line.epsilon_unit.map_or(String::new(), |u| u.to_string()),
                line.mode.name().to_owned(),
                line.accuracy.mean.to_string(),
                number(line.accuracy.deviation),
                line.macro_f1.mean.to_string(),
                number(line.macro_f1.deviation),
                line.accuracy.values.len().to_string(),
                self.data.train.to_string(),
                self.data.test.to_string(),
                line.missing.to_string(),
            ];
            csv += &(row.join(",") + "\n");
        }
        csv
    }
}

/// A foreign name as a field of a CSV.
fn name(text: &str) -> String {
    let text = cells_csv::name(text);
    match text.contains([',', '"']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_fields_that_no_spreadsheet_runs() {
        assert_eq!(name("exec:a,b \"c\""), "\"exec:a,b \"\"c\"\"\"");
        assert_eq!(name("=1+1"), "'=1+1");
        assert_eq!(name("a\u{1b}[2J\n"), r"a\u{1b}[2J\n");
        assert_eq!(name("novels.csv:body"), "novels.csv:body");
    }
}
