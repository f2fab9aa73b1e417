//! Plain text: one text a line. Carriage returns before a line's end and a last line's missing end do not matter.

use teda_core::Result;

use crate::intake::Intake;
use crate::place::Place;

/// Reads every line of `content`, that of `file`.
///
/// # Errors
/// Usage, where columns are needed, which plain text has not, and for a NUL.
pub(super) fn read<const N: usize>(
    file: &str,
    content: &str,
    intake: &mut impl Intake<N>,
) -> Result<()> {
    intake.allow_plain_text(file)?;
    for (number, line) in (1..).zip(content.lines()) {
        intake.take_plain(line, Place::line(file, number))?;
    }
    Ok(())
}
