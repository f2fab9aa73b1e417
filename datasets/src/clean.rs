//! Rules for every text, wherever it comes from.

use teda_core::Result;

use crate::place::Place;

/// `text` without white space at its ends, so that texts that look equal are equal.
///
/// # Errors
/// Same as [`refuse_nul`].
pub(crate) fn clean<'t>(text: &'t str, place: Place<'_>) -> Result<&'t str> {
    refuse_nul(text, place)?;
    Ok(text.trim())
}

/// Refuses a text with a NUL: C libraries below a model would cut it there.
///
/// # Errors
/// Usage, with the place.
pub(crate) fn refuse_nul(text: &str, place: Place<'_>) -> Result<()> {
    if !text.contains('\0') {
        return Ok(());
    }
    place.refuse(
        "the text has a NUL character, which no text should: remove it, for example with \
         tr -d '\\000', or see whether the file is text at all",
    )
}
