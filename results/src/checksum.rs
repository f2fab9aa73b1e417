//! SHA-256 of files: distinguishes a changed file from the one that was written, since Parquet itself reads most
//! changed bytes without complaint.

use crate::atomic;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use teda_core::Result;
use teda_core::digest::hexadecimal;

/// The SHA-256 of the file at `path`, in hexadecimal.
///
/// # Errors
/// Failed, if it cannot be read.
pub(crate) fn sha256(path: &Path) -> Result<String> {
    let failed = |e| atomic::failed(path, "cannot read", &e);
    let mut file = File::open(path).map_err(failed)?;
    let mut hash = Sha256::new();
    let mut block = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut block).map_err(failed)?;
        if read == 0 {
            break;
        }
        hash.update(&block[..read]);
    }
    Ok(hexadecimal(&hash.finalize()))
}

/// Refuses the file at `path` unless its SHA-256 is `known`.
///
/// # Errors
/// Failed, if it differs, or the file cannot be read.
pub(crate) fn verify(path: &Path, known: Option<&str>) -> Result<()> {
    if known == Some(&sha256(path)?) {
        return Ok(());
    }
    let what = "another sha256: it was changed or cut";
    Err(atomic::failed(
        path,
        "not the file that the run wrote",
        &what,
    ))
}
