//! The two kinds of errors in teda: an invalid request, or a failure while running.

use crate::plain::{listed, shown};

/// Longest names, in bytes, that are compared to find the closest: the work grows with the product of the lengths.
const COMPARED: usize = 1000;

/// What went wrong, with the offending value, where it was and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The request itself is invalid: a wrong name, value, file format or combination (exit 2).
    #[error("{0}")]
    Usage(String),
    /// The request was valid but failed: a full disk, a broken file, a dead server (exit 1).
    #[error("{0}")]
    Failed(String),
}

impl Error {
    /// An error of the request (exit 2).
    pub fn usage(message: impl Into<String>) -> Self {
        Self::Usage(message.into())
    }

    /// An error while running (exit 1).
    pub fn failed(message: impl Into<String>) -> Self {
        Self::Failed(message.into())
    }

    /// The same kind of error with its message transformed by `change`.
    #[must_use]
    pub fn map(self, change: impl FnOnce(&str) -> String) -> Self {
        match self {
            Self::Usage(message) => Self::Usage(change(&message)),
            Self::Failed(message) => Self::Failed(change(&message)),
        }
    }

    /// The same kind of error with `context: ` prepended to its message.
    #[must_use]
    pub fn context(self, context: impl std::fmt::Display) -> Self {
        self.map(|message| format!("{context}: {message}"))
    }

    /// An unknown name: suggests the closest known one, if any is close, and lists them all.
    pub fn unknown(kind: &str, name: &str, known: &[&str]) -> Self {
        Self::not_among(kind, name, known, &known.join(", "))
    }

    /// Like [`Self::unknown`], for known names that come from a file: any number of them, of any length.
    pub fn unknown_in_file(kind: &str, name: &str, known: &[&str]) -> Self {
        Self::not_among(kind, name, known, &listed(known))
    }

    fn not_among(kind: &str, name: &str, known: &[&str], list: &str) -> Self {
        let closest = known
            .iter()
            .filter(|candidate| name.len().max(candidate.len()) <= COMPARED)
            .map(|candidate| (strsim::levenshtein(name, candidate), candidate))
            .min()
            .filter(|(distance, candidate)| *distance <= 2.max(candidate.len() / 3));
        let hint = closest.map_or(String::new(), |(_, candidate)| {
            format!(" Did you mean '{}'?", shown(candidate))
        });
        let name = shown(name);
        Self::Usage(format!("unknown {kind} '{name}'.{hint} Known: {list}"))
    }
}

/// A result whose error is [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_gets_the_closest_one_and_the_list() {
        let error = Error::unknown("mechanism", "privrewrit", &["em", "krr", "privrewrite"]);
        assert_eq!(
            error.to_string(),
            "unknown mechanism 'privrewrit'. Did you mean 'privrewrite'? Known: em, krr, privrewrite"
        );
        let columns: Vec<String> = (0..50_000).map(|i| format!("column{i}")).collect();
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let many = Error::unknown_in_file("column", "text", &columns).to_string();
        assert!(many.ends_with("column19 and 49980 more"), "{many}");
        let far = Error::unknown("mechanism", "zzzzzzzz", &["em", "krr"]);
        assert_eq!(
            far.to_string(),
            "unknown mechanism 'zzzzzzzz'. Known: em, krr"
        );
    }
}
