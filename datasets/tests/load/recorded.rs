//! Recorded releases.

use std::path::Path;

use teda_core::Error;
use teda_datasets::{Limits, Recorded, RecordedRelease, recorded};

use crate::parquet::{
    nulls, numbers, numbers_or_nulls, parquet, strings, strings_or_nulls, truths,
};
use crate::support::{Folder, dataset, gzip, says};

const JSON: &str = concat!(
    "{\"source\":\" a b\\n\",\"release\":\" x \",\"epsilon\":2,\"id\":7}\n",
    "\n",
    "{\"source\":\"c\",\"release\":null,\"epsilon\":null}\n",
    "{\"release\":\"\",\"source\":\"a b\"}\n",
    "{\"source\":\"a b\",\"release\":\" x \",\"epsilon\":\"0.5\"}\n",
);
const CSV: &str = concat!(
    "id,epsilon,release,source\n",
    "7,2,\" x \",\" a b\n\"\n",
    "\n",
    "8,,,c\n",
    "9, ,\"\",a b\n",
    "10,5e-1, x ,a b\n",
);

fn read(path: &str) -> Recorded {
    recorded(Path::new(path), Limits::default()).unwrap()
}

fn usage(path: &str) -> String {
    match recorded(Path::new(path), Limits::default()) {
        Err(Error::Usage(message)) => message,
        other => panic!("not a usage error: {other:?}"),
    }
}

fn failure(path: &str) -> String {
    match recorded(Path::new(path), Limits::default()) {
        Err(Error::Failed(message)) => message,
        other => panic!("not a failure: {other:?}"),
    }
}

fn release(source: &str, release: &str, epsilon: Option<f64>) -> RecordedRelease {
    RecordedRelease {
        source: source.to_owned(),
        release: release.to_owned(),
        epsilon,
    }
}

#[test]
fn every_format_gives_every_row_in_order() {
    let folder = Folder::new();
    let columns = vec![
        numbers_or_nulls("epsilon", &[Some(2.0), None, None, Some(0.5)]),
        strings("source", &[" a b\n", "c", "a b", "a b"]),
        strings_or_nulls("release", &[Some(" x "), None, Some(""), Some(" x ")]),
        numbers("id", &[7_i64, 8, 9, 10]),
    ];
    let tsv = CSV.replace(',', "\t");
    let files = [
        folder.file("a.jsonl", JSON),
        folder.file("a.jsonl.gz", gzip(JSON)),
        folder.file("b.jsonl", format!("\u{feff}{}", JSON.replace('\n', "\r\n"))),
        folder.file("a.csv", CSV),
        folder.file("a.CSV.gz", gzip(CSV)),
        folder.file("b.csv", format!("\u{feff}{}", CSV.replace('\n', "\r\n"))),
        folder.file("a.tsv", &tsv),
        folder.file("a.tsv.gz", gzip(&tsv)),
        folder.file("a.parquet", parquet(columns)),
    ];
    let digest = read(&files[0]).sha256;
    for path in &files {
        let file = read(path);
        let expected = [
            release("a b", " x ", Some(2.0)),
            release("c", "", None),
            release("a b", "", None),
            release("a b", " x ", Some(0.5)),
        ];
        assert_eq!(file.releases, expected, "{path}");
        assert_eq!(file.rows, 4);
        assert_eq!(file.sha256, digest, "{path}");
        assert!(path.ends_with(&format!("/{}", file.name)));
    }
}

#[test]
fn sources_are_as_the_texts_of_a_data_set() {
    let folder = Folder::new();
    let odd = "\u{a0} a  b\u{feff}\u{2028}c \u{85}\u{1f600} é\t";
    let csv = format!("source,release\n\"{odd}\",x\n");
    let path = folder.file("a.csv", csv);
    let texts = dataset(&format!("{path}:source")).texts;
    assert_eq!(read(&path).releases[0].source, texts[0]);
}

#[test]
fn an_epsilon_is_any_positive_number() {
    let folder = Folder::new();
    for (said, epsilon) in [
        ("3", 3.0),
        ("1e-3", 0.001),
        ("\" 2.5 \"", 2.5),
        ("\"+1E2\"", 100.0),
    ] {
        let row = format!("{{\"source\":\"a\",\"release\":\"b\",\"epsilon\":{said}}}\n");
        let file = read(&folder.file("a.jsonl", row));
        assert_eq!(file.releases[0].epsilon, Some(epsilon), "{said}");
    }
    for column in [
        numbers("epsilon", &[4_i32]),
        numbers("epsilon", &[4_i64]),
        numbers("epsilon", &[4_u32]),
        numbers("epsilon", &[4_u64]),
        numbers("epsilon", &[4_f32]),
        strings("epsilon", &["4"]),
    ] {
        let columns = vec![
            strings("source", &["a"]),
            strings("release", &["b"]),
            column,
        ];
        let file = read(&folder.file("a.parquet", parquet(columns)));
        assert_eq!(file.releases[0].epsilon, Some(4.0));
    }
}

#[test]
fn what_is_no_epsilon_is_placed() {
    let folder = Folder::new();
    for said in [
        "0", "-1", "-0.0", "\"inf\"", "\"NaN\"", "\"1,5\"", "true", "[1]",
    ] {
        let rows = format!(
            "{{\"source\":\"a\",\"release\":\"b\"}}\n{{\"source\":\"a\",\"release\":\"b\",\"epsilon\":{said}}}\n"
        );
        let path = folder.file("a.jsonl", rows);
        says(&usage(&path), &[&path, "line 2", "'epsilon'", "above 0"]);
    }
    let csv = folder.file("a.csv", "source,release,epsilon\na,b,1\n\nc,d, low \n");
    says(&usage(&csv), &[&csv, "line 4", "'epsilon' is 'low'"]);
    for epsilon in [
        numbers("epsilon", &[1.0, f64::INFINITY]),
        numbers("epsilon", &[1.0, f64::NAN]),
        numbers("epsilon", &[1_i64, 0]),
        strings("epsilon", &["", "x"]),
    ] {
        let columns = vec![
            strings("source", &["a", "c"]),
            strings("release", &["b", "d"]),
            epsilon,
        ];
        let path = folder.file("a.parquet", parquet(columns));
        says(&usage(&path), &[&path, "row 2", "'epsilon'", "above 0"]);
    }
}

#[test]
fn a_row_without_a_source_or_a_release_is_placed() {
    let folder = Folder::new();
    for (row, said) in [
        ("{\"source\":\" \",\"release\":\"b\"}", "'source' is empty"),
        ("{\"source\":null,\"release\":\"b\"}", "'source' is null"),
        ("{\"source\":3,\"release\":\"b\"}", "'source' is a number"),
        ("{\"release\":\"b\"}", "no field 'source'"),
        ("{\"source\":\"a\"}", "no field 'release'"),
        ("{\"source\":\"a\",\"release\":[]}", "'release' is an array"),
        ("{\"source\":\"a\\u0000\",\"release\":\"b\"}", "NUL"),
        ("{\"source\":\"a\",\"release\":\"\\u0000b\"}", "NUL"),
        ("[\"a\",\"b\"]", "an array"),
        ("\"a\"", "a plain string"),
        ("17", "a number"),
        ("{\"source\":\"a\"", "not JSON"),
    ] {
        let rows = format!("{{\"source\":\"a\",\"release\":\"b\"}}\n\n{row}\n");
        let path = folder.file("a.jsonl", rows);
        says(&usage(&path), &[&path, "line 3", said]);
    }
    for (row, said) in [
        (" ,b", "'source' is empty"),
        ("a\0,b", "NUL"),
        ("a", "1 fields and the header 2"),
        ("a,b,c", "3 fields"),
        ("\"a,b", "never closed"),
        ("\"a\" ,b", "goes on behind it"),
    ] {
        let path = folder.file("a.csv", format!("source,release\na,b\n\n{row}\n"));
        says(&usage(&path), &[&path, "line 4", said]);
    }
    for (sources, said) in [
        ([Some("a"), Some("")], "'source' is empty"),
        ([Some("a"), None], "'source' is null"),
        ([Some("a"), Some("b\0")], "NUL"),
    ] {
        let source = strings_or_nulls("source", &sources);
        let bytes = parquet(vec![source, strings("release", &["x", "y"])]);
        let path = folder.file("a.parquet", bytes);
        says(&usage(&path), &[&path, "row 2", said]);
    }
}

#[test]
fn missing_columns_are_told_with_those_there_are() {
    let folder = Folder::new();
    let columns = vec![strings("text", &["a"]), strings("release", &["b"])];
    for path in [
        folder.file("a.jsonl", "{\"release\":\"b\",\"text\":\"a\"}\n"),
        folder.file("a.csv", "text,release\na,b\n"),
        folder.file("a.tsv", "text\trelease\na\tb\n"),
        folder.file("a.parquet", parquet(columns)),
    ] {
        says(
            &usage(&path),
            &[&path, "no column 'source'", "Columns: ", "text", "release"],
        );
    }
    let path = folder.file("b.csv", "source,Release\na,b\n");
    says(&usage(&path), &["no column 'release'", "source, Release"]);
    for name in ["source", "release", "epsilon"] {
        let path = folder.file("c.csv", format!("source,release,epsilon,{name}\n"));
        says(&usage(&path), &[&format!("more than one column '{name}'")]);
    }
}

#[test]
fn columns_of_other_types_are_told() {
    let folder = Folder::new();
    let numbers = || numbers("source", &[1_i64]);
    let truths = |name: &str| truths(name, &[true]);
    for (columns, said) in [
        (
            vec![numbers(), strings("release", &["b"])],
            "'source' is a number",
        ),
        (
            vec![truths("source"), truths("release")],
            "'source' is of a type that is not read",
        ),
        (
            vec![nulls("source", 1), nulls("release", 1)],
            "'source' is null",
        ),
        (
            vec![strings("source", &["a"]), truths("release")],
            "'release' is of a type that is not read",
        ),
        (
            vec![
                strings("source", &["a"]),
                strings("release", &["b"]),
                truths("epsilon"),
            ],
            "'epsilon' is of a type that is not read",
        ),
    ] {
        let path = folder.file("a.parquet", parquet(columns));
        says(&usage(&path), &[&path, "row 1", said]);
    }
}

#[test]
fn columns_of_nulls_release_nothing_and_state_nothing() {
    let folder = Folder::new();
    let columns = vec![
        strings("source", &["a", "b"]),
        nulls("release", 2),
        nulls("epsilon", 2),
    ];
    let file = read(&folder.file("a.parquet", parquet(columns)));
    let expected = [release("a", "", None), release("b", "", None)];
    assert_eq!(file.releases, expected);
}

#[test]
fn the_digest_is_of_every_row() {
    let folder = Folder::new();
    let digest = |rows: &str| {
        let content = format!("source,release,epsilon\n{rows}");
        read(&folder.file("a.csv", content)).sha256
    };
    let one = digest("a,b,1\nc,d,\n");
    assert_eq!(one, digest(" a ,b,1.0\nc,d,\n"));
    for other in [
        "c,d,\na,b,1\n",
        "a,b,1\nc,d,\nc,d,\n",
        "a,b,1\nc,d,1\n",
        "a,b,2\nc,d,\n",
        "a, b,1\nc,d,\n",
        "ab,,1\nc,d,\n",
    ] {
        assert_ne!(one, digest(other), "{other}");
    }
}

#[test]
fn files_of_other_kinds_are_told() {
    let folder = Folder::new();
    for name in ["a.txt", "a.txt.gz"] {
        let content = "source,release\na,b\n";
        let path = match name.ends_with("gz") {
            true => folder.file(name, gzip(content)),
            false => folder.file(name, content),
        };
        says(&usage(&path), &[&path, "plain text", ".jsonl", ".parquet"]);
    }
    for (name, content, said) in [
        ("a.csv", "source;release\na;b\n", "semicolons"),
        ("a.csv", "source\trelease\na\tb\n", "'.tsv'"),
        ("a.tsv", "source,release\na,b\n", "'.csv'"),
        ("b.csv", JSON, "'.jsonl'"),
        ("a.jsonl", "PAR1 and so on PAR1", "'.parquet'"),
        ("a.parquet", JSON, "not Parquet"),
        ("a.json", JSON, "unknown format 'json'"),
        ("a.csv.gz", CSV, "not compressed"),
    ] {
        let path = folder.file(name, content);
        says(&usage(&path), &[&path, said]);
    }
    says(&usage("no/such.csv"), &["there is no file 'no/such.csv'"]);
    says(&usage("no such"), &["there is no file 'no such'"]);
    says(&usage(&folder.path("")), &["is a directory"]);
}

#[test]
fn files_without_rows_are_told() {
    let folder = Folder::new();
    let none = parquet(vec![
        strings::<&str>("source", &[]),
        strings::<&str>("release", &[]),
    ]);
    for path in [
        folder.file("a.csv", ""),
        folder.file("b.csv", "source,release\n"),
        folder.file("a.jsonl", "\n"),
        folder.file("a.parquet", ""),
        folder.file("b.parquet", none),
    ] {
        says(&usage(&path), &[&path, "no releases", "it is empty"]);
    }
}

#[test]
fn broken_files_are_told() {
    let folder = Folder::new();
    let latin = folder.file("a.csv", b"source,release\na,b\nc,caf\xe9\n");
    says(&usage(&latin), &[&latin, "line 3", "0xe9", "not UTF-8"]);
    let packed = gzip(JSON);
    let cut = folder.file("a.jsonl.gz", &packed[..packed.len() - 9]);
    says(&failure(&cut), &[&cut, "ends in the middle"]);
    let whole = parquet(vec![strings("source", &["a"]), strings("release", &["b"])]);
    let cut = folder.file("a.parquet", &whole[..whole.len() - 1]);
    says(&failure(&cut), &[&cut, "broken Parquet", "too early"]);
}
