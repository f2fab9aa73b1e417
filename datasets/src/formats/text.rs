//! Plain text: one text a line. Carriage returns before a line's end and a last line's missing end do not matter.

use teda_core::{Error, Result};

use crate::intake::Intake;

/// Reads every line of `content`.
///
/// # Errors
/// Usage, where a column or a split is asked for, which plain text has not, and for a NUL.
pub(super) fn read(content: &str, intake: &mut Intake<'_>) -> Result<()> {
    if let Some(column) = intake.column {
        return Err(Error::usage(format!(
            "'{}' is plain text, one text a line, and has no column '{column}': leave ':{column}' out",
            intake.name
        )));
    }
    if let Some(split) = intake.splits.wanted() {
        return Err(Error::usage(format!(
            "'{}' is plain text, one text a line, and has no splits: leave out the split '{split}'",
            intake.name
        )));
    }
    for (number, line) in (1..).zip(content.lines()) {
        intake.selection.push(line, intake.line(number))?;
    }
    Ok(())
}
