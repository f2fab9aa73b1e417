//! Tokenizers: the library's calls, made safe against crashes.
//!
//! The library trusts its files. It panics on some broken files, and does whatever a file says however long that
//! takes. So a file is checked first, and calls of the library run where a panic becomes an error: not every broken
//! file can be detected beforehand, for example maps of characters that point outside themselves.

use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Deserialize;
use serde_json::Value;
use teda_core::{Error, Result};
use tokenizers::Tokenizer;

/// The most that a text may grow, as a factor, before it is cut into tokens; with T5's tokenizer a text grows by a
/// factor of 100 if every letter is the worst.
const GROWTH: usize = 4096;
/// Most letters in a word that is looked up at every split.
const WORD: usize = 1000;

/// The parts of `tokenizer.json` that are checked; the vocabulary is not.
#[derive(Deserialize)]
struct Outline {
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    pre_tokenizer: Value,
    #[serde(default)]
    decoder: Value,
    model: Model,
}

#[derive(Deserialize)]
struct Model {
    max_input_chars_per_word: Option<usize>,
}

/// Runs a call of a library that panics on some broken files. Whatever it worked on is dropped with the error.
///
/// # Errors
/// If it panics.
pub(super) fn caught<T>(call: impl FnOnce() -> T) -> std::result::Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        let text: String = text
            .unwrap_or("for no reason that it says")
            .chars()
            .take(200)
            .collect();
        format!("the library that reads it gave up: {text}")
    })
}

/// Parses the tokenizer in the content of the file `file`.
///
/// # Errors
/// If it is invalid, or would let texts grow without bound.
pub(super) fn read(file: &str, bytes: &[u8]) -> Result<Tokenizer> {
    let bad = |what: String| {
        Error::failed(format!(
            "{file}: not a tokenizer in the format of the tokenizers library: {what}"
        ))
    };
    let outline: Outline = serde_json::from_slice(bytes).map_err(|e| bad(e.to_string()))?;
    for (name, part) in [
        ("normalizer", &outline.normalizer),
        ("decoder", &outline.decoder),
        ("pre_tokenizer", &outline.pre_tokenizer),
    ] {
        let growth = growth(part);
        if growth > GROWTH {
            return Err(bad(format!(
                "its {name} makes a text up to {growth} times as long, at most {GROWTH} times is read"
            )));
        }
    }
    if let Some(word) = outline.model.max_input_chars_per_word
        && word > WORD
    {
        return Err(bad(format!(
            "max_input_chars_per_word is {word}, at most {WORD} are read"
        )));
    }
    caught(|| Tokenizer::from_bytes(bytes))
        .map_err(&bad)?
        .map_err(|e| bad(e.to_string()))
}

/// The largest factor by which a part of a tokenizer may lengthen a text.
fn growth(part: &Value) -> usize {
    let length = |value: &Value| value.as_str().map_or(0, str::len);
    let mut factor: usize = 1;
    for parts in ["normalizers", "pretokenizers", "decoders"] {
        for part in part[parts].as_array().into_iter().flatten() {
            factor = factor.saturating_mul(growth(part));
        }
    }
    let own = if part["pattern"].is_null() {
        // ByteLevel writes a byte as a character of up to two bytes, Metaspace a space as one of up to four.
        match part["type"].as_str() {
            Some("ByteLevel") => 2,
            Some("Metaspace") => 4,
            _ => {
                1 + length(&part["prepend"]) + longest(length(&part["precompiled_charsmap"]), part)
            }
        }
    } else {
        // A pattern may match nothing, which inserts the new text between all letters.
        let content = length(&part["content"]);
        match part["pattern"]["String"].as_str() {
            Some(text) if !text.is_empty() => content.div_ceil(text.len()).max(1),
            _ => 1 + content,
        }
    };
    factor.saturating_mul(own)
}

/// The longest text that a map of characters, in Base64, writes for a character; 0 without a map.
fn longest(length: usize, part: &Value) -> usize {
    if length == 0 {
        return 0;
    }
    let map = base64(part["precompiled_charsmap"].as_str().unwrap_or(""));
    // The size of a search tree, the tree, and texts that each end with a zero.
    let tree = map
        .first_chunk()
        .map_or(0, |size| u32::from_le_bytes(*size));
    let texts = map.get(4 + tree as usize..).unwrap_or(&map);
    let longest = texts.split(|byte| *byte == 0).map(<[u8]>::len).max();
    longest.unwrap_or(0)
}

/// The bytes that a Base64 text encodes; other characters are skipped.
fn base64(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut held, mut bits) = (0_u32, 0);
    for letter in text.bytes() {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => continue,
        };
        held = held << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
        }
    }
    bytes
}

/// The tokens of `text`.
///
/// # Errors
/// If the tokenizer fails.
pub(crate) fn encode(tokenizer: &Tokenizer, text: &str, special: bool) -> Result<Vec<u32>> {
    caught(|| tokenizer.encode_fast(text, special))
        .and_then(|encoding| encoding.map_err(|e| e.to_string()))
        .map(|encoding| encoding.get_ids().to_vec())
        .map_err(|e| Error::failed(format!("the model's tokenizer: {e}")))
}

/// The text of `tokens`, without special ones.
///
/// # Errors
/// If the tokenizer fails.
pub(crate) fn decode(tokenizer: &Tokenizer, tokens: &[u32]) -> Result<String> {
    decoded(tokenizer, tokens, true)
}

/// The text of `tokens`, special ones by their names.
///
/// # Errors
/// If the tokenizer fails.
pub(crate) fn decode_all(tokenizer: &Tokenizer, tokens: &[u32]) -> Result<String> {
    decoded(tokenizer, tokens, false)
}

fn decoded(tokenizer: &Tokenizer, tokens: &[u32], without_special: bool) -> Result<String> {
    caught(|| tokenizer.decode(tokens, without_special))
        .and_then(|text| text.map_err(|e| e.to_string()))
        .map_err(|e| Error::failed(format!("the model's tokenizer: {e}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read() {
        assert_eq!(base64("aGVsbG8gd29ybGQ="), b"hello world");
        assert_eq!(base64(""), b"");
    }

    #[test]
    fn growth_is_that_of_the_worst_text() {
        let part = |text: &str| growth(&serde_json::from_str(text).unwrap());
        assert_eq!(part("null"), 1);
        assert_eq!(part(r#"{"type": "NFC"}"#), 1);
        let replace = r#"{"type": "Replace", "pattern": {"String": " "}, "content": "▁"}"#;
        assert_eq!(part(replace), 3);
        let twice = format!(r#"{{"type": "Sequence", "normalizers": [{replace}, {replace}]}}"#);
        assert_eq!(part(&twice), 9);
        let every = r#"{"type": "Replace", "pattern": {"Regex": ""}, "content": "abc"}"#;
        assert_eq!(part(every), 4);
    }
}
