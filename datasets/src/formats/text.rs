//! Plain text: one text per line. Carriage returns before a line's end and a missing line end at the end do not
//! matter.

use teda_core::Result;

use crate::intake::Intake;
use crate::place::Place;

/// Reads every line of `content`, the content of `file`.
///
/// # Errors
/// Usage, if columns are needed, which plain text does not have, and for a NUL.
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
