//! Texts with labels: which column, which part, and what is refused.

use sha2::{Digest, Sha256};
use teda_core::Error;
use teda_datasets::{Labelled, Limits, Request, labelled};

use crate::support::{Folder, request, says};

fn load(request: &Request, label: &str) -> Result<Labelled, Error> {
    labelled(request, label, Limits::default())
}

#[track_caller]
fn refused(request: &Request, label: &str, parts: &[&str]) {
    match load(request, label) {
        Err(Error::Usage(message)) => says(&message, parts),
        other => panic!("not a usage error: {other:?}"),
    }
}

/// Whether a text is tested on where the data do not say.
fn tested(text: &str) -> bool {
    let digest: [u8; 32] = Sha256::digest(text).into();
    u64::from_be_bytes(digest[..8].try_into().unwrap()) % 10 == 0
}

/// JSON lines: n texts, of two labels.
fn lines(n: usize) -> String {
    let line = |i: usize| format!("{{\"text\": \"text {i}\", \"label\": {}}}\n", i % 2);
    (0..n).map(line).collect()
}

#[test]
fn what_ships_has_its_labels() {
    let snips = load(&request("snips"), "label").unwrap();
    assert_eq!((snips.train.len(), snips.test.len()), (13_084, 700));
    assert_eq!((snips.classes.len(), snips.other_splits), (7, 700));
    assert!(snips.own_splits && snips.classes.is_sorted());
    assert_eq!(snips.classes[snips.train[0].class], "PlayMusic");
    assert_eq!(snips.rows, 14_484);

    let novels = load(&request("novels"), "label").unwrap();
    assert_eq!(novels.classes, ["0", "1", "2"]);
    assert_eq!(novels.train.len() + novels.test.len(), 19_579);
    assert!(!novels.own_splits);
    assert!((1_800..2_100).contains(&novels.test.len()));
    assert!(novels.test.iter().all(|text| tested(&text.text)));
    assert!(!novels.train.iter().any(|text| tested(&text.text)));

    let sources = load(&request("medquad-questions"), "source").unwrap();
    assert!(sources.classes.contains(&"CancerGov".to_owned()));
}

#[test]
fn a_split_that_is_asked_for_is_divided_and_not_the_others() {
    let of = |split: &str| {
        let request = Request {
            split: Some(split.to_owned()),
            ..request("snips")
        };
        load(&request, "label").unwrap()
    };
    let valid = of("valid");
    assert_eq!(valid.train.len() + valid.test.len(), 700);
    assert!(!valid.own_splits);
    let all = of("all");
    assert_eq!(all.train.len() + all.test.len(), 14_484);
    let only = Request {
        split: Some("train".to_owned()),
        ..request("novels")
    };
    assert_eq!(load(&only, "label").unwrap().rows, 19_579);
    let wrong = Request {
        split: Some("tets".to_owned()),
        ..request("snips")
    };
    refused(&wrong, "label", &["'snips'", "split 'tets'", "train"]);
}

#[test]
fn a_limit_keeps_what_a_larger_one_keeps_wherever_it_stands() {
    let of = |limit| {
        let request = Request {
            limit: Some(limit),
            ..request("snips")
        };
        load(&request, "label").unwrap()
    };
    let (few, more) = (of(50), of(200));
    assert_eq!((few.train.len(), few.test.len()), (50, 50));
    assert!(few.train.iter().all(|text| more.train.contains(text)));
    assert_eq!(few.beyond_limit, 13_784 - 100);
    assert_ne!(few.sha256, more.sha256);
}

#[test]
fn labels_are_strings_or_numbers_in_every_format() {
    let folder = Folder::new();
    let rows = |sep: char| {
        let row = |i: usize| format!("some text {i}{sep}{}\n", ["f", "m"][i % 2]);
        format!("body{sep}gender\n") + &(0..60).map(row).collect::<String>()
    };
    for (name, sep) in [("a.csv", ','), ("a.tsv", '\t')] {
        let path = folder.file(name, rows(sep));
        let read = load(&request(&path), "gender").unwrap();
        assert_eq!(read.classes, ["f", "m"]);
        assert_eq!(read.train.len() + read.test.len(), 60);
        // The column of the texts can be named, too.
        assert_eq!(
            load(&request(&format!("{path}:body")), "gender")
                .unwrap()
                .train,
            read.train
        );
    }
    let path = folder.file("n.jsonl", lines(60));
    assert_eq!(load(&request(&path), "label").unwrap().classes, ["0", "1"]);
    let halves = lines(60).replace("\"label\": 1", "\"label\": 0.5");
    let path = folder.file("h.jsonl", halves);
    assert_eq!(
        load(&request(&path), "label").unwrap().classes,
        ["0", "0.5"]
    );
}

#[test]
fn what_has_no_labels_is_refused_with_the_reason() {
    let folder = Folder::new();
    refused(
        &request("snips"),
        "lable",
        &["'snips'", "unknown label column 'lable'", "'label'", "text"],
    );
    refused(&request("-"), "label", &["'-'", "no column 'label'"]);
    refused(&request("categories:9"), "label", &["no column 'label'"]);
    let text = folder.file("a.txt", "one\ntwo\n");
    refused(&request(&text), "label", &["plain text", "'label'"]);
    let path = folder.file("s.jsonl", "\"one\"\n\"two\"\n");
    refused(&request(&path), "label", &["line 1", "plain string"]);
    let path = folder.file("a.jsonl", lines(60));
    refused(
        &request(&format!("{path}:text")),
        "text",
        &["both the text and its label"],
    );
    for (label, said) in [
        ("", "there is no label in 'label'"),
        (",\"label\":null", "there is no label in 'label'"),
        (",\"label\":\" \"", "there is no label in 'label'"),
        (",\"label\":true", "a truth value"),
        (",\"label\":[1]", "an array"),
    ] {
        let path = folder.file(
            "m.jsonl",
            lines(60) + &format!("{{\"text\":\"x\"{label}}}\n"),
        );
        refused(
            &request(&path),
            "label",
            &["line 61", said, "remove the line"],
        );
    }
}

#[test]
fn data_that_cannot_be_learned_from_are_refused_with_the_reason() {
    let folder = Folder::new();
    let one = folder.file(
        "one.jsonl",
        lines(60).replace("\"label\": 1", "\"label\": 0"),
    );
    refused(
        &request(&one),
        "label",
        &["1 label", "'0'", "nothing to tell apart"],
    );
    let ids = |i: usize| format!("{{\"text\": \"text {i}\", \"label\": {i}}}\n");
    let many = folder.file("many.jsonl", (0..1_001).map(ids).collect::<String>());
    refused(&request(&many), "label", &["1001 labels", "1000"]);
    let empty = folder.file("empty.jsonl", "");
    refused(&request(&empty), "label", &["empty"]);
    // Two texts, neither of which is tested on.
    let kept: Vec<usize> = (0..)
        .filter(|i| !tested(&format!("text {i}")))
        .take(2)
        .collect();
    let two: String = (0..2)
        .map(|place| {
            format!(
                "{{\"text\": \"text {}\", \"label\": {place}}}\n",
                kept[place]
            )
        })
        .collect();
    let two = folder.file("two.jsonl", two);
    refused(&request(&two), "label", &["no text to test on", "'split'"]);
    let short = Request {
        max_words: Some(1),
        ..request("snips")
    };
    refused(&short, "label", &["nothing to tell apart"]);
    let wrong = Request {
        limit: Some(0),
        ..request("snips")
    };
    refused(&wrong, "label", &["limit of 0"]);
}
