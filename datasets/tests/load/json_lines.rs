//! JSON lines.

use crate::support::{Folder, dataset, gzip, of_split, request, says, usage};

const SPLITS: &str = concat!(
    "{\"split\":\"train\",\"text\":\"a\"}\n",
    "{\"split\":\"dev\",\"text\":\"b\"}\n",
    "{\"split\":null,\"text\":\"c\"}\n",
    "{\"text\":\"d\"}\n",
);

#[test]
fn objects_strings_and_blank_lines() {
    let folder = Folder::new();
    let content = "\u{feff}{\"id\":1,\"text\":\" a\\nb \"}\r\n\n\"c\"\r\n  \n{\"text\":\"d\"}";
    let read = dataset(&folder.file("a.jsonl", content));
    assert_eq!(read.texts, ["a\nb", "c", "d"]);
    assert_eq!((read.rows, read.empty), (3, 0));
    let packed = dataset(&folder.file("a.jsonl.gz", gzip(content)));
    assert_eq!(packed.texts, read.texts);
}

#[test]
fn the_column_is_text_or_the_only_one_with_strings_or_the_one_asked_for() {
    let folder = Folder::new();
    let only = folder.file("a.jsonl", "{\"n\":1,\"split\":\"x\",\"review\":\"r\"}\n");
    assert_eq!(dataset(&only).texts, ["r"]);
    let several = folder.file("b.jsonl", "{\"question\":\"q\",\"answer\":\"a\",\"n\":1}\n");
    assert_eq!(dataset(&format!("{several}:answer")).texts, ["a"]);
    says(
        &usage(&request(&several)),
        &[&several, "answer", "question", ":COLUMN"],
    );
    let wrong = format!("{several}:anser");
    says(
        &usage(&request(&wrong)),
        &[&several, "column 'anser'", "'answer'?", "question"],
    );
    let number = format!("{several}:n");
    says(
        &usage(&request(&number)),
        &["line 1", "field 'n' is a number"],
    );
    let null = folder.file("d.jsonl", "{\"id\":\"1\",\"review\":null}\n");
    says(
        &usage(&request(&null)),
        &["more than one other", "id, review"],
    );
    let none = folder.file("c.jsonl", "{\"n\":1}\n");
    says(&usage(&request(&none)), &["no column with strings", "n"]);
}

#[test]
fn a_row_that_is_not_as_the_others_is_placed() {
    let folder = Folder::new();
    for (row, said) in [
        ("{\"other\":\"b\"}", "no field 'text'"),
        ("{\"text\":null}", "field 'text' is null"),
        ("{\"text\":3}", "field 'text' is a number"),
        ("[\"b\"]", "an array"),
        ("17", "a number"),
        ("{\"text\":\"b\"", "not JSON"),
        ("{\"text\":\"b\"} {}", "not JSON"),
        ("{\"text\":\"\\ud800\"}", "not JSON"),
        ("text", "not JSON"),
    ] {
        let path = folder.file("a.jsonl", format!("{{\"text\":\"a\"}}\n\n{row}\n"));
        says(&usage(&request(&path)), &[&path, "line 3", said]);
    }
    let strings = folder.file("b.jsonl", "\"a\"\n");
    let column = format!("{strings}:text");
    says(
        &usage(&request(&column)),
        &["line 1", "plain string", "'text'"],
    );
}

#[test]
fn splits_are_chosen_by_the_field() {
    let folder = Folder::new();
    let path = folder.file("a.jsonl", SPLITS);
    assert_eq!(dataset(&path).texts, ["a", "b", "c", "d"]);
    assert_eq!(of_split(&path, "all").unwrap().rows, 4);
    let dev = of_split(&path, "dev").unwrap();
    assert_eq!((dev.texts, dev.rows), (vec!["b".to_owned()], 1));
    assert_eq!(dev.split.as_deref(), Some("dev"));
    let message = of_split(&path, "test").unwrap_err().to_string();
    says(&message, &[&path, "split 'test'", "dev, train"]);
    let bare = folder.file("b.jsonl", "\"a\"\n{\"text\":\"b\"}\n");
    let message = of_split(&bare, "test").unwrap_err().to_string();
    says(&message, &[&bare, "no splits", "'test'"]);
    let number = folder.file("c.jsonl", "{\"split\":1,\"text\":\"b\"}\n");
    let message = of_split(&number, "1").unwrap_err().to_string();
    says(&message, &["line 1", "field 'split' is a number"]);
}

#[test]
fn rows_of_other_splits_need_no_text() {
    let folder = Folder::new();
    let content = format!("{SPLITS}{{\"split\":\"test\"}}\n");
    let path = folder.file("a.jsonl", content);
    assert_eq!(of_split(&path, "train").unwrap().texts, ["a"]);
    says(&usage(&request(&path)), &["line 5"]);
}
