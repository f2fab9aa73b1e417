//! Parses a source on the command line: a shipped dataset, standard input, a number of categories or a file and a
//! column.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use teda_core::{Error, Result};

use crate::bytes::Reading;
use crate::cards::{Card, cards};
use crate::formats::{EXTENSIONS, Format};
use crate::intake::Intake;
use crate::limits::Limits;
use crate::{bytes, categories};

/// Where texts come from.
pub(crate) enum Source<'a> {
    Shipped(&'static Card),
    Stdin,
    /// This many made-up texts.
    Categories(usize),
    File(Located<'a>),
}

/// A file that exists, and how to read it.
pub(crate) struct Located<'a> {
    path: PathBuf,
    format: Format,
    gzipped: bool,
    pub(crate) column: Option<&'a str>,
}

impl<'a> Located<'a> {
    /// The file at `path`.
    ///
    /// # Errors
    /// Usage, for a directory and for a file of an unknown kind.
    pub(crate) fn new(path: &Path, column: Option<&'a str>) -> Result<Self> {
        if path.is_dir() {
            return Err(Error::usage(format!(
                "'{}' is a directory: name one file in it",
                path.display()
            )));
        }
        Self::named(path, column)
    }

    /// A file with this name, which need not exist.
    ///
    /// # Errors
    /// Usage, for a file of an unknown kind.
    pub(crate) fn named(path: &Path, column: Option<&'a str>) -> Result<Self> {
        let (format, gzipped) = format_of(path)?;
        Ok(Self {
            path: path.to_owned(),
            format,
            gzipped,
            column,
        })
    }

    /// The name of the file in messages.
    pub(crate) fn shown(&self) -> String {
        bytes::shown(&self.path)
    }

    /// Opens the file.
    ///
    /// # Errors
    /// Usage, for a file that is too large; failed, if it cannot be opened.
    pub(crate) fn open(&self, limits: Limits) -> Result<File> {
        bytes::open(&self.path, self.gzipped, limits)
    }

    /// Hands every row of `source`, the file's content, to `intake`.
    ///
    /// # Errors
    /// Usage, for a file that does not match its name, for more than `limits` allow, and for rows that `intake`
    /// refuses; failed, if reading fails or the content is broken.
    pub(crate) fn read<const N: usize>(
        &self,
        source: impl Read,
        limits: Limits,
        intake: &mut impl Intake<N>,
    ) -> Result<()> {
        let shown = self.shown();
        let reading = Reading {
            name: &shown,
            limits,
            lines: self.format != Format::Parquet,
        };
        let bytes = match (self.gzipped, self.format) {
            (true, _) => reading.gunzip(source)?,
            (false, Format::Parquet) => reading.parquet(source)?,
            (false, _) => reading.plain(source)?,
        };
        self.format.read(&shown, &bytes, limits, intake)
    }

    /// The file's name without its folder, and the column if one was asked for.
    pub(crate) fn name(&self) -> String {
        let file = self.path.file_name().unwrap_or(self.path.as_os_str());
        let file = file.to_string_lossy();
        match self.column {
            Some(column) => format!("{file}:{column}"),
            None => file.into_owned(),
        }
    }
}

impl<'a> Source<'a> {
    /// Parses `source`, the value of `--dataset`.
    ///
    /// # Errors
    /// Usage, for a name that is neither shipped nor a file, for a file of an unknown kind and for an invalid number
    /// of categories; failed, if it cannot be determined whether there is a file.
    pub(crate) fn parse(source: &'a str) -> Result<Self> {
        if source == "-" {
            return Ok(Self::Stdin);
        }
        if let Some(card) = cards().iter().find(|card| card.name == source) {
            return Ok(Self::Shipped(card));
        }
        if let Some(count) = categories::parse(source)? {
            return Ok(Self::Categories(count));
        }
        let Some((path, column)) = locate(source)? else {
            return Err(missing(source));
        };
        if column == Some("") {
            return Err(Error::usage(format!(
                "'{source}' ends in ':' without a column: name one, or leave the ':' out"
            )));
        }
        Ok(Self::File(Located::new(Path::new(path), column)?))
    }
}

/// The longest existing path at the beginning of `source`, alone or before a ':', and what follows it. So a path that
/// contains a ':' needs no escaping.
fn locate(source: &str) -> Result<Option<(&str, Option<&str>)>> {
    if exists(Path::new(source))? {
        return Ok(Some((source, None)));
    }
    for (colon, _) in source.rmatch_indices(':') {
        if exists(Path::new(&source[..colon]))? {
            return Ok(Some((&source[..colon], Some(&source[colon + 1..]))));
        }
    }
    Ok(None)
}

/// Whether something exists at `path`.
///
/// # Errors
/// Failed, if that cannot be determined.
pub(crate) fn exists(path: &Path) -> Result<bool> {
    match fs::metadata(path) {
        Ok(_) => Ok(true),
        // Not a valid path: too long, or with a NUL.
        Err(error) => match error.kind() {
            ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::InvalidInput
            | ErrorKind::InvalidFilename => Ok(false),
            _ => Err(Error::failed(format!(
                "cannot read '{}': {error}",
                path.display()
            ))),
        },
    }
}

/// The format of a file by its name, and whether it is compressed.
fn format_of(path: &Path) -> Result<(Format, bool)> {
    let known = || format!("known are {EXTENSIONS}");
    let shown = path.display();
    let gzipped = extension(path).is_some_and(|extension| extension == "gz");
    let inner = if gzipped {
        path.with_extension("")
    } else {
        path.to_path_buf()
    };
    let Some(extension) = extension(&inner) else {
        return Err(Error::usage(format!(
            "the name of '{shown}' does not say its format: {}",
            known()
        )));
    };
    match Format::of_extension(&extension) {
        Some(Format::Parquet) if gzipped => Err(Error::usage(format!(
            "'{shown}': Parquet is compressed inside and is not read through gzip: decompress it first"
        ))),
        Some(format) => Ok((format, gzipped)),
        None => Err(Error::usage(format!(
            "'{shown}' is of an unknown format '{extension}': {}",
            known()
        ))),
    }
}

fn extension(path: &Path) -> Option<String> {
    Some(path.extension()?.to_str()?.to_lowercase())
}

/// The error for an unknown source: a missing file if it looks like a path, otherwise an unknown name.
fn missing(source: &str) -> Error {
    // The part before a column, if its end looks like a file's.
    let path = source
        .rmatch_indices(':')
        .map(|(colon, _)| &source[..colon])
        .chain([source])
        .find(|path| format_of(Path::new(path)).is_ok());
    match path {
        Some(path) => Error::usage(format!("there is no file '{path}'")),
        None if source.contains(['/', '\\']) => {
            Error::usage(format!("there is no file '{source}'"))
        }
        None => {
            let known: Vec<&str> = cards().iter().map(|card| card.name).collect();
            let error = Error::unknown("dataset", source, &known);
            Error::usage(format!(
                "{error}; or a path to a file ({EXTENSIONS}), with ':COLUMN' behind it where that is needed; \
                 '-' for standard input; or 'categories:K' for K made-up texts"
            ))
        }
    }
}
