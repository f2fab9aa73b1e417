//! The check as JUnit XML, which CI systems show: one suite per audit, one case per cell.

use std::io;
use std::path::Path;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};
use teda_core::{Error, Result};

use super::audit::{Checked, CheckedCell};
use crate::cli::key::Key;

/// Writes the report to `path`.
///
/// # Errors
/// Failed, if it cannot be written.
pub fn write(path: &Path, audits: &[Checked]) -> Result<()> {
    document(audits)
        .and_then(|xml| std::fs::write(path, xml))
        .map_err(|e| Error::failed(format!("{}: cannot write: {e}", path.display())))
}

fn document(audits: &[Checked]) -> io::Result<Vec<u8>> {
    let mut xml = Writer::new_with_indent(Vec::new(), b' ', 2);
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let count = |of: fn(&Checked) -> usize| audits.iter().map(of).sum::<usize>().to_string();
    xml.create_element("testsuites")
        .with_attribute(("name", "teda check"))
        .with_attribute(("tests", &*count(Checked::count)))
        .with_attribute(("failures", &*count(Checked::failed)))
        .write_inner_content(|xml| audits.iter().try_for_each(|audit| suite(xml, audit)))?;
    let mut bytes = xml.into_inner();
    bytes.push(b'\n');
    Ok(bytes)
}

fn suite(xml: &mut Writer<Vec<u8>>, audit: &Checked) -> io::Result<()> {
    let seconds = audit.cells.iter().filter_map(|cell| cell.cell.seconds);
    xml.create_element("testsuite")
        .with_attribute(("name", &*legal(&audit.name)))
        .with_attribute(("tests", &*audit.count().to_string()))
        .with_attribute(("failures", &*audit.failed().to_string()))
        .with_attribute(("errors", "0"))
        .with_attribute(("time", &*time(seconds.sum())))
        .write_inner_content(|xml| {
            let mut cells = audit.cells.iter();
            cells.try_for_each(|cell| case(xml, &audit.name, cell))
        })?;
    Ok(())
}

fn case(xml: &mut Writer<Vec<u8>>, audit: &str, checked: &CheckedCell) -> io::Result<()> {
    let name = legal(&Key::from(&checked.cell).to_string());
    let case = xml
        .create_element("testcase")
        .with_attribute(("name", &*name))
        .with_attribute(("classname", &*legal(audit)))
        .with_attribute(("time", &*time(checked.cell.seconds.unwrap_or(0.0))));
    if checked.ok {
        case.write_empty()?;
    } else {
        case.write_inner_content(|xml| failure(xml, checked))?;
    }
    Ok(())
}

fn failure(xml: &mut Writer<Vec<u8>>, checked: &CheckedCell) -> io::Result<()> {
    let why = legal(&checked.failures.join("; "));
    xml.create_element("failure")
        .with_attribute(("message", &*why))
        .with_attribute(("type", "limit"))
        .write_text_content(BytesText::new(&legal(&checked.cell.explanation)))?;
    Ok(())
}

fn time(seconds: f64) -> String {
    format!("{seconds:.3}")
}

/// The text with the characters that XML 1.0 cannot hold, even escaped, replaced.
fn legal(text: &str) -> String {
    let held = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    text.chars()
        .map(|c| {
            if held(c) {
                c
            } else {
                char::REPLACEMENT_CHARACTER
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_hold_is_replaced() {
        assert_eq!(
            legal("ε\t<&\u{1}\u{ffff}\u{1f600}"),
            "ε\t<&\u{fffd}\u{fffd}\u{1f600}"
        );
    }
}
