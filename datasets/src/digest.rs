//! SHA-256 digests, in lower-case hexadecimal.

use sha2::{Digest, Sha256};
use teda_core::digest::hexadecimal;

use crate::RecordedRelease;

/// Digest of `bytes`, unmodified.
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
        add(&mut hash, text);
    }
    hexadecimal(&hash.finalize())
}

/// Digest of a list of releases: over each one's source and release, both as in [`of_texts`], and then its ε: a byte 0
/// if there is none, otherwise a byte 1 and the number (64 bits, little-endian).
pub(crate) fn of_releases(releases: &[RecordedRelease]) -> String {
    let mut hash = Sha256::new();
    for recorded in releases {
        add(&mut hash, &recorded.source);
        add(&mut hash, &recorded.release);
        match recorded.epsilon {
            None => hash.update([0]),
            Some(epsilon) => {
                hash.update([1]);
                hash.update(epsilon.to_le_bytes());
            }
        }
    }
    hexadecimal(&hash.finalize())
}

fn add(hash: &mut Sha256, text: &str) {
    hash.update((text.len() as u64).to_le_bytes());
    hash.update(text);
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
    fn the_digest_of_releases_is_of_texts_and_numbers() {
        let releases = [
            RecordedRelease {
                source: "ab".into(),
                release: "c".into(),
                epsilon: Some(1.0),
            },
            RecordedRelease {
                source: "d".into(),
                release: String::new(),
                epsilon: None,
            },
        ];
        let bytes = [
            b"\x02\0\0\0\0\0\0\0ab\x01\0\0\0\0\0\0\0c\x01\0\0\0\0\0\0\xf0\x3f".as_slice(),
            b"\x01\0\0\0\0\0\0\0d\0\0\0\0\0\0\0\0\0",
        ];
        assert_eq!(of_releases(&releases), sha256(&bytes.concat()));
    }

    #[test]
    fn where_a_text_ends_matters() {
        assert_ne!(
            of_texts(&["ab".into(), "c".into()]),
            of_texts(&["a".into(), "bc".into()])
        );
    }
}
