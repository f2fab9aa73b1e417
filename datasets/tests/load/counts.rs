//! Filters, and that every row is accounted for.

use std::collections::HashSet;

use proptest::prelude::*;
use teda_datasets::Request;

use crate::support::{Folder, dataset, request, says, try_load, usage};

fn bounded(
    source: &str,
    least: Option<usize>,
    most: Option<usize>,
    limit: Option<usize>,
) -> Request {
    Request {
        limit,
        min_words: least,
        max_words: most,
        ..request(source)
    }
}

#[test]
fn every_filter_counts_what_it_removes() {
    let folder = Folder::new();
    let path = folder.file("a.txt", "a\nb c\n\nd e f\nb c\n g h\ni j\ng h\n \n");
    let read = try_load(&bounded(&path, Some(2), Some(2), Some(2))).unwrap();
    assert_eq!(read.texts, ["b c", "g h"]);
    let counts = (
        read.rows,
        read.empty,
        read.outside_length,
        read.merged,
        read.beyond_limit,
    );
    assert_eq!(counts, (9, 2, 2, 2, 1));
}

#[test]
fn nothing_left_says_where_it_went() {
    let folder = Folder::new();
    let path = folder.file("a.txt", "a\n\nb c\n");
    says(
        &usage(&bounded(&path, Some(5), None, None)),
        &[
            "a.txt",
            "3 rows",
            "1 are empty",
            "2 have fewer than 5 words",
        ],
    );
    says(
        &usage(&bounded(&path, Some(5), Some(6), None)),
        &["between 5 and 6"],
    );
    let none = folder.file("b.txt", "\n \n");
    says(&usage(&request(&none)), &["2 rows", "2 are empty"]);
}

#[test]
fn filters_that_nothing_passes_are_told() {
    says(
        &usage(&bounded("snips", None, None, Some(0))),
        &["limit of 0"],
    );
    says(
        &usage(&bounded("snips", Some(3), Some(2), None)),
        &["3", "2"],
    );
    says(
        &usage(&bounded("snips", None, Some(0), None)),
        &["more than 0 words"],
    );
}

#[test]
fn the_digest_is_of_the_texts_alone() {
    let folder = Folder::new();
    let text = dataset(&folder.file("a.txt", "a\nb\n"));
    let json = dataset(&folder.file("b.jsonl", "\"a\"\n\" b\"\n\"a\"\n"));
    assert_eq!(text.sha256, json.sha256);
    let other = dataset(&folder.file("c.txt", "b\na\n"));
    assert_ne!(text.sha256, other.sha256);
}

proptest! {
    #[test]
    fn counts_add_up(
        lines in prop::collection::vec("[ab ]{0,6}", 1..40),
        least in prop::option::of(0_usize..4),
        most in prop::option::of(1_usize..4),
        limit in prop::option::of(1_usize..8),
    ) {
        let folder = Folder::new();
        let json: String = lines.iter().map(|line| format!("{line:?}\n")).collect();
        let path = folder.file("a.jsonl", json);
        // Nothing left, and bounds that cross, are errors with tests of their own.
        if let Ok(read) = try_load(&bounded(&path, least, most, limit)) {
            prop_assert_eq!(read.rows, lines.len());
            prop_assert_eq!(
                read.rows,
                read.texts.len() + read.merged + read.empty + read.outside_length + read.beyond_limit
            );
            let distinct: HashSet<&String> = read.texts.iter().collect();
            prop_assert_eq!(distinct.len(), read.texts.len());
            prop_assert!(limit.is_none_or(|limit| read.texts.len() <= limit));
            for text in &read.texts {
                let words = text.split_whitespace().count();
                prop_assert!(words >= least.unwrap_or(1) && words <= most.unwrap_or(words));
            }
        }
    }
}
