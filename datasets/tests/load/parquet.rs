//! Parquet.

use teda_parquet::arrow::array::{Array, BooleanArray, NullArray, PrimitiveArray, Utf8ViewArray};
use teda_parquet::arrow::datatypes::ArrowDataType;
use teda_parquet::arrow::types::NativeType;
use teda_parquet::{Compression, Writer};

use crate::support::{Folder, dataset, failure, of_split, request, says, try_load, usage};

/// A column's name and values.
pub type Column = (String, Box<dyn Array>);

pub fn parquet(columns: Vec<Column>) -> Vec<u8> {
    packed(&[columns], Compression::Zstd)
}

/// A file with these row groups.
fn packed(groups: &[Vec<Column>], compression: Compression) -> Vec<u8> {
    let types: Vec<_> = groups[0]
        .iter()
        .map(|(name, values)| (&**name, values.dtype().clone()))
        .collect();
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &types, compression, &[]).unwrap();
    for columns in groups {
        let columns: Vec<_> = columns.iter().map(|(_, values)| values.clone()).collect();
        writer.write(&columns).unwrap();
    }
    writer.finish().unwrap();
    bytes
}

pub fn strings<T: AsRef<str>>(name: &str, values: &[T]) -> Column {
    (
        name.into(),
        Utf8ViewArray::from_slice_values(values).boxed(),
    )
}

pub fn strings_or_nulls(name: &str, values: &[Option<&str>]) -> Column {
    (name.into(), Utf8ViewArray::from_slice(values).boxed())
}

pub fn numbers<T: NativeType>(name: &str, values: &[T]) -> Column {
    (name.into(), PrimitiveArray::from_slice(values).boxed())
}

pub fn numbers_or_nulls<T: NativeType>(name: &str, values: &[Option<T>]) -> Column {
    (name.into(), PrimitiveArray::from(values.to_vec()).boxed())
}

pub fn truths(name: &str, values: &[bool]) -> Column {
    (name.into(), BooleanArray::from_slice(values).boxed())
}

pub fn nulls(name: &str, rows: usize) -> Column {
    (
        name.into(),
        NullArray::new(ArrowDataType::Null, rows).boxed(),
    )
}

#[test]
fn rows_are_read_as_from_other_formats() {
    let folder = Folder::new();
    let bytes = parquet(vec![
        numbers("id", &[1_i64, 2, 3, 4]),
        strings("text", &[" a\nb", "c", "", "c"]),
        strings("other", &["w", "x", "y", "z"]),
    ]);
    let path = folder.file("a.PARQUET", bytes);
    let read = dataset(&path);
    assert_eq!(read.texts, ["a\nb", "c"]);
    assert_eq!((read.rows, read.empty, read.merged), (4, 1, 1));
    assert_eq!(
        dataset(&format!("{path}:other")).texts,
        ["w", "x", "y", "z"]
    );
    says(
        &usage(&request(&format!("{path}:id"))),
        &["'id'", "does not hold strings"],
    );
    says(
        &usage(&request(&format!("{path}:texts"))),
        &["'texts'", "id, text, other"],
    );
}

#[test]
fn row_groups_follow_each_other() {
    let folder = Folder::new();
    let groups = [&["a", "b"][..], &["c"], &["d", "e"]].map(|texts| vec![strings("text", texts)]);
    let path = folder.file("a.parquet", packed(&groups, Compression::Zstd));
    assert_eq!(dataset(&path).texts, ["a", "b", "c", "d", "e"]);
    let groups = [&["a"][..], &["b", "c\0"]].map(|texts| vec![strings("text", texts)]);
    let path = folder.file("b.parquet", packed(&groups, Compression::Zstd));
    says(&usage(&request(&path)), &[&path, "row 3", "NUL"]);
}

#[test]
fn the_only_column_with_strings_is_taken() {
    let folder = Folder::new();
    let one = parquet(vec![numbers("id", &[1_i64]), strings("review", &["r"])]);
    assert_eq!(dataset(&folder.file("a.parquet", one)).texts, ["r"]);
    let two = parquet(vec![strings("x", &["r"]), strings("y", &["s"])]);
    let path = folder.file("b.parquet", two);
    says(&usage(&request(&path)), &[&path, "x, y"]);
    let none = parquet(vec![numbers("id", &[1_i64])]);
    says(
        &usage(&request(&folder.file("c.parquet", none))),
        &["no column with strings"],
    );
}

#[test]
fn splits_are_chosen_by_the_column() {
    let folder = Folder::new();
    let bytes = parquet(vec![
        strings("text", &["a", "b", "c"]),
        strings("split", &["train", "dev", "train"]),
    ]);
    let path = folder.file("a.parquet", bytes);
    assert_eq!(of_split(&path, "train").unwrap().texts, ["a", "c"]);
    let message = of_split(&path, "test").unwrap_err().to_string();
    says(&message, &["split 'test'", "dev, train"]);
    let bare = folder.file("b.parquet", parquet(vec![strings("text", &["a"])]));
    let message = of_split(&bare, "test").unwrap_err().to_string();
    says(&message, &["no splits"]);
}

#[test]
fn a_null_and_a_nul_are_placed() {
    let folder = Folder::new();
    let null = strings_or_nulls("text", &[Some("a"), None, Some("b")]);
    let path = folder.file("a.parquet", parquet(vec![null]));
    says(&usage(&request(&path)), &[&path, "row 2", "null"]);
    let nul = folder.file(
        "b.parquet",
        parquet(vec![strings("text", &["a", "b", "c\0"])]),
    );
    says(&usage(&request(&nul)), &[&nul, "row 3", "NUL"]);
}

#[test]
fn no_rows_are_told() {
    let folder = Folder::new();
    let path = folder.file("a.parquet", parquet(vec![strings::<&str>("text", &[])]));
    says(&usage(&request(&path)), &["a.parquet", "it is empty"]);
}

#[test]
fn what_is_not_utf_8_is_placed() {
    let folder = Folder::new();
    let texts: Vec<String> = (0..100).map(|i| format!("the text of row {i}")).collect();
    // Uncompressed, so that the text stands there to be broken; in two groups, of which the second is broken.
    let groups = [&texts[..30], &texts[30..]].map(|texts| vec![strings("text", texts)]);
    let mut bytes = packed(&groups, Compression::None);
    let at = bytes
        .windows(9)
        .position(|window| window == b"of row 50")
        .unwrap();
    bytes[at] = 0xff;
    let path = folder.file("a.parquet", bytes);
    says(&usage(&request(&path)), &[&path, "row ", "not UTF-8"]);
}

#[test]
fn what_is_not_parquet_or_is_cut_is_told() {
    let folder = Folder::new();
    let text = folder.file("a.parquet", "some text\n");
    says(&usage(&request(&text)), &[&text, "not Parquet"]);
    let bytes = parquet(vec![strings("text", &["a", "b"])]);
    for kept in [4, 8, bytes.len() / 2, bytes.len() - 1] {
        let path = folder.file("b.parquet", &bytes[..kept]);
        says(&failure(&path), &[&path, "broken Parquet", "too early"]);
    }
}

#[test]
fn a_damaged_footer_is_an_error_and_never_a_panic() {
    let folder = Folder::new();
    let bytes = parquet(vec![
        strings("text", &["one", "two", "three"]),
        numbers("n", &[1_i64, 2, 3]),
    ]);
    let whole = dataset(&folder.file("a.parquet", &bytes)).texts;
    let end = bytes.len() - 8;
    let length: [u8; 4] = bytes[end..end + 4].try_into().unwrap();
    let footer = end - u32::from_le_bytes(length) as usize;
    for at in footer..bytes.len() {
        for flipped in [0x01, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flipped;
            let path = folder.file("a.parquet", damaged);
            // Most of a footer is statistics and names, whose damage does not touch the texts.
            match try_load(&request(&format!("{path}:text"))) {
                Ok(read) => assert!(read.texts.iter().all(|text| whole.contains(text))),
                Err(error) => says(&error.to_string(), &["a.parquet"]),
            }
        }
    }
}
