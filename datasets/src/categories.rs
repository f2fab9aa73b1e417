//! `categories:K`: made-up texts for protocols over categories, for which only the number matters.

use teda_core::{Error, Result};

/// Prefix of such a source.
pub(crate) const NAME: &str = "categories";

/// The largest K: this many texts still fit into memory many times over.
const MOST: usize = 1_000_000;

/// K of a source `categories:K`; `None` for any other source.
///
/// # Errors
/// Usage, if K is missing or not a whole number in its range.
pub(crate) fn parse(source: &str) -> Result<Option<usize>> {
    let Some(rest) = source.strip_prefix(NAME) else {
        return Ok(None);
    };
    let count = match rest.strip_prefix(':') {
        Some(count) => count,
        None if rest.is_empty() => "",
        None => return Ok(None),
    };
    let number = count.parse().ok();
    let number = number.filter(|number| (2..=MOST).contains(number));
    number.map(Some).ok_or_else(|| {
        Error::usage(format!(
            "'{source}' does not say how many categories: give a whole number from 2 to {MOST}, as in '{NAME}:100'"
        ))
    })
}

/// The text of category `number`, counted from 1.
pub(crate) fn text(number: usize) -> String {
    format!("category {number}")
}
