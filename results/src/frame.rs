//! The Parquet files of a run as whole tables, for programs that calculate with them.

use std::fs::File;
use std::path::Path;

use teda_core::{Error, Result};
use teda_parquet::Footer;
use teda_parquet::arrow::array::Array;
use teda_parquet::arrow::datatypes::Field;

use crate::atomic;

/// A table as Arrow arrays.
pub struct Frame {
    /// The columns' names and types.
    pub fields: Vec<Field>,
    /// By row group, the columns.
    pub groups: Vec<Vec<Box<dyn Array>>>,
}

/// The whole table in the file named `name` (`trials.parquet`, `guesses.parquet`, `texts.parquet`) of the run
/// directory `dir`.
///
/// # Errors
/// Usage, if there is no such file; failed, if it cannot be read or is damaged.
pub fn read(dir: &Path, name: &str) -> Result<Frame> {
    let path = dir.join(name);
    if !path.exists() {
        return Err(Error::usage(format!(
            "{}: this run has no {name}",
            dir.display()
        )));
    }
    let mut file = File::open(&path).map_err(|e| atomic::failed(&path, "cannot read", &e))?;
    columns(&mut file).map_err(|e| atomic::failed(&path, "damaged", &e))
}

fn columns(file: &mut File) -> teda_parquet::Result<Frame> {
    let footer = Footer::read(file)?;
    let fields: Vec<Field> = footer.fields().cloned().collect();
    let mut group = |group: usize| {
        let column = |field: &Field| footer.column(file, group, &field.name, None);
        fields
            .iter()
            .map(column)
            .collect::<teda_parquet::Result<_>>()
    };
    let groups = (0..footer.groups().len()).map(&mut group);
    let groups = groups.collect::<teda_parquet::Result<_>>()?;
    Ok(Frame { fields, groups })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Row, Writer};

    #[test]
    fn a_table_has_the_rows_of_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = Writer::create(dir.path(), "trials.parquet", false).unwrap();
        for trial in 0..100 {
            writer.push(Row::example(trial)).unwrap();
        }
        writer.finish().unwrap();
        let table = read(dir.path(), "trials.parquet").unwrap();
        assert_eq!((table.fields.len(), table.groups.len()), (11, 1));
        assert!(table.groups[0].iter().all(|column| column.len() == 100));
        let missing = read(dir.path(), "guesses.parquet").err().unwrap();
        assert!(matches!(missing, Error::Usage(m) if m.contains("no guesses.parquet")));
        std::fs::write(dir.path().join("texts.parquet"), "PAR1 or not").unwrap();
        let damaged = read(dir.path(), "texts.parquet").err().unwrap().to_string();
        assert!(damaged.contains("damaged"), "{damaged}");
    }
}
