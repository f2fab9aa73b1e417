//! CSV and TSV.

use crate::support::{Folder, dataset, gzip, of_split, request, says, usage};

#[test]
fn quoted_fields_have_separators_quotes_and_line_ends() {
    let folder = Folder::new();
    let csv = "\u{feff}id,text\r\n1,\"a, \"\"b\"\"\"\r\n\r\n2,\"c\nd\"\r\n3,5\" nail";
    let read = dataset(&folder.file("a.csv", csv));
    assert_eq!(read.texts, ["a, \"b\"", "c\nd", "5\" nail"]);
    assert_eq!(
        dataset(&folder.file("a.csv.gz", gzip(csv))).texts,
        read.texts
    );
    let tsv = "id\ttext\n1\t\"a\tb\"\n2\tc, d\n";
    let read = dataset(&folder.file("a.tsv", tsv));
    assert_eq!(read.texts, ["a\tb", "c, d"]);
    assert_eq!(
        dataset(&folder.file("a.tsv.gz", gzip(tsv))).texts,
        read.texts
    );
}

#[test]
fn the_column_is_text_or_the_only_one_or_the_one_asked_for() {
    let folder = Folder::new();
    assert_eq!(
        dataset(&folder.file("a.csv", "split,review\nx,r\n")).texts,
        ["r"]
    );
    let several = folder.file("b.csv", "question,answer\nq,a\n");
    assert_eq!(dataset(&format!("{several}:answer")).texts, ["a"]);
    says(
        &usage(&request(&several)),
        &[&several, "question, answer", ":COLUMN"],
    );
    let wrong = format!("{several}:text");
    says(
        &usage(&request(&wrong)),
        &["column 'text'", "question, answer"],
    );
    let twice = folder.file("c.csv", "text,text\nq,a\n");
    says(&usage(&request(&twice)), &["more than one column 'text'"]);
}

#[test]
fn empty_fields_are_counted() {
    let folder = Folder::new();
    let read = dataset(&folder.file("a.csv", "id,text\n1,\n2,\" \"\n3,a\n"));
    assert_eq!((read.rows, read.empty, read.texts.len()), (3, 2, 1));
}

#[test]
fn a_ragged_row_is_placed() {
    let folder = Folder::new();
    for end in ["\n", "\r\n"] {
        let rows = ["id,text", "1,\"a\nb\"", "", "2,c", "3,d,e", "4,f"].join(end);
        let path = folder.file("a.csv", rows);
        says(
            &usage(&request(&path)),
            &[&path, "line 6", "3 fields", "the header 2"],
        );
    }
}

#[test]
fn a_quote_that_would_swallow_rows_is_placed() {
    let folder = Folder::new();
    let open = folder.file("a.tsv", "id\ttext\n1\ta\n2\t\"b\n3\tc\n");
    says(&usage(&request(&open)), &[&open, "line 3", "never closed"]);
    let behind = folder.file("b.tsv", "id\ttext\n1\t\"a\" b\n");
    says(&usage(&request(&behind)), &["line 2", "goes on behind it"]);
    let across = folder.file("c.csv", "text\n\"a\nb\n\"c\n");
    says(&usage(&request(&across)), &["line 2", "goes on behind it"]);
}

#[test]
fn a_header_of_another_format_is_told() {
    let folder = Folder::new();
    for (name, content, said) in [
        ("a.csv", "id\ttext\n1\ta\n", "'.tsv'"),
        ("a.csv", "id;text\n1;a\n", "semicolons"),
        ("a.tsv", "id,text\n1,a\n", "'.csv'"),
        ("a.csv", "{\"id\":1,\"text\":\"a\"}\n", "'.jsonl'"),
    ] {
        let path = folder.file(name, content);
        says(&usage(&request(&path)), &[&path, "line 1", said]);
    }
}

#[test]
fn splits_are_chosen_by_the_column() {
    let folder = Folder::new();
    let path = folder.file("a.csv", "split,text\ntrain,a\ndev,b\ntrain,a\n");
    let train = of_split(&path, "train").unwrap();
    assert_eq!((train.rows, train.merged, train.texts.len()), (2, 1, 1));
    let message = of_split(&path, "test").unwrap_err().to_string();
    says(&message, &[&path, "split 'test'", "dev, train"]);
    let bare = folder.file("b.csv", "text\na\n");
    let message = of_split(&bare, "test").unwrap_err().to_string();
    says(&message, &["no splits", "'test'"]);
}
