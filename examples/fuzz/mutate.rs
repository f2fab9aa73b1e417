//! Sound inputs made hostile.

use teda_core::{Seed, Stream};

use crate::kinds::Kind;

/// Changes of one input at most.
const MOST: usize = 6;
/// Bytes that an input grows to at most, so that size alone is rarely what is tried.
const LONGEST: usize = 1 << 20;

/// Numbers that programs stumble over, as text.
const NUMBERS: [&str; 24] = [
    "0",
    "-1",
    "1",
    "2",
    "3",
    "7",
    "127",
    "255",
    "256",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "-9223372036854775808",
    "1e308",
    "1e999",
    "-1e-308",
    "0.1",
    "NaN",
    "null",
];

/// And as bytes.
const WORDS: [u64; 14] = [
    0,
    1,
    2,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    0x1_0000_0000,
    u64::MAX / 8,
    u64::MAX / 2,
    u64::MAX - 1,
    u64::MAX,
];

/// Pieces of text that readers of text stumble over.
const PIECES: [&str; 22] = [
    "\0",
    "\r",
    "\n",
    "\"",
    "\\",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\u{feff}",
    "\u{1b}[31m",
    "\u{202e}",
    "\u{d7ff}",
    "=cmd|' /C calc'!A1",
    "%s%n",
    "../../../../etc/passwd",
    "<script>",
    "{{",
    "{%",
    "\u{2028}",
];

/// Input number `number` of a kind: a sound one after a few changes.
pub fn input(kind: &Kind, corpus: &[Vec<u8>], seed: u64, number: u64) -> Vec<u8> {
    let node = Seed::root(seed).named(kind.name).at(number);
    let mut coins = node.stream();
    let mut bytes = corpus[coins.below(corpus.len())].clone();
    // The lesser of two draws: most inputs are changed once or twice, and get far.
    let changes = coins.below(MOST).min(coins.below(MOST));
    for _ in 0..=changes {
        change(&mut bytes, kind, corpus, &mut coins);
        bytes.truncate(LONGEST);
    }
    bytes
}

/// A place in `bytes`, more often near the beginning, where headers are.
fn place(bytes: &[u8], coins: &mut Stream) -> usize {
    let length = bytes.len() + 1;
    match coins.below(3) {
        0 => coins.below(length.min(64)),
        _ => coins.below(length),
    }
}

/// A range of `bytes`, most often a short one.
fn range(bytes: &[u8], coins: &mut Stream) -> std::ops::Range<usize> {
    let start = place(bytes, coins);
    let longest = [2, 8, 64, 4096][coins.below(4)];
    start..(start + coins.below(longest)).min(bytes.len())
}

fn change(bytes: &mut Vec<u8>, kind: &Kind, corpus: &[Vec<u8>], coins: &mut Stream) {
    match coins.below(12) {
        0 | 1 => {
            let at = place(bytes, coins);
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << coins.below(8);
            }
        }
        2 => {
            let at = place(bytes, coins);
            if let Some(byte) = bytes.get_mut(at) {
                *byte = coins.below(256) as u8;
            }
        }
        3 => drop(bytes.drain(range(bytes, coins))),
        4 => {
            let piece = bytes[range(bytes, coins)].to_vec();
            insert(bytes, &piece, coins);
        }
        5 => {
            let other = &corpus[coins.below(corpus.len())];
            let piece = other[range(other, coins)].to_vec();
            insert(bytes, &piece, coins);
        }
        6 | 7 => number(bytes, coins),
        8 => {
            let width = [1, 2, 4, 8][coins.below(4)];
            let word = WORDS[coins.below(WORDS.len())].to_le_bytes();
            let at = place(bytes, coins);
            let end = (at + width).min(bytes.len());
            bytes[at..end].copy_from_slice(&word[..end - at]);
        }
        9 => {
            let piece = PIECES[coins.below(PIECES.len())];
            insert(bytes, piece.as_bytes(), coins);
        }
        10 => match kind.dictionary {
            [] => bytes.truncate(place(bytes, coins)),
            words => {
                let word = words[coins.below(words.len())];
                insert(bytes, word.as_bytes(), coins);
            }
        },
        _ => {
            let piece = bytes[range(bytes, coins)].to_vec();
            let times = [2, 10, 100, 10_000][coins.below(4)];
            let most = LONGEST / piece.len().max(1);
            let piece = piece.repeat(times.min(most));
            insert(bytes, &piece, coins);
        }
    }
}

fn insert(bytes: &mut Vec<u8>, piece: &[u8], coins: &mut Stream) {
    let at = place(bytes, coins);
    bytes.splice(at..at, piece.iter().copied());
}

/// Writes another number where one stands.
fn number(bytes: &mut Vec<u8>, coins: &mut Stream) {
    let starts: Vec<usize> = (0..bytes.len())
        .filter(|at| bytes[*at].is_ascii_digit() && (*at == 0 || !bytes[*at - 1].is_ascii_digit()))
        .take(4096)
        .collect();
    if starts.is_empty() {
        return;
    }
    let start = starts[coins.below(starts.len())];
    let digits = bytes[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit());
    let end = start + digits.count();
    let other = NUMBERS[coins.below(NUMBERS.len())];
    bytes.splice(start..end, other.bytes());
}
