//! Makes foreign texts safe to show.
//!
//! A file's name, a column's name or a server's message may hold characters that control a terminal, reverse the
//! direction of what follows, break a line or break an XML file. They are shown as Rust writes them: `\u{1b}`, `\n`.
//! Whatever prints, draws or exports foreign text passes it through here; all other texts come out unchanged.

use std::borrow::Cow;

/// Most names in a list in a message.
const LISTED: usize = 20;
/// Characters of one name in such a list.
const NAME: usize = 60;
/// Characters of a text that a message quotes.
const QUOTED: usize = 200;

/// `text` on one line, with every character that is not plain text escaped.
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    escaped(text, steers)
}

/// Like [`plain`], for a text of several lines: line feeds and tabs stay.
#[must_use]
pub fn plain_lines(text: &str) -> Cow<'_, str> {
    escaped(text, |c| steers(c) && !matches!(c, '\n' | '\t'))
}

/// Like [`plain`], but cuts a long text after its beginning: for messages that quote the contents of a file.
#[must_use]
pub fn shown(text: &str) -> String {
    beginning(text, QUOTED)
}

/// Names in a message, for any number of names: the first of them, and how many more there are.
#[must_use]
pub fn listed<N: AsRef<str>>(names: &[N]) -> String {
    let first = names.iter().take(LISTED);
    let first: Vec<String> = first.map(|name| beginning(name.as_ref(), NAME)).collect();
    let more = match names.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    first.join(", ") + &more
}

fn beginning(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", plain(&text[..end])),
        None => plain(text).into_owned(),
    }
}

/// Whether a character is more than plain text: control characters of both sets, overrides and isolates of direction,
/// line separators, and characters not allowed in XML files.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{202a}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}'
                | '\u{2028}'
                | '\u{2029}'
                | '\u{fffe}'
                | '\u{ffff}'
        )
}

fn escaped(text: &str, refused: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&refused) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            _ if !refused(c) => out.push(c),
            '\n' | '\r' | '\t' => out.extend(c.escape_default()),
            _ => out.extend(c.escape_unicode()),
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_is_escaped_and_all_else_stays() {
        let hostile = "a\u{1b}[2J\r\n\t\u{9b}1m\u{7f}\u{202e}b\u{2066}\u{2028}\u{ffff}\0";
        let said = r"a\u{1b}[2J\r\n\t\u{9b}1m\u{7f}\u{202e}b\u{2066}\u{2028}\u{ffff}\u{0}";
        assert_eq!(plain(hostile), said);
        assert_eq!(plain_lines("a\n\tb\r\u{1b}"), "a\n\tb\\r\\u{1b}");
        for ordinary in ["", "a b", "ε ≥ 2; \"ü\" \\n", "你好 🎉", "שלום\u{200f}"] {
            assert!(matches!(plain(ordinary), Cow::Borrowed(same) if same == ordinary));
        }
    }

    #[test]
    fn long_lists_and_long_names_are_cut() {
        assert_eq!(listed(&["a", "b\u{1b}"]), r"a, b\u{1b}");
        let names: Vec<String> = (0..50_000).map(|i| format!("c{i}")).collect();
        let list = listed(&names);
        assert!(list.starts_with("c0, c1, ") && list.ends_with("c19 and 49980 more"));
        assert_eq!(listed(&["x".repeat(61)]), "x".repeat(60) + "…");
        assert_eq!(shown(&"é".repeat(300)), "é".repeat(200) + "…");
    }
}
