//! One trial.

use crate::number;
use serde::{Deserialize, Serialize};
use teda_core::{Cause, Reading};

/// One trial of one cell: a line of `trials.jsonl`, a row of `trials.parquet`.
///
/// # Schema
/// In JSON the fields have one-letter names, since they are written millions of times:
/// `{"c":cell,"t":trial,"k":[candidates],"s":secret,"r":release,"g":guess,"h":hit,"m":margin}`, with
/// `"l":[log_likelihoods]`, `"e":error`, `"f":cause` and `"w":reading` if present. In Parquet they have their full names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Position of the cell in the manifest's `cells`.
    #[serde(rename = "c")]
    pub cell: u32,
    /// The trial's number within the cell, from 0.
    #[serde(rename = "t")]
    pub trial: u64,
    /// The candidate texts, as positions in the dataset.
    #[serde(rename = "k")]
    pub candidates: Vec<u32>,
    /// The text that was rewritten, as a position in `candidates`.
    #[serde(rename = "s")]
    pub secret: u32,
    /// What the mechanism released; empty if it failed.
    #[serde(rename = "r")]
    pub release: String,
    /// The attack's guess, as a position in `candidates`.
    #[serde(rename = "g")]
    pub guess: u32,
    /// Whether the guess is the secret.
    #[serde(rename = "h")]
    pub hit: bool,
    /// Score of the guess minus the next best score, in the attack's own unit, capped at the largest double.
    #[serde(rename = "m", with = "number")]
    pub margin: f64,
    /// ln P(release | candidate) under the mechanism, one per candidate; empty if it is not known exactly or was not
    /// asked for.
    #[serde(
        rename = "l",
        default,
        skip_serializing_if = "Vec::is_empty",
        with = "number::list"
    )]
    pub log_likelihoods: Vec<f64>,
    /// Why there is no release, or why the attack has no scores for it: the guess is then random.
    #[serde(rename = "e", default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whose failure that is, if there is an error.
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// What an attack that writes the source back made of the release.
    #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<Reading>,
}

impl Row {
    /// The row with a cause if it has an error. A row that does not say whose failure it is was written before causes
    /// were recorded: if there is a release the attack failed, otherwise the mechanism.
    #[must_use]
    pub(crate) fn with_cause(mut self) -> Self {
        if self.error.is_some() {
            self.cause.get_or_insert(match self.release.trim() {
                "" => Cause::Mechanism,
                _ => Cause::Attack,
            });
        }
        self
    }

    /// A row that differs with `trial` in every field, with awkward text in it.
    #[cfg(test)]
    pub(crate) fn example(trial: u64) -> Self {
        let small = trial as u32;
        Self {
            cell: small % 3,
            trial,
            candidates: (0..2 + small % 4).map(|i| i * 17 + small).collect(),
            secret: small % 2,
            release: match trial % 4 {
                0 => String::new(),
                1 => "line one\nline \"two\" \\ \u{2028}".into(),
                2 => format!("was läuft 🎵 im kino {trial}"),
                _ => format!("play song number {trial}"),
            },
            guess: small % 3 % 2,
            hit: small % 2 == small % 3 % 2,
            margin: match trial % 5 {
                0 => f64::INFINITY,
                1 => -0.0,
                _ => trial as f64 * 0.1,
            },
            log_likelihoods: match trial % 3 {
                0 => vec![-0.5 * trial as f64, f64::NEG_INFINITY],
                _ => Vec::new(),
            },
            error: trial
                .is_multiple_of(4)
                .then(|| format!("no answer to {trial}")),
            cause: trial
                .is_multiple_of(4)
                .then(|| Cause::ALL[small as usize / 4 % Cause::ALL.len()]),
            reading: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_one_short_line() {
        let row = Row {
            error: None,
            cause: None,
            ..Row::example(2)
        };
        assert_eq!(
            serde_json::to_string(&row).unwrap(),
            r#"{"c":2,"t":2,"k":[2,19,36,53],"s":0,"r":"was läuft 🎵 im kino 2","g":0,"h":true,"m":0.2}"#
        );
    }

    #[test]
    fn an_old_row_that_failed_has_the_cause_that_its_release_shows() {
        let cause = |line: &str| {
            let row: Row = serde_json::from_str(line).unwrap();
            row.with_cause().cause
        };
        let row = |release: &str, rest: &str| {
            let row = r#"{"c":0,"t":0,"k":[1,2],"s":0,"g":0,"h":true,"m":0.0,"r":"#;
            format!("{row}\"{release}\"{rest}}}")
        };
        assert_eq!(cause(&row("", r#","e":"crashed""#)), Some(Cause::Mechanism));
        assert_eq!(cause(&row(" ", r#","e":"empty""#)), Some(Cause::Mechanism));
        assert_eq!(
            cause(&row("x", r#","e":"unreadable""#)),
            Some(Cause::Attack)
        );
        assert_eq!(cause(&row("x", "")), None);
        let said = row("", r#","e":"late","f":"transport""#);
        assert_eq!(cause(&said), Some(Cause::Transport));
    }

    #[test]
    fn every_row_reads_back() {
        for trial in 0..40 {
            let row = Row::example(trial);
            let text = serde_json::to_string(&row).unwrap();
            assert!(!text.contains('\n'));
            assert_eq!(serde_json::from_str::<Row>(&text).unwrap(), row);
        }
    }
}
