//! Writes row groups.

use std::io::Write;

use polars_arrow::array::Array;
use polars_arrow::datatypes::{ArrowDataType, ArrowSchema, Field};
use polars_error::PolarsResult;
use polars_parquet::write::{
    CompressedPage, CompressionOptions, DynIter, DynStreamingIterator, Encoding, FileWriter,
    KeyValue, Page, ParquetType, StatisticsOptions, Version, WriteOptions, array_to_columns,
    compress, fallible_streaming_iterator, get_dtype_encoding, schema_to_metadata_key,
    to_parquet_schema,
};
use rayon::prelude::*;

use crate::told::{Telling, Told};
use crate::{Broken, Result, caught};

/// Why the library panics on columns that fit their types.
const GAVE_UP: &str = "the Parquet library gave up";

/// How pages are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// By zstd at its own default level.
    Zstd,
    /// Not at all.
    None,
}

/// A file being written. The same columns give the same bytes.
pub struct Writer<W: Write> {
    file: FileWriter<Telling<W>>,
    told: Told,
    types: Vec<ParquetType>,
    encodings: Vec<Vec<Encoding>>,
    options: WriteOptions,
    pairs: Vec<KeyValue>,
}

impl<W: Write> Writer<W> {
    /// Begins a file with columns of these names and types, which may have nulls, and keys and values in its metadata.
    ///
    /// # Errors
    /// If two columns have one name, or a type cannot be stored.
    pub fn new(
        to: W,
        columns: &[(&str, ArrowDataType)],
        compression: Compression,
        pairs: &[(&str, &str)],
    ) -> Result<Self> {
        let options = WriteOptions {
            statistics: StatisticsOptions::default(),
            version: Version::V1,
            compression: match compression {
                Compression::Zstd => CompressionOptions::Zstd(None),
                Compression::None => CompressionOptions::Uncompressed,
            },
            data_page_size: None,
        };
        let named = columns.iter().map(|(name, dtype)| {
            let field = Field::new((*name).into(), dtype.clone(), true);
            (field.name.clone(), field)
        });
        let schema = ArrowSchema::from_iter_check_duplicates(named).map_err(Broken::new)?;
        let pair = |(key, value): &(&str, &str)| KeyValue {
            key: (*key).to_owned(),
            value: Some((*value).to_owned()),
        };
        let told = Told::default();
        let to = Telling {
            to,
            told: told.clone(),
        };
        caught(GAVE_UP, || {
            let encodings = schema.iter_values().map(|f| get_dtype_encoding(&f.dtype));
            PolarsResult::Ok(Self {
                types: to_parquet_schema(&schema)?.fields().to_vec(),
                encodings: encodings.collect(),
                options,
                pairs: pairs.iter().map(pair).collect(),
                file: FileWriter::try_new(to, schema, options)?,
                told,
            })
        })
    }

    /// Appends a row group, whose columns have the types given at the start and one length. Without rows there is none.
    ///
    /// # Errors
    /// If the columns are others, or cannot be written.
    pub fn write(&mut self, columns: &[Box<dyn Array>]) -> Result<()> {
        let rows = columns.first().map_or(0, |column| column.len());
        if columns.len() != self.types.len() || columns.iter().any(|column| column.len() != rows) {
            return Err(Broken::new(format!(
                "{} columns of {rows} rows and other lengths, where {} of one length belong",
                columns.len(),
                self.types.len()
            )));
        }
        if rows == 0 {
            return Ok(());
        }
        let options = self.options;
        let written = caught(GAVE_UP, || {
            let packed: Vec<Vec<Vec<CompressedPage>>> = columns
                .par_iter()
                .zip(&self.types)
                .zip(&self.encodings)
                .map(|((column, kind), encodings)| packed(&**column, kind, encodings, options))
                .collect::<PolarsResult<_>>()?;
            let pages = packed.iter().flatten().map(|pages| {
                let pages = pages.iter().map(PolarsResult::Ok);
                Ok(DynStreamingIterator::new(
                    fallible_streaming_iterator::convert(pages),
                ))
            });
            self.file.write(rows as u64, DynIter::new(pages))
        });
        self.told.instead(written)
    }

    /// Completes the file with its footer.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<()> {
        let mut pairs = vec![schema_to_metadata_key(self.file.schema())];
        pairs.append(&mut self.pairs);
        let ended = caught(GAVE_UP, || self.file.end(Some(pairs)).map(|_| ()));
        self.told.instead(ended)
    }
}

/// The compressed pages of each leaf of a column.
fn packed(
    column: &dyn Array,
    kind: &ParquetType,
    encodings: &[Encoding],
    options: WriteOptions,
) -> PolarsResult<Vec<Vec<CompressedPage>>> {
    let pack = |page: PolarsResult<Page>| -> PolarsResult<CompressedPage> {
        Ok(compress(page?, Vec::new(), options.compression)?)
    };
    array_to_columns(column, kind.clone(), options, encodings)?
        .into_iter()
        .map(|leaf| leaf.map(pack).collect())
        .collect()
}
