//! Text as HTML: whatever it holds, it stays text.

use std::borrow::Cow;
use std::fmt::Write;

use teda_core::plain;

/// A text on one line: characters that steer a terminal or the direction of writing are escaped, and so are those that mean
/// something in HTML.
#[must_use]
pub fn text(text: &str) -> String {
    escaped(&plain(text))
}

/// A text of several lines, as it is, for `<pre>`.
#[must_use]
pub fn lines(text: &str) -> String {
    escaped(&teda_core::plain_lines(text))
}

fn escaped(text: &str) -> String {
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html += "&amp;",
            '<' => html += "&lt;",
            '>' => html += "&gt;",
            '"' => html += "&quot;",
            '\'' => html += "&#39;",
            other => html.push(other),
        }
    }
    html
}

/// A text of the data, whose direction of writing stays its own.
#[must_use]
pub fn foreign(text: &str) -> String {
    format!("<bdi dir=\"auto\">{}</bdi>", self::text(text))
}

/// JSON inside `<script type="application/json">`: no text in it can end the element, or turn a line of its source.
#[must_use]
pub fn json(json: &str) -> String {
    let mut html = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<'
            | '>'
            | '&'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' => {
                let _ = write!(html, "\\u{:04x}", c as u32);
            }
            other => html.push(other),
        }
    }
    html
}

/// A cell of a table.
pub enum Td<'a> {
    /// Words of the program.
    Words(Cow<'a, str>),
    /// A text of the data.
    Foreign(&'a str),
    /// A number, by which a column is sorted, and how it is shown.
    Number(f64, String),
    /// A share, shown by how dark the cell is, too.
    Heat(f64, String),
    /// Nothing.
    Empty,
}

/// A table with a caption, in a box that scrolls sideways and can be reached by keyboard.
#[must_use]
pub fn table(caption: &str, sortable: bool, head: &[&str], rows: &[Vec<Td<'_>>]) -> String {
    let class = if sortable { " class=\"sortable\"" } else { "" };
    let name = text(caption);
    let mut html = format!(
        "<div class=\"wide\" tabindex=\"0\"><table{class}><caption>{name}</caption><thead><tr>"
    );
    for word in head {
        let _ = write!(html, "<th scope=\"col\">{}</th>", text(word));
    }
    html += "</tr></thead><tbody>";
    for row in rows {
        html += "<tr>";
        for cell in row {
            html += &match cell {
                Td::Words(words) => format!("<td>{}</td>", text(words)),
                Td::Foreign(words) => format!("<td class=\"text\">{}</td>", foreign(words)),
                Td::Number(value, shown) => {
                    format!(
                        "<td class=\"n\" data-value=\"{value}\">{}</td>",
                        text(shown)
                    )
                }
                Td::Heat(share, shown) => {
                    let level = (share.clamp(0.0, 1.0) * 10.0).round() as u32;
                    format!("<td class=\"heat h{level}\">{}</td>", text(shown))
                }
                Td::Empty => "<td></td>".to_owned(),
            };
        }
        html += "</tr>";
    }
    html + "</tbody></table></div>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_markup() {
        let hostile = "</script><img src=x onerror=\"alert('1')\">&\u{202e}\u{0}\n";
        let shown = text(hostile);
        assert!(
            !shown.contains(['<', '>', '"', '\'', '\u{202e}', '\u{0}', '\n']),
            "{shown}"
        );
        assert!(shown.starts_with(
            "&lt;/script&gt;&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;"
        ));
        assert!(foreign(hostile).starts_with("<bdi dir=\"auto\">&lt;"));
    }

    #[test]
    fn json_stays_json_and_cannot_end_its_element() {
        let document = serde_json::json!({ "text": "</script><!--\u{2028}\u{202e}&" });
        let written = json(&document.to_string());
        assert!(
            written.is_ascii() && !written.contains(['<', '>', '&']),
            "{written}"
        );
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&written).unwrap(),
            document
        );
    }
}
