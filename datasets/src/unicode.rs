//! From bytes to text: UTF-8 without its byte order mark, or an error with the place where it is invalid.

use teda_core::{Error, Result};

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// Decodes `bytes` as UTF-8, without a byte order mark; `name` is for messages.
///
/// # Errors
/// Usage, with the line of the first byte that is not UTF-8.
pub(crate) fn decode<'a>(bytes: &'a [u8], name: &str) -> Result<&'a str> {
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(Error::usage(format!(
            "'{name}', line 1: this is UTF-16, not UTF-8: convert it, for example with \
             iconv -f UTF-16 -t UTF-8"
        )));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        Error::usage(format!(
            "'{name}', line {line}: byte {:#04x} (byte {at} of the file, from 0) is not UTF-8: convert the \
             file, for example with iconv -f LATIN1 -t UTF-8, or fix that line",
            bytes[at]
        ))
    })?;
    Ok(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text))
}
