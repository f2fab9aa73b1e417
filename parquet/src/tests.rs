//! What is written reads back, and damage is an error.

use std::io::{self, Cursor};

use polars_arrow::array::{Array, PrimitiveArray, Utf8ViewArray};

use crate::{Compression, Footer, Writer};

fn columns(rows: std::ops::Range<u32>) -> [Box<dyn Array>; 2] {
    let texts: Vec<String> = rows
        .clone()
        .map(|row| format!("wörds of row {row}"))
        .collect();
    [
        PrimitiveArray::from_vec(rows.collect()).boxed(),
        Utf8ViewArray::from_slice_values(&texts).boxed(),
    ]
}

fn file(groups: &[std::ops::Range<u32>]) -> Vec<u8> {
    let none = columns(0..0);
    let types = ["id", "text"].into_iter().zip(&none);
    let types: Vec<_> = types
        .map(|(name, values)| (name, values.dtype().clone()))
        .collect();
    let mut bytes = Vec::new();
    let pairs = [("a.key", "its value")];
    let mut writer = Writer::new(&mut bytes, &types, Compression::Zstd, &pairs).unwrap();
    for rows in groups {
        writer.write(&columns(rows.clone())).unwrap();
    }
    writer.finish().unwrap();
    bytes
}

#[test]
fn columns_read_back_group_by_group() {
    // A group without rows is none.
    let groups = [0..3, 3..3, 3..5_000];
    let bytes = file(&groups);
    let mut source = Cursor::new(&bytes);
    let footer = Footer::read(&mut source).unwrap();
    assert_eq!((footer.rows(), footer.groups().len()), (5_000, 2));
    assert_eq!(footer.value("a.key"), Some("its value"));
    assert_eq!(footer.value("another"), None);
    assert!(footer.has("text") && !footer.has("texts"));
    for (group, rows) in [0..3, 3..5_000].into_iter().enumerate() {
        for (name, expected) in ["id", "text"].into_iter().zip(columns(rows)) {
            let read = footer.column(&mut source, group, name, None).unwrap();
            assert_eq!(read, expected);
        }
    }
    let first = footer.column(&mut source, 1, "id", Some(7)).unwrap();
    assert_eq!(first, columns(3..10)[0]);
    let missing = footer.column(&mut source, 0, "texts", None).unwrap_err();
    assert!(missing.to_string().contains("no column 'texts'"));
    // Without the writer's metadata the types are those that Parquet itself has.
    let plain = Footer::plain(&mut source).unwrap();
    assert_eq!(plain.value("a.key"), None);
    assert!(plain.fields().eq(footer.fields()));
}

#[test]
fn the_same_columns_make_the_same_bytes() {
    assert!(file(&[0..9_000, 9_000..9_001]) == file(&[0..9_000, 9_000..9_001]));
}

#[test]
fn a_file_without_rows_has_its_columns() {
    let footer = Footer::read(&mut Cursor::new(file(&[]))).unwrap();
    assert_eq!((footer.rows(), footer.groups().len()), (0, 0));
    assert_eq!(footer.fields().count(), 2);
}

#[test]
fn columns_of_other_lengths_or_numbers_are_refused() {
    let [ids, _] = columns(0..4);
    let [a, b] = ["a", "b"].map(|name| (name, ids.dtype().clone()));
    let twice = Writer::new(Vec::new(), &[a.clone(), a.clone()], Compression::None, &[]);
    assert!(twice.err().unwrap().to_string().contains("duplicate"));
    let mut writer = Writer::new(Vec::new(), &[a, b], Compression::None, &[]).unwrap();
    let mut refused = |columns: &[Box<dyn Array>]| writer.write(columns).unwrap_err().to_string();
    assert!(refused(std::slice::from_ref(&ids)).contains("1 columns of 4 rows"));
    assert!(refused(&[ids.clone(), columns(0..3)[0].clone()]).contains("other lengths"));
}

/// Every cut, and every byte changed: an error, or values of the type that was asked for.
#[test]
fn damage_is_an_error_and_never_a_panic() {
    let bytes = file(&[0..30, 30..40]);
    let read = |bytes: &[u8]| -> crate::Result<usize> {
        let mut source = Cursor::new(bytes);
        let footer = Footer::read(&mut source)?;
        let mut values = 0;
        for group in 0..footer.groups().len() {
            for name in ["id", "text"] {
                values += footer.column(&mut source, group, name, None)?.len();
            }
        }
        Ok(values)
    };
    assert_eq!(read(&bytes), Ok(80));
    assert!((0..bytes.len()).all(|length| read(&bytes[..length]).is_err()));
    let mut errors = 0;
    for at in 0..bytes.len() {
        for flipped in [0x01, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= flipped;
            errors += usize::from(read(&damaged).is_err());
        }
    }
    assert!(errors > 0);
    // A chunk that is said to lie beyond the file takes no memory.
    let footer = Footer::read(&mut Cursor::new(&bytes)).unwrap();
    let short = &bytes[..20];
    assert!(
        footer
            .column(&mut Cursor::new(short), 0, "text", None)
            .is_err()
    );
}

/// A disk that has room for so many bytes.
struct Full(usize);

impl io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.min(bytes.len()) {
            0 => Err(io::ErrorKind::StorageFull.into()),
            room => {
                self.0 -= room;
                Ok(room)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_called_one() {
    let types = [("id", columns(0..0)[0].dtype().clone())];
    for room in [0, 5, 100] {
        let writer = Writer::new(Full(room), &types, Compression::None, &[]);
        let ended = writer.and_then(|mut writer| {
            writer.write(&columns(0..1_000)[..1])?;
            writer.finish()
        });
        let said = ended.unwrap_err().to_string();
        assert_eq!(
            said,
            io::Error::from(io::ErrorKind::StorageFull).to_string()
        );
    }
}
