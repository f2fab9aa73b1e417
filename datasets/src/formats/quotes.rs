//! A check of the quotes of CSV and TSV before they are read.
//!
//! The csv crate accepts any bytes: a quote that is never closed turns everything after it into one field, and the
//! rows in it are silently lost. TSV files often have such quotes, because they are written without any quoting.

use teda_core::Result;

use crate::place::Place;

enum State {
    FieldStart,
    Unquoted,
    /// Within quotes that were opened on this line.
    Quoted(usize),
    /// After a quote that closes the field or is the first of a doubled one.
    Quote(usize),
}

/// Refuses quotes that do not enclose a whole field; `file` is for messages.
///
/// # Errors
/// Usage, with the line of the field.
pub(super) fn check(file: &str, content: &str, delimiter: u8) -> Result<()> {
    const REMEDY: &str =
        "enclose the whole field in quotes and double those within, or use JSON lines";
    let mut state = State::FieldStart;
    let mut line = 1;
    for byte in content.bytes() {
        let ends_field = byte == delimiter || byte == b'\n' || byte == b'\r';
        state = match state {
            State::Quoted(opened) if byte == b'"' => State::Quote(opened),
            State::Quoted(opened) => State::Quoted(opened),
            State::Quote(opened) if byte == b'"' => State::Quoted(opened),
            State::FieldStart if byte == b'"' => State::Quoted(line),
            State::Quote(opened) if !ends_field => {
                return Place::line(file, opened).refuse(format_args!(
                    "a field begins with a quoted part and goes on behind it: {REMEDY}"
                ));
            }
            _ if ends_field => State::FieldStart,
            _ => State::Unquoted,
        };
        line += usize::from(byte == b'\n');
    }
    match state {
        State::Quoted(opened) => Place::line(file, opened)
            .refuse(format_args!("a quote is opened and never closed: {REMEDY}")),
        _ => Ok(()),
    }
}
