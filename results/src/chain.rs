//! The running digest of a journal: detects a line that was changed, lost, moved or taken from another run.
//!
//! # Definition
//! s₀ = SHA-256 of the header line, sᵢ = SHA-256(sᵢ₋₁ ‖ line i without its digest), and each line ends with the first
//! 64 bits of its sᵢ. A file that is cut after a whole line is still a valid journal, with fewer trials.

use sha2::{Digest, Sha256};
use teda_core::digest::hexadecimal;

/// Comes before the digest of a line, replacing the brace that closes its object.
const BEFORE: &str = r#","d":""#;
/// Comes after it.
const AFTER: &str = "\"}\n";
/// Bytes of a digest that are stored in a line.
const SHOWN: usize = 8;
/// Bytes from the end of the object's last field to the end of the line.
const TAIL: usize = BEFORE.len() + 2 * SHOWN + AFTER.len();

/// The digest of a journal's lines so far.
#[derive(Debug, Clone)]
pub(crate) struct Chain([u8; 32]);

impl Chain {
    /// The chain that begins with a header line.
    pub(crate) fn begin(header: &[u8]) -> Self {
        Self(Sha256::digest(header).into())
    }

    /// Closes the line that begins at `start` of `buffer` and is a JSON object with at least one field.
    pub(crate) fn close(&mut self, buffer: &mut Vec<u8>, start: usize) {
        buffer.pop();
        let shown = self.next(&buffer[start..]);
        buffer.extend_from_slice(BEFORE.as_bytes());
        buffer.extend_from_slice(shown.as_bytes());
        buffer.extend_from_slice(AFTER.as_bytes());
    }

    /// The object of a line as it was before it was closed; `None` if its digest is not the next one. Modifies the
    /// line.
    pub(crate) fn open<'a>(&mut self, line: &'a mut [u8]) -> Option<&'a [u8]> {
        let end = line.len().checked_sub(TAIL)?;
        let shown = self.next(&line[..end]);
        let tail = [BEFORE, &shown, AFTER].concat();
        if &line[end..] != tail.as_bytes() {
            return None;
        }
        line[end] = b'}';
        Some(&line[..=end])
    }

    fn next(&mut self, line: &[u8]) -> String {
        let hash = Sha256::new().chain_update(self.0).chain_update(line);
        self.0 = hash.finalize().into();
        hexadecimal(&self.0[..SHOWN])
    }
}
