//! Made-up texts.

use teda_datasets::Request;

use crate::support::{dataset, of_split, request, says, try_load, usage};

#[test]
fn there_are_as_many_distinct_texts_as_were_asked_for() {
    let two = dataset("categories:2");
    assert_eq!(two.texts, ["category 1", "category 2"]);
    assert_eq!((&two.name[..], two.rows), ("categories:2", 2));
    assert_eq!((two.licence, two.split), (None, None));
    let many = dataset("categories:1000000");
    assert_eq!((many.texts.len(), many.merged), (1_000_000, 0));
    assert_eq!(many.texts[999_999], "category 1000000");
    // However the number is written, it is the same data set.
    assert_eq!(dataset("categories:02"), dataset("categories:2"));
}

#[test]
fn the_filters_of_other_data_sets_hold() {
    let five = Request {
        limit: Some(5),
        ..request("categories:7")
    };
    let read = try_load(&five).unwrap();
    assert_eq!((read.texts.len(), read.beyond_limit), (5, 2));
    assert_eq!(of_split("categories:7", "all").unwrap().rows, 7);
    let message = of_split("categories:7", "test").unwrap_err().to_string();
    says(&message, &["'categories:7'", "no splits", "'test'"]);
}

#[test]
fn a_number_that_is_none_is_refused() {
    for source in [
        "categories",
        "categories:",
        "categories:1",
        "categories:0",
        "categories:-3",
        "categories:1000001",
        "categories:2.5",
        "categories:many",
        "categories:99999999999999999999",
    ] {
        let message = usage(&request(source));
        says(
            &message,
            &[&format!("'{source}'"), "2 to 1000000", "categories:100"],
        );
    }
}

#[test]
fn what_only_begins_like_it_is_something_else() {
    says(
        &usage(&request("categories5")),
        &["unknown dataset 'categories5'", "categories:K"],
    );
    says(
        &usage(&request("categories.jsonl")),
        &["no file 'categories.jsonl'"],
    );
}
