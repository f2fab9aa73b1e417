//! The lines exchanged between an audit and a process: one JSON object per query, and one per answer.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};
use teda_core::Seed;

/// Most bytes in an answer's line.
pub const LONGEST: usize = 10_000_000;

/// A query as a process reads it.
#[derive(Serialize)]
pub struct Line<'a> {
    /// Identifies the query.
    pub id: u64,
    /// The private text.
    pub text: &'a str,
    /// A possible release, in scoring queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub release: Option<&'a str>,
    /// Nominal ε.
    pub epsilon: Option<f64>,
    /// The source of all coins; 0 if none are tossed.
    pub seed: u64,
}

/// Appends a line.
pub fn write(line: &Line<'_>, lines: &mut Vec<u8>) {
    line.serialize(&mut Serializer::with_formatter(&mut *lines, Ascii))
        .expect("strings and numbers are JSON, and memory takes all bytes");
    lines.push(b'\n');
}

/// The seed as sent to a process: 53 bits, which every JSON reader preserves exactly, even one whose only numbers are
/// doubles. They reveal nothing about the streams below `seed`.
pub fn number(seed: &Seed) -> u64 {
    let digest = seed.digest();
    let (first, _) = digest.split_first_chunk().expect("a digest has 32 bytes");
    u64::from_le_bytes(*first) >> 11
}

/// Escapes everything that is not ASCII, so that the encoding that a process expects does not matter.
struct Ascii;

impl Formatter for Ascii {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        for character in fragment.chars() {
            if character.is_ascii() {
                writer.write_all(&[character as u8])?;
            } else {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(writer, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}

/// The fields of an answer; others are ignored.
#[derive(Debug, Deserialize)]
pub struct Fields {
    /// The query's id.
    pub id: u64,
    /// A release.
    pub text: Option<String>,
    /// How likely a release is: any value, since it is ignored in an answer that should hold a release.
    pub log_likelihood: Option<Value>,
    /// Why there is no answer.
    pub error: Option<String>,
}

/// Parses an answer.
///
/// # Errors
/// A description of the error, as in "the answer '…' …".
pub fn read(line: &[u8]) -> Result<Fields, String> {
    // Fields could also be read from an array.
    if !line.trim_ascii_start().starts_with(b"{") {
        return Err("is not a JSON object".to_owned());
    }
    serde_json::from_slice(line).map_err(|e| format!("is refused ({e})"))
}

/// The beginning of what a process wrote, safe to show on a terminal.
pub fn shown(bytes: &[u8]) -> String {
    const CHARACTERS: usize = 200;
    // No character has more than four bytes: this is enough for one character too many.
    let beginning = &bytes[..bytes.len().min(4 * (CHARACTERS + 1))];
    let text = presentable(beginning);
    let text = text.trim();
    match text.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// What a process wrote, without terminal control characters.
pub fn presentable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes)
        .chars()
        .map(|c| match c {
            '\n' | '\t' => c,
            '\r' => ' ',
            c if c.is_control() => char::REPLACEMENT_CHARACTER,
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use teda_core::Query;

    use super::super::question::Question;
    use super::*;

    fn line(text: &str, epsilon: Option<f64>) -> String {
        let seed = Seed::root(5);
        let mut lines = Vec::new();
        write(&Query { text, seed }.line(7, epsilon), &mut lines);
        String::from_utf8(lines).unwrap()
    }

    #[test]
    fn a_query_is_one_line_of_ascii_that_reads_back_as_it_was() {
        let text = "a \"quote\"\n\r\n\0\u{7f}\u{2028} $(x) `y` \\ é 日 😀";
        let line = line(text, Some(0.1));
        assert!(line.is_ascii() && line.ends_with('\n') && line.matches('\n').count() == 1);
        let value: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["id"], 7);
        assert_eq!(value["text"], text);
        assert_eq!(value["epsilon"], 0.1);
        assert_eq!(value["seed"], number(&Seed::root(5)));
    }

    /// Recorded results must never change: this number is part of the contract.
    #[test]
    fn seeds_are_pinned_and_exact_as_doubles() {
        assert_eq!(number(&Seed::root(7).named("snips").at(3)), PINNED);
        for i in 0..1000 {
            assert!(number(&Seed::root(1).at(i)) < 1 << 53);
        }
    }
    const PINNED: u64 = 2_224_122_668_781_807;

    #[test]
    fn what_is_no_answer_is_refused() {
        for line in [
            "loading",
            "[1,\"x\",null]",
            "3",
            "{\"id\":1",
            "{\"id\":1,\"text\":\"a\"} {}",
            "{\"id\":1,\"id\":1,\"text\":\"a\"}",
            "{\"id\":1,\"text\":5}",
            "{\"id\":1,\"error\":{}}",
            "{\"id\":\"1\",\"text\":\"a\"}",
            "{\"id\":-1,\"text\":\"a\"}",
            "{\"text\":\"a\"}",
            "{\"id\":1,\"text\":\"\\ud800\"}",
            "{\"id\":1,\"log_likelihood\":-Infinity}",
            "{\"id\":1,\"log_likelihood\":NaN}",
            "{\"id\":1,\"log_likelihood\":1e999}",
        ] {
            assert!(read(line.as_bytes()).is_err(), "{line}");
        }
        assert!(read(b"{\"id\":1,\"text\":\"\xff\"}").is_err());
    }

    #[test]
    fn what_is_shown_is_short_and_harmless() {
        assert_eq!(
            shown(b"\x1b[31mred\x07 \xff\n"),
            "\u{fffd}[31mred\u{fffd} \u{fffd}"
        );
        let long = shown("é".repeat(1000).as_bytes());
        assert_eq!(long, format!("{}…", "é".repeat(200)));
    }
}
