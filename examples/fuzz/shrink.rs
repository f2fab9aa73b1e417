//! The smallest input that still fails.

use crate::driver;
use crate::kinds::Kind;

/// Attempts at most: each is a process.
const ATTEMPTS: usize = 200;

/// Takes pieces away, ever smaller ones, as long as the input fails.
pub fn smallest(kind: &Kind, mut bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let file = folder.path().join("input");
    let mut left = ATTEMPTS;
    let mut fails = |bytes: &[u8]| -> Result<bool, String> {
        left = left.saturating_sub(1);
        std::fs::write(&file, bytes).map_err(|e| e.to_string())?;
        Ok(left > 0 && driver::alone(kind, &file)?.is_some())
    };
    // What fails beside others alone is kept as it is.
    if !fails(&bytes)? {
        return Ok(bytes);
    }
    let mut piece = bytes.len() / 2;
    while piece > 0 {
        let mut start = 0;
        while start < bytes.len() {
            let end = (start + piece).min(bytes.len());
            let without = [&bytes[..start], &bytes[end..]].concat();
            match fails(&without)? {
                true => bytes = without,
                false => start = end,
            }
        }
        piece /= 2;
    }
    Ok(bytes)
}
