//! What a source means.

use crate::support::{Folder, dataset, request, says, usage};

#[test]
fn an_unknown_name_gets_the_shipped_ones_and_hears_of_paths() {
    let message = usage(&request("snip"));
    says(
        &message,
        &[
            "unknown dataset 'snip'",
            "Did you mean 'snips'?",
            "medquad-answers",
            "path",
            ".jsonl",
            "'-'",
        ],
    );
    says(&usage(&request("")), &["unknown dataset ''"]);
    says(&usage(&request(&"x".repeat(9000))), &["unknown dataset"]);
    says(&usage(&request("a\0b")), &["unknown dataset"]);
    says(
        &usage(&request("snips:text")),
        &["unknown dataset 'snips:text'"],
    );
}

#[test]
fn a_missing_file_is_named_without_its_column() {
    for (source, path) in [
        ("/no/such.jsonl", "'/no/such.jsonl'"),
        ("/no/such.csv.gz:review", "'/no/such.csv.gz'"),
        ("such.tsv", "'such.tsv'"),
        ("./such", "'./such'"),
    ] {
        says(&usage(&request(source)), &["there is no file", path]);
    }
}

#[test]
fn directories_and_unknown_formats_are_told() {
    let folder = Folder::new();
    says(&usage(&request(&folder.path(""))), &["is a directory"]);
    std::fs::create_dir(folder.path("a.txt")).unwrap();
    says(&usage(&request(&folder.path("a.txt"))), &["is a directory"]);
    for (name, said) in [
        ("a.json", "unknown format 'json'"),
        ("plain", "does not say its format"),
        ("b.gz", "does not say its format"),
        ("a.parquet.gz", "decompress it first"),
    ] {
        let path = folder.file(name, "x");
        says(&usage(&request(&path)), &[&path, said]);
    }
}

#[test]
fn a_path_may_have_colons() {
    let folder = Folder::new();
    let odd = folder.file("C:odd:text.jsonl", "{\"text\":\"a\",\"other\":\"b\"}\n");
    let read = dataset(&odd);
    assert_eq!(
        (read.name.as_str(), read.texts),
        ("C:odd:text.jsonl", vec!["a".into()])
    );
    let read = dataset(&format!("{odd}:other"));
    assert_eq!(read.name, "C:odd:text.jsonl:other");
    assert_eq!(read.texts, ["b"]);
}

#[test]
fn a_column_may_have_colons_but_not_be_nothing() {
    let folder = Folder::new();
    let path = folder.file("a.csv", "meta:text,text\nm,t\n");
    assert_eq!(dataset(&format!("{path}:meta:text")).texts, ["m"]);
    says(&usage(&request(&format!("{path}:"))), &["without a column"]);
}

#[test]
fn extensions_are_of_either_case() {
    let folder = Folder::new();
    assert_eq!(dataset(&folder.file("A.CSV", "text\na\n")).texts, ["a"]);
    assert_eq!(dataset(&folder.file("A.Jsonl", "\"a\"\n")).texts, ["a"]);
}
