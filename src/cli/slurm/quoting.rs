//! Texts as words of a shell: in scripts, and in the commands that messages advise.

use std::path::Path;

use shlex::try_quote;
use teda_core::{Error, Result};

/// A text as one word.
///
/// # Errors
/// Usage, for a text with a NUL character, which no shell can pass on.
pub fn quoted(text: &str) -> Result<String> {
    let word = try_quote(text);
    let word = word.map_err(|e| Error::usage(format!("'{text}' cannot stand in a script: {e}")))?;
    Ok(word.into_owned())
}

/// A path as one word of a command that the user is told.
pub fn named(path: &Path) -> String {
    let text = path.display().to_string();
    match try_quote(&text) {
        Ok(word) => word.into_owned(),
        // No path has a NUL character.
        Err(_) => text,
    }
}
