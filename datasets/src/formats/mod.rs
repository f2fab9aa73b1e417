//! The file formats, one file each: a reader takes bytes or text and pushes rows into an [`Intake`].

mod delimited;
mod json_lines;
mod parquet;
mod quotes;
mod text;

use teda_core::Result;

use crate::intake::Intake;
use crate::{bytes, unicode};

/// The endings of names that say a format, for messages.
pub(crate) const EXTENSIONS: &str = ".jsonl, .csv, .tsv and .txt, each also as .gz, and .parquet";

/// How a file holds its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    JsonLines,
    Csv,
    Tsv,
    Parquet,
    Text,
}

impl Format {
    /// The format that a lower-case `extension` stands for.
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

    /// Reads `bytes`, decompressed, to their end.
    ///
    /// # Errors
    /// Usage, for bytes that are not in this format or rows without a text; failed, for broken Parquet.
    pub(crate) fn read(self, bytes: &[u8], intake: &mut Intake<'_>) -> Result<()> {
        match self {
            Self::JsonLines => json_lines::read(content(bytes, intake.name)?, intake),
            Self::Csv => delimited::read(content(bytes, intake.name)?, b',', intake),
            Self::Tsv => delimited::read(content(bytes, intake.name)?, b'\t', intake),
            Self::Text => text::read(content(bytes, intake.name)?, intake),
            Self::Parquet => parquet::read(bytes, intake),
        }
    }
}

fn content<'a>(bytes: &'a [u8], name: &str) -> Result<&'a str> {
    bytes::refuse_containers(bytes, name)?;
    unicode::decode(bytes, name)
}
