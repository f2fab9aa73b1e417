//! Plain text and what holds for every text: trimming, encodings, NUL, length.

use teda_core::Error;
use teda_datasets::{Limits, Request, load};

use crate::support::{Folder, dataset, gzip, request, says, try_load, usage};

#[test]
fn lines_end_in_any_way_and_texts_are_trimmed() {
    let folder = Folder::new();
    for content in [
        "one\n  two words\t\nthree\n",
        "one\r\n\u{a0}two words\r\nthree",
        "\u{feff}one\ntwo words\nthree",
    ] {
        let read = dataset(&folder.file("a.txt", content));
        assert_eq!(read.texts, ["one", "two words", "three"], "{content:?}");
        assert_eq!(read.rows, 3);
        let packed = dataset(&folder.file("b.TXT.GZ", gzip(content)));
        assert_eq!(packed.texts, read.texts);
        assert_eq!(packed.sha256, read.sha256);
        assert_eq!(packed.name, "b.TXT.GZ");
    }
}

#[test]
fn what_is_within_a_text_stays() {
    let folder = Folder::new();
    let odd = "a  b\u{feff}\u{2028}c\r d \u{85}\u{1f600} é";
    let read = dataset(&folder.file("a.txt", odd));
    assert_eq!(read.texts, [odd]);
}

#[test]
fn standard_input_is_text() {
    let read = load(
        &request("-"),
        Limits::default(),
        &mut "a b\n\nc\na b\r\n".as_bytes(),
    )
    .unwrap();
    assert_eq!(read.name, "stdin");
    assert_eq!(read.texts, ["a b", "c"]);
    assert_eq!((read.rows, read.empty, read.merged), (4, 1, 1));
    assert_eq!((read.licence, read.split), (None, None));

    let split = Request {
        split: Some("train".into()),
        ..request("-")
    };
    let error = load(&split, Limits::default(), &mut "a\n".as_bytes()).unwrap_err();
    says(&error.to_string(), &["'stdin'", "'train'", "no splits"]);
    says(&usage(&request("-")), &["'stdin'", "empty"]);
}

#[test]
fn a_failing_standard_input_is_a_failure() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("unplugged"))
        }
    }
    let error = load(&request("-"), Limits::default(), &mut Broken).unwrap_err();
    assert!(matches!(&error, Error::Failed(m) if m.contains("unplugged")));
}

#[test]
fn a_long_text_is_a_text() {
    let folder = Folder::new();
    let long = "wörd ".repeat(20_000);
    let read = dataset(&folder.file("a.txt", &long));
    assert_eq!(read.texts[0].chars().count(), 99_999);
    let read = dataset(&folder.file("a.csv", format!("text\n\"{long}\"\n")));
    assert_eq!(read.texts[0].chars().count(), 99_999);
}

#[test]
fn what_is_not_utf_8_is_placed() {
    let folder = Folder::new();
    for name in ["a.txt", "a.csv", "a.tsv", "a.jsonl"] {
        let path = folder.file(name, b"text\nb\ncaf\xe9\n");
        says(
            &usage(&request(&path)),
            &[&path, "line 3", "0xe9", "byte 10", "iconv -f LATIN1"],
        );
    }
    let packed = folder.file("a.txt.gz", gzip(b"a\n\xff\n"));
    says(&usage(&request(&packed)), &[&packed, "line 2"]);
    let wide = folder.file("w.txt", b"\xff\xfea\0\n\0");
    says(&usage(&request(&wide)), &["UTF-16"]);
}

#[test]
fn a_nul_is_placed() {
    let folder = Folder::new();
    for (name, content, line) in [
        ("a.txt", "a\nb\0c\n", "line 2"),
        ("a.csv", "id,text\r\n1,a\r\n2,\"b\r\n\0\"\r\n", "line 3"),
        (
            "a.jsonl",
            "{\"text\":\"a\"}\n\n{\"text\":\"\\u0000\"}\n",
            "line 3",
        ),
    ] {
        let path = folder.file(name, content);
        says(&usage(&request(&path)), &[&path, line, "NUL"]);
    }
}

#[test]
fn text_has_no_columns_and_no_splits() {
    let folder = Folder::new();
    let path = folder.file("a.txt", "a\n");
    says(
        &usage(&request(&format!("{path}:text"))),
        &["plain text", "':text'"],
    );
    let split = Request {
        split: Some("train".into()),
        ..request(&path)
    };
    says(&usage(&split), &["no splits", "'train'"]);
    let all = Request {
        split: Some("all".into()),
        ..request(&path)
    };
    assert_eq!(try_load(&all).unwrap().texts, ["a"]);
}
