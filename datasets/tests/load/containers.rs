//! Files that are not what their names say, are broken or cannot be read.

use crate::support::{Folder, dataset, failure, gzip, request, says, usage};

#[test]
fn a_name_that_lies_about_gzip_is_told() {
    let folder = Folder::new();
    let plain = folder.file("a.txt.gz", "not packed\n");
    says(&usage(&request(&plain)), &[&plain, "not compressed"]);
    let packed = folder.file("a.txt", gzip("packed\n"));
    says(&usage(&request(&packed)), &[&packed, "'.gz'"]);
}

#[test]
fn other_containers_are_told() {
    let folder = Folder::new();
    let zip = folder.file("a.csv", b"PK\x03\x04rest");
    says(&usage(&request(&zip)), &["zip archive or a spreadsheet"]);
    let columnar = folder.file("a.jsonl", b"PAR1 and so on PAR1");
    says(&usage(&request(&columnar)), &["Parquet", "'.parquet'"]);
    let text = folder.file("b.txt", "PAR1 is how such a file begins");
    assert_eq!(dataset(&text).rows, 1);
}

#[test]
fn a_truncated_or_damaged_gzip_is_a_failure() {
    let folder = Folder::new();
    let packed = gzip("some text\n".repeat(100));
    for kept in [3, 12, packed.len() - 9, packed.len() - 1] {
        let path = folder.file("a.txt.gz", &packed[..kept]);
        says(&failure(&path), &[&path, "ends in the middle"]);
    }
    let mut damaged = packed.clone();
    let checksum = damaged.len() - 6;
    damaged[checksum] ^= 1;
    let path = folder.file("b.txt.gz", damaged);
    says(&failure(&path), &[&path, "cannot decompress"]);
}

#[test]
fn a_gzip_of_several_parts_is_read_to_its_end() {
    let folder = Folder::new();
    let parts = [gzip("one\n"), gzip("two\n")].concat();
    assert_eq!(
        dataset(&folder.file("a.txt.gz", parts)).texts,
        ["one", "two"]
    );
}

#[test]
fn an_empty_file_is_told() {
    let folder = Folder::new();
    for name in ["a.txt", "a.csv", "a.tsv", "a.jsonl", "a.parquet"] {
        says(
            &usage(&request(&folder.file(name, ""))),
            &[name, "it is empty"],
        );
    }
    let header = folder.file("b.csv", "id,text\n");
    says(&usage(&request(&header)), &["b.csv", "it is empty"]);
    let packed = folder.file("b.jsonl.gz", gzip(""));
    says(&usage(&request(&packed)), &["b.jsonl.gz", "it is empty"]);
}

#[test]
#[cfg(unix)]
fn what_cannot_be_opened_is_a_failure() {
    let folder = Folder::new();
    let path = folder.path("loop.txt");
    std::os::unix::fs::symlink(&path, &path).unwrap();
    says(&failure(&path), &[&path, "cannot read"]);
}
