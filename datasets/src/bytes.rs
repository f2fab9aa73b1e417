//! The bytes of a source, whole: read, checked against what they are said to be, decompressed.

use std::fs;
use std::io::{ErrorKind, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use teda_core::{Error, Result};

const GZIP: &[u8] = b"\x1f\x8b";
const PARQUET: &[u8] = b"PAR1";
const ZIP: &[u8] = b"PK\x03\x04";

/// The bytes of the file at `path`.
///
/// # Errors
/// Usage, for a missing file; failed, where reading fails.
pub(crate) fn read_file(path: &Path) -> Result<Vec<u8>> {
    let shown = path.display();
    fs::read(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Error::usage(format!("there is no file '{shown}'")),
        _ => Error::failed(format!("cannot read '{shown}': {error}")),
    })
}

/// What gzip made `packed` of; `name` is for messages.
///
/// # Errors
/// Usage, where `packed` is not gzip at all; failed, where it is broken or ends too early.
pub(crate) fn gunzip(packed: &[u8], name: &str) -> Result<Vec<u8>> {
    if !packed.starts_with(GZIP) {
        return Err(Error::usage(format!(
            "'{name}' is not compressed with gzip, whatever its name says: take '.gz' off its name, \
             or compress it"
        )));
    }
    let mut bytes = Vec::new();
    MultiGzDecoder::new(packed)
        .read_to_end(&mut bytes)
        .map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => Error::failed(format!(
                "'{name}' ends in the middle of its compressed data: copy or download it again"
            )),
            _ => Error::failed(format!(
                "cannot decompress '{name}' ({error}): copy or download it again"
            )),
        })?;
    Ok(bytes)
}

/// Refuses bytes that are no text but a well-known container, which deserves a better message than
/// "not UTF-8".
///
/// # Errors
/// Usage, saying what they are and what to do.
pub(crate) fn refuse_containers(bytes: &[u8], name: &str) -> Result<()> {
    let what = if bytes.starts_with(GZIP) {
        "compressed with gzip: end the file's name in '.gz', or decompress it"
    } else if is_parquet(bytes) {
        "a Parquet file: end its name in '.parquet'"
    } else if bytes.starts_with(ZIP) {
        "a zip archive or a spreadsheet: extract it, or export the texts as CSV or JSON lines"
    } else {
        return Ok(());
    };
    Err(Error::usage(format!("'{name}' is {what}")))
}

/// Whether `bytes` begin as Parquet does.
pub(crate) fn begins_as_parquet(bytes: &[u8]) -> bool {
    bytes.starts_with(PARQUET)
}

/// Whether `bytes` begin and end as Parquet does. One end alone may be a text about Parquet.
pub(crate) fn is_parquet(bytes: &[u8]) -> bool {
    bytes.len() > 2 * PARQUET.len() && begins_as_parquet(bytes) && bytes.ends_with(PARQUET)
}
