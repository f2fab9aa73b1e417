//! The font of the pictures, and the width of text in it.
//!
//! The font is part of the program (`font/`), so that a picture is the same on every machine.

use plotters::style::{FontStyle, IntoFont, register_font};
use std::sync::OnceLock;
use teda_core::{Error, Result};

/// The family as named by plotters and SVG. A viewer of the SVG without DejaVu Sans uses Verdana, which has the same
/// width, or whatever it has.
pub const FAMILY: &str = "DejaVu Sans, Verdana, sans-serif";

/// Height of the font's line, ascent to descent, in em: plotters measures bitmap text by it.
pub const LINE_HEIGHT: f64 = (1901.0 + 483.0) / 2048.0;

const BYTES: &[u8] = include_bytes!("font/DejaVuSans-subset.ttf");

/// Characters of a text that are used; no line of a picture has room for more.
const LONGEST: usize = 600;

/// Text is measured at this size in pixels, since plotters rounds widths to whole pixels.
const MEASURED: f64 = 1000.0;

/// Registers the font with plotters; further calls do nothing.
///
/// # Errors
/// Failed, if the font in the program is damaged.
pub fn register() -> Result<()> {
    static REGISTERED: OnceLock<bool> = OnceLock::new();
    let registered =
        *REGISTERED.get_or_init(|| register_font(FAMILY, FontStyle::Normal, BYTES).is_ok());
    if registered {
        Ok(())
    } else {
        Err(Error::failed("the font of the plots cannot be read"))
    }
}

/// The width of `text` at `size` pixels per em.
pub fn width(text: &str, size: f64) -> f64 {
    let measured = (FAMILY, MEASURED).into_font().box_size(text);
    measured.map_or(0.0, |(width, _)| f64::from(width)) / MEASURED * size * LINE_HEIGHT
}

/// `text` in at most `lines` lines of at most `limit` pixels; text that does not fit is cut with `…`.
///
/// Lines end at spaces if possible; otherwise inside a word, after a hyphen if it has one.
pub fn wrap(text: &str, size: f64, limit: f64, lines: usize) -> Vec<String> {
    let text: String = text.chars().take(LONGEST).collect();
    let mut wrapped = vec![String::new()];
    for word in text.split_whitespace() {
        let mut rest = word;
        while !rest.is_empty() {
            let line = wrapped.last().map_or("", String::as_str);
            let joined = if line.is_empty() {
                rest.to_owned()
            } else {
                format!("{line} {rest}")
            };
            if width(&joined, size) <= limit {
                wrapped.pop();
                wrapped.push(joined);
                rest = "";
            } else if line.is_empty() {
                let most = fitting(rest, size, limit);
                let cut = rest[..most].rfind('-').map_or(most, |hyphen| hyphen + 1);
                wrapped.pop();
                wrapped.extend([rest[..cut].to_owned(), String::new()]);
                rest = &rest[cut..];
            } else {
                wrapped.push(String::new());
            }
        }
    }
    if wrapped.len() > 1 && wrapped.last().is_some_and(String::is_empty) {
        wrapped.pop();
    }
    if wrapped.len() > lines {
        wrapped.truncate(lines);
        if let Some(last) = wrapped.last_mut() {
            *last = shorten(&format!("{last}…"), size, limit);
        }
    }
    wrapped
}

/// `text` if it is at most `limit` pixels wide, otherwise its beginning with `…`.
fn shorten(text: &str, size: f64, limit: f64) -> String {
    if width(text, size) <= limit {
        return text.to_owned();
    }
    let cut = fitting(text, size, limit - width("…", size));
    format!("{}…", &text[..cut])
}

/// Bytes of the longest beginning of `text` that is at most `limit` pixels wide, but at least one character.
fn fitting(text: &str, size: f64, limit: f64) -> usize {
    let ends = text.char_indices().map(|(start, c)| start + c.len_utf8());
    let fits = ends
        .clone()
        .take_while(|&end| width(&text[..end], size) <= limit);
    fits.last().or_else(|| ends.clone().next()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_character_that_the_program_writes_has_a_glyph() {
        register().unwrap();
        let box_width = width("\u{4e00}", 100.0);
        for c in "εδλα…–—×±−≤≥≈→%éüß·".chars() {
            assert!(width(&c.to_string(), 100.0) != box_width, "{c}");
        }
        assert!(width("mm", 100.0) > 1.9 * width("m", 100.0));
    }

    #[test]
    fn lines_keep_to_their_limit_and_lose_no_word_that_fits() {
        register().unwrap();
        let text = "one two three four five six seven";
        for limit in [30.0, 60.0, 90.0, 200.0] {
            let lines = wrap(text, 15.0, limit, 99);
            assert!(
                lines.iter().all(|line| width(line, 15.0) <= limit),
                "{lines:?}"
            );
            let joined: String = lines.concat().split_whitespace().collect();
            assert_eq!(joined, text.replace(' ', ""));
        }
        assert_eq!(wrap("", 15.0, 100.0, 2), [""]);
        let cut = wrap(&"word ".repeat(5000), 15.0, 100.0, 2);
        assert!(cut.len() == 2 && cut[1].ends_with('…') && width(&cut[1], 15.0) <= 100.0);
        assert_eq!(wrap("abc", 15.0, 0.0, 9).len(), 3);
    }
}
