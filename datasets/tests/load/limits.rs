//! Inputs that are larger than they look, longer than any memory, or listed without end.

use std::io::Read;

use teda_core::Error;
use teda_datasets::{Limits, load, parse, parse_recorded};

use crate::parquet::{Column, parquet, strings};
use crate::support::{Folder, gzip, request, says};

/// Small ones, so that tests need no large files.
const SMALL: Limits = Limits {
    text: 1000,
    input: 100_000,
};

fn refused(name: &str, bytes: &[u8], limits: Limits) -> String {
    match parse(name, bytes, limits) {
        Err(Error::Usage(message)) => message,
        other => panic!("{name}: not a usage error: {other:?}"),
    }
}

/// Bytes of a reader that were asked for.
struct Counted<R>(R, usize);

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let came = self.0.read(buffer)?;
        self.1 += came;
        Ok(came)
    }
}

#[test]
fn a_line_without_an_end_is_left_where_the_limit_is() {
    let mut endless = Counted(std::io::repeat(b'x'), 0);
    let error = load(&request("-"), Limits::default(), &mut endless).unwrap_err();
    says(
        &error.to_string(),
        &["'stdin', line 1", "4194304 bytes", "--max-text-bytes"],
    );
    // What was read, and so what is in memory, is little more than the limit.
    assert!(endless.1 < 5 << 20, "{} bytes", endless.1);
    let mut lines = Counted(std::io::repeat(b'\n'), 0);
    let error = load(&request("-"), SMALL, &mut lines).unwrap_err();
    says(
        &error.to_string(),
        &["'stdin' has more than 100000 bytes", "--max-input-bytes"],
    );
    assert!(lines.1 < 200_000, "{} bytes", lines.1);
}

#[test]
fn texts_and_lines_have_a_limit_in_every_format() {
    let long = "x".repeat(1001);
    let fits = "x".repeat(980);
    // Two lines, neither of which is too long.
    let wide = format!("{0}\n{0}", "x".repeat(600));
    for (name, content, place) in [
        ("a.txt", format!("ok\n{long}\n"), "line 2"),
        ("a.jsonl", format!("\"ok\"\n\"{long}\"\n"), "line 2"),
        ("a.csv", format!("text\nok\n\"{wide}\"\n"), "line 3"),
        ("a.tsv", format!("text\n{long}"), "line 2"),
    ] {
        let message = refused(name, content.as_bytes(), SMALL);
        says(&message, &[name, place, "1000", "--max-text-bytes"]);
        let packed = format!("{name}.gz");
        let message = refused(&packed, &gzip(content), SMALL);
        says(&message, &[name, place, "1000", "--max-text-bytes"]);
    }
    let message = refused(
        "a.parquet",
        &parquet(vec![strings("text", &["ok", &wide])]),
        SMALL,
    );
    says(
        &message,
        &["row 2", "1201 bytes", "1000", "--max-text-bytes"],
    );
    for content in [format!("{fits}\nb"), format!("\r\n{fits}\r\nb\r\n")] {
        assert_eq!(
            parse("a.txt", content.as_bytes(), SMALL).unwrap().texts,
            [fits.as_str(), "b"]
        );
    }
    let released = format!("source,release\na,\"{wide}\"\n");
    let error = parse_recorded("a.csv", released.as_bytes(), SMALL).unwrap_err();
    says(
        &error.to_string(),
        &["a.csv", "line 2", "1201 bytes", "--max-text-bytes"],
    );
}

#[test]
fn what_unpacks_to_more_than_there_may_be_is_refused() {
    let lines = "a\n".repeat(10_000_000);
    let bomb = gzip(&lines);
    assert!(bomb.len() < 100_000);
    let message = refused("bomb.txt.gz", &bomb, SMALL);
    says(
        &message,
        &[
            "'bomb.txt.gz' unpacks to more than 100000 bytes",
            "--max-input-bytes",
        ],
    );
    let folder = Folder::new();
    let plain = folder.file("large.txt", &lines);
    let error = load(&request(&plain), SMALL, &mut std::io::empty()).unwrap_err();
    says(
        &error.to_string(),
        &[
            "large.txt' has 20000000 bytes",
            "100000",
            "--max-input-bytes",
        ],
    );
    // Every row is the same long text, which the file holds once.
    let text = "x".repeat(900);
    let rows = vec![text.as_str(); 20_000];
    let bytes = parquet(vec![strings("source", &rows), strings("release", &rows)]);
    assert!(bytes.len() < 20_000, "{} bytes", bytes.len());
    let error = parse_recorded("bomb.parquet", &bytes, SMALL).unwrap_err();
    says(
        &error.to_string(),
        &["'bomb.parquet' unpacks to", "100000", "--max-input-bytes"],
    );
    let wider = Limits {
        input: 10_000_000,
        ..SMALL
    };
    let error = parse_recorded("bomb.parquet", &bytes, wider).unwrap_err();
    says(&error.to_string(), &["has texts that take", "10000000"]);
}

/// Of short texts, what they take besides is most of it.
#[test]
fn many_short_texts_fill_no_memory() {
    let lines: String = (0..9_000).map(|i| format!("{i}\n")).collect();
    assert!(lines.len() < 50_000);
    let message = refused("a.txt", lines.as_bytes(), SMALL);
    says(
        &message,
        &["has texts that take", "100000", "--max-input-bytes"],
    );
    let equal = "again\n".repeat(9_000);
    let read = parse("a.txt", equal.as_bytes(), SMALL).unwrap();
    assert_eq!((read.texts.len(), read.merged), (1, 8_999));
}

/// A device has no end, and what it says is read only as far as it could be what its name says.
#[cfg(unix)]
#[test]
fn a_device_under_the_name_of_a_file_ends() {
    let folder = Folder::new();
    for name in [
        "zero.txt",
        "zero.jsonl",
        "zero.csv",
        "zero.parquet",
        "zero.csv.gz",
    ] {
        let path = folder.path(name);
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        let error = load(&request(&path), Limits::default(), &mut std::io::empty());
        assert!(
            matches!(&error, Err(Error::Usage(m)) if m.contains(name)),
            "{error:?}"
        );
    }
}

#[test]
fn a_key_that_is_given_twice_is_named() {
    let twice = "{\"text\":\"a\"}\n{\"text\":\"b\",\"id\":1,\"text\":\"c\"}\n";
    let message = refused("a.jsonl", twice.as_bytes(), Limits::default());
    says(
        &message,
        &["'a.jsonl', line 2", "key 'text' is given twice"],
    );
    let released = "{\"source\":\"a\",\"release\":\"b\",\"epsilon\":1,\"epsilon\":8}\n";
    let error = parse_recorded("a.jsonl", released.as_bytes(), Limits::default()).unwrap_err();
    says(
        &error.to_string(),
        &["line 1", "key 'epsilon' is given twice"],
    );
    // Not what is written in another way, and not a field of a field.
    let escaped = "{\"text\":\"b\",\"te\\u0078t\":\"c\"}\n";
    let message = refused("a.jsonl", escaped.as_bytes(), Limits::default());
    says(&message, &["key 'text' is given twice"]);
    let nested = "{\"text\":\"b\",\"meta\":{\"a\":1,\"a\":2}}\n";
    assert_eq!(
        parse("a.jsonl", nested.as_bytes(), Limits::default())
            .unwrap()
            .texts,
        ["b"]
    );
}

#[test]
fn no_error_lists_all_names_of_a_file_or_steers_a_terminal() {
    let names: Vec<String> = (0..50_000).map(|i| format!("c{i}")).collect();
    let header = names.join(",");
    let object: Vec<String> = names
        .iter()
        .map(|name| format!("\"{name}\":\"x\""))
        .collect();
    let columns: Vec<Column> = names[..500]
        .iter()
        .map(|name| strings(name, &["x"]))
        .collect();
    let files = [
        ("a.csv", format!("{header}\n").into_bytes()),
        (
            "a.jsonl",
            format!("{{{}}}\n", object.join(",")).into_bytes(),
        ),
        ("a.parquet", parquet(columns)),
    ];
    for (name, bytes) in &files {
        let message = refused(name, bytes, Limits::default());
        says(&message, &[name, " more"]);
        assert!(message.len() < 500, "{message}");
        let error = parse_recorded(name, bytes, Limits::default())
            .unwrap_err()
            .to_string();
        assert!(error.len() < 600, "{error}");
    }
    let splits: String = (0..30)
        .map(|i| {
            format!(
                "{{\"text\":\"a\",\"split\":\"{}{i}\"}}\n",
                "long ".repeat(100)
            )
        })
        .collect();
    let folder = Folder::new();
    let path = folder.file("s.jsonl", splits);
    let wanted = teda_datasets::Request {
        split: Some("train".to_owned()),
        ..request(&path)
    };
    let error = load(&wanted, Limits::default(), &mut std::io::empty()).unwrap_err();
    assert!(error.to_string().len() < 3000, "{error}");
    for (name, content) in [
        ("a.csv", "x\u{1b}[2J\u{202e},y\nb,c\n"),
        ("a.jsonl", "{\"x\\u001b[2J\\u202e\":\"b\",\"y\":\"c\"}\n"),
        ("a.tsv", "x\u{1b}[2J\u{202e},y\nb,c\n"),
    ] {
        let message = refused(name, content.as_bytes(), Limits::default());
        says(&message, &[r"x\u{1b}[2J\u{202e}"]);
        assert!(!message.contains(['\u{1b}', '\u{202e}']), "{message:?}");
    }
}
