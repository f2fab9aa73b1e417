//! Limits on the size of inputs. A file of a few kilobytes can unpack to more than any memory, and a device has no
//! end.

use teda_core::{Error, Result};

use crate::place::Place;

/// The largest inputs that are read. Inputs within the limits give the same texts whatever the limits are, so no
/// result depends on them and no run records them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of one text, and of one line of a file (`--max-text-bytes`).
    pub text: u64,
    /// Bytes of one input, decompressed, and of the texts kept from it in memory (`--max-input-bytes`).
    pub input: u64,
}

impl Default for Limits {
    /// 4 MiB per text, 1 GiB per input.
    fn default() -> Self {
        Self {
            text: 4 << 20,
            input: 1 << 30,
        }
    }
}

/// Most bytes that a text takes in memory besides its own: for millions of short texts that is nearly everything.
pub(crate) const KEPT: u64 = 64;

impl Limits {
    /// No limits, for what is in memory already.
    pub(crate) const NONE: Self = Self {
        text: u64::MAX,
        input: u64::MAX,
    };

    /// Refuses a text that is too long.
    ///
    /// # Errors
    /// Usage, with the place and the size.
    pub(crate) fn check_text(self, text: &str, place: Place<'_>) -> Result<()> {
        let (size, limit) = (text.len() as u64, self.text);
        if size <= limit {
            return Ok(());
        }
        place.refuse(format_args!(
            "the text has {size} bytes, and {limit} are the most that one may have: shorten it, or raise \
             --max-text-bytes"
        ))
    }

    /// Refuses an input with more bytes than allowed; `what` says how it has them, as in "has" or "unpacks to".
    ///
    /// # Errors
    /// Usage, with the sizes.
    pub(crate) fn check_input(self, file: &str, what: &str, size: u64) -> Result<()> {
        let limit = self.input;
        if size <= limit {
            return Ok(());
        }
        Err(Error::usage(format!(
            "'{file}' {what} {size} bytes, and {limit} are the most that are read: take a part of it, or raise \
             --max-input-bytes"
        )))
    }

    /// The error for an input that continues beyond the limit.
    pub(crate) fn endless(self, file: &str, what: &str) -> Error {
        let limit = self.input;
        Error::usage(format!(
            "'{file}' {what} more than {limit} bytes, the most that are read: take a part of it, or raise \
             --max-input-bytes"
        ))
    }
}
