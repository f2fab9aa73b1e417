//! SHA-256 digests, in lower-case hexadecimal.

use sha2::{Digest, Sha256};
use teda_core::digest::hexadecimal;

/// Digest of `bytes` as they are.
#[cfg(test)]
pub(crate) fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Digest of a list of texts: over each one's length in bytes (64 bits, little-endian) and its UTF-8.
///
/// The lengths keep lists apart whose concatenations are equal, such as "ab", "c" and "a", "bc".
pub(crate) fn of_texts(texts: &[String]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    hexadecimal(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_sha256_of_lengths_and_texts() {
        assert_eq!(
            of_texts(&["ab".into(), "c".into()]),
            sha256(b"\x02\0\0\0\0\0\0\0ab\x01\0\0\0\0\0\0\0c")
        );
        assert_eq!(
            sha256(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn where_a_text_ends_matters() {
        assert_ne!(
            of_texts(&["ab".into(), "c".into()]),
            of_texts(&["a".into(), "bc".into()])
        );
    }
}
