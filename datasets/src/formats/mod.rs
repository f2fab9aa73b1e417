//! The file formats: a reader takes bytes or text and hands rows to an [`Intake`]. One file per format, and one each
//! for the quotes of CSV and the cells of Parquet.

mod cells;
mod delimited;
mod json_lines;
mod parquet;
mod quotes;
mod text;

use teda_core::Result;

use crate::intake::Intake;
use crate::limits::Limits;
use crate::{bytes, unicode};

/// The file name endings that determine a format, for messages.
pub(crate) const EXTENSIONS: &str = ".jsonl, .csv, .tsv and .txt, each also as .gz, and .parquet";

/// How a file stores its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    JsonLines,
    Csv,
    Tsv,
    Parquet,
    Text,
}

impl Format {
    /// The format for a lower-case `extension`.
    pub(crate) fn of_extension(extension: &str) -> Option<Self> {
        Some(match extension {
            "jsonl" => Self::JsonLines,
            "csv" => Self::Csv,
            "tsv" => Self::Tsv,
            "parquet" => Self::Parquet,
            "txt" => Self::Text,
            _ => return None,
        })
    }

    /// Reads all of `bytes`, the decompressed content of `file`.
    ///
    /// # Errors
    /// Usage, for bytes that are not in this format, Parquet that unpacks to more than `limits` allow, and rows that
    /// `intake` refuses; failed, for broken Parquet.
    pub(crate) fn read<const N: usize>(
        self,
        file: &str,
        bytes: &[u8],
        limits: Limits,
        intake: &mut impl Intake<N>,
    ) -> Result<()> {
        let content = || {
            bytes::refuse_containers(bytes, file)?;
            unicode::decode(bytes, file)
        };
        match self {
            Self::JsonLines => json_lines::read(file, content()?, intake),
            Self::Csv => delimited::read(file, content()?, b',', intake),
            Self::Tsv => delimited::read(file, content()?, b'\t', intake),
            Self::Text => text::read(file, content()?, intake),
            Self::Parquet => parquet::read(file, bytes, limits, intake),
        }
    }
}
