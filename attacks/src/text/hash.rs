//! Words as numbers: a hash that is the same on every machine, and tables keyed by it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// 64-bit FNV-1a with a final mix: for words, whose collisions would only cost a guess.
pub fn hash(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in bytes {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    mix(hash)
}

/// Spreads the bits of a number over all of its bits (the finaliser of SplitMix64).
pub(super) fn mix(number: u64) -> u64 {
    let z = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A table keyed by hashes. Its order is never used.
pub type Table<T> = HashMap<u64, T, BuildHasherDefault<Same>>;

/// Uses a hash as it is.
#[derive(Default)]
pub struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash(bytes.iter().copied());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}
