//! The footer of a file, and the columns that it points at.

use std::io::{Cursor, Read, Seek, SeekFrom};

use polars_arrow::array::{Array, new_empty_array};
use polars_arrow::compute::concatenate::concatenate;
use polars_arrow::datatypes::{ArrowSchema, Field};
use polars_error::{PolarsResult, polars_err};
use polars_parquet::read::{
    BasicDecompressor, ColumnChunkMetadata, FileMetadata, Filter, PageReader, RowGroupMetadata,
    column_iter_to_arrays, infer_schema, read_metadata,
};

use crate::{Broken, Result, caught, pages};

/// Why the library panics on a file.
const DAMAGED: &str = "its parts do not fit together";

/// What a file says about itself at its end.
///
/// It does not hold the file open: many can be read side by side.
pub struct Footer {
    length: u64,
    metadata: FileMetadata,
    schema: ArrowSchema,
}

impl Footer {
    /// Reads the footer of a file.
    ///
    /// # Errors
    /// If it cannot be read or is damaged.
    pub fn read(source: &mut (impl Read + Seek)) -> Result<Self> {
        Self::with(source, |metadata| metadata)
    }

    /// Reads the footer without the writer's own metadata, which can turn a string into something else (a pandas
    /// category, say): a string is a string.
    ///
    /// # Errors
    /// If it cannot be read or is damaged.
    pub fn plain(source: &mut (impl Read + Seek)) -> Result<Self> {
        Self::with(source, |metadata| FileMetadata {
            key_value_metadata: None,
            ..metadata
        })
    }

    fn with(
        source: &mut (impl Read + Seek),
        keep: impl FnOnce(FileMetadata) -> FileMetadata,
    ) -> Result<Self> {
        let length = source.seek(SeekFrom::End(0)).map_err(Broken::new)?;
        let (metadata, schema) = caught(DAMAGED, || {
            let metadata = keep(read_metadata(source)?);
            let schema = infer_schema(&metadata)?;
            PolarsResult::Ok((metadata, schema))
        })?;
        Ok(Self {
            length,
            metadata,
            schema,
        })
    }

    /// The value of a key of the file's metadata.
    pub fn value(&self, key: &str) -> Option<&str> {
        let pairs = self.metadata.key_value_metadata.iter().flatten();
        pairs
            .filter(|pair| pair.key == key)
            .find_map(|pair| pair.value.as_deref())
    }

    /// The columns' names and types, in order.
    pub fn fields(&self) -> impl Iterator<Item = &Field> {
        self.schema.iter_values()
    }

    /// Whether there is a column of this name.
    pub fn has(&self, column: &str) -> bool {
        self.schema.get(column).is_some()
    }

    /// The row groups.
    pub fn groups(&self) -> &[RowGroupMetadata] {
        &self.metadata.row_groups
    }

    /// Number of rows in all groups.
    pub fn rows(&self) -> usize {
        self.metadata.num_rows
    }

    /// The column of this name in a row group of the file: its first `rows` values, or all. Takes memory for one column
    /// of one group.
    ///
    /// # Errors
    /// If there is none, or it cannot be read or is damaged.
    pub fn column(
        &self,
        source: &mut (impl Read + Seek),
        group: usize,
        name: &str,
        rows: Option<usize>,
    ) -> Result<Box<dyn Array>> {
        let field = self.schema.get(name).cloned();
        let field = field.ok_or_else(|| Broken::new(format!("it has no column '{name}'")))?;
        caught(DAMAGED, || {
            let group = &self.metadata.row_groups[group];
            let chunks = group.columns_under_root_iter(name).into_iter().flatten();
            let (mut columns, mut types) = (Vec::new(), Vec::new());
            for chunk in chunks {
                let bytes = bytes(source, self.length, chunk)?;
                let checked = check(&bytes, chunk, group.num_rows());
                checked.map_err(|wrong| polars_err!(ComputeError: "{wrong}"))?;
                let bytes = Cursor::new(bytes.into());
                let pages = PageReader::new(bytes, chunk, Vec::new(), usize::MAX);
                columns.push(BasicDecompressor::new(pages, Vec::new()));
                types.push(&chunk.descriptor().descriptor.primitive_type);
            }
            let first = rows.map(|rows| Filter::new_ranged(0, rows.min(group.num_rows())));
            let expected = rows.unwrap_or(usize::MAX).min(group.num_rows());
            let dtype = field.dtype().clone();
            let (mut parts, _) = column_iter_to_arrays(columns, types, field, first)?;
            let whole = match parts.len() {
                0 => new_empty_array(dtype),
                1 => parts.remove(0),
                _ => concatenate(&parts.iter().map(AsRef::as_ref).collect::<Vec<_>>())?,
            };
            match whole.len() == expected {
                true => PolarsResult::Ok(whole),
                false => Err(polars_err!(ComputeError:
                    "column '{name}' has {} values where {expected} are said to be", whole.len())),
            }
        })
    }
}

/// The bytes of a column's chunk. Nothing is allocated for a chunk that does not lie in the file.
fn bytes(
    source: &mut (impl Read + Seek),
    length: u64,
    chunk: &ColumnChunkMetadata,
) -> PolarsResult<Vec<u8>> {
    let range = chunk.byte_range();
    if range.end > length {
        return Err(polars_err!(ComputeError: "a column lies beyond the file, at {range:?}"));
    }
    let mut bytes = vec![0; (range.end - range.start) as usize];
    source.seek(SeekFrom::Start(range.start))?;
    source.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Checks that the pages of a chunk can match what the footer says about them.
fn check(
    bytes: &[u8],
    chunk: &ColumnChunkMetadata,
    rows: usize,
) -> std::result::Result<(), String> {
    let said = chunk.num_values();
    // In a column without lists each row has one value.
    let lists = chunk.descriptor().descriptor.max_rep_level > 0;
    match usize::try_from(said) {
        Ok(values) if lists || values == rows => pages::check(bytes, values),
        _ => Err(format!(
            "a column says that it has {said} values in {rows} rows"
        )),
    }
}
