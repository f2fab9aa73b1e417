//! Turns a request into texts.

use std::io::Read;
use std::path::Path;

use serde::{Deserialize, Serialize};
use teda_core::{Error, Result};

use crate::bytes::{self, Reading, STDIN};
use crate::cards::Card;
use crate::categories;
use crate::formats::Format;
use crate::limits::Limits;
use crate::place::Place;
use crate::selection::Selection;
use crate::source::{Located, Source};
use crate::splits::{ALL_SPLITS, Splits};
use crate::texts::Texts;

/// Which texts to use.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Request {
    /// A shipped name, `-` for standard input (one text a line), or a path
    /// `path.{jsonl,csv,tsv,parquet,txt}[.gz][:column]` (no `.gz` for Parquet), or `categories:K` for the K texts
    /// "category 1" … "category K".
    pub source: String,
    /// The split to read, [`ALL_SPLITS`] for all. `None`: the default split of a shipped dataset, every row of a file.
    pub split: Option<String>,
    /// Keep only this many first distinct texts that pass the other filters.
    pub limit: Option<usize>,
    /// Leave out texts with fewer words (runs without white space).
    pub min_words: Option<usize>,
    /// Leave out texts with more words.
    pub max_words: Option<usize>,
}

/// Texts to audit with.
///
/// Every row is accounted for: `rows` = `texts.len()` + `merged` + `empty` + `outside_length` + `beyond_limit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dataset {
    /// The shipped name, `stdin`, `categories:K`, or the file's name without its folder (and `:column` if one was given).
    pub name: String,
    /// The distinct texts, trimmed at both ends, in order of first appearance.
    pub texts: Vec<String>,
    /// Rows read in the split.
    pub rows: usize,
    /// Rows whose text equals that of an earlier row that passed the previous filters.
    pub merged: usize,
    /// Rows whose text is nothing but white space.
    pub empty: usize,
    /// Rows with too few or too many words.
    pub outside_length: usize,
    /// Distinct texts that the limit left out.
    pub beyond_limit: usize,
    /// SHA-256 of `texts`, in lower-case hexadecimal: over each one's length in bytes (64 bits,
    /// little-endian) and its UTF-8.
    pub sha256: String,
    /// Licence, if the dataset is a shipped one.
    pub licence: Option<&'static str>,
    /// The split that was read, if the dataset has one or one was asked for.
    pub split: Option<String>,
}

impl Dataset {
    /// The texts of a program, under a name of its own.
    ///
    /// # Errors
    /// Usage, for a text with a NUL, and if no text is left.
    pub fn of_texts(name: &str, texts: impl IntoIterator<Item = String>) -> Result<Self> {
        let mut selection = Selection::new(&Request::default(), Limits::NONE)?;
        for (number, text) in (1..).zip(texts) {
            selection.push(&text, Place::row(name, number))?;
        }
        selection.finish(name.to_owned(), None, None)
    }
}

/// Loads the texts of `request`, whose input must be within `limits`; `stdin` is read only if the source is `-`.
///
/// # Errors
/// Usage, for a source, split or column that does not exist, a file whose content does not match its name, a row
/// without a text, a text that is not UTF-8 or has a NUL, an input or a text that is too large, and for filters that
/// leave nothing; failed, if reading fails or compressed data are broken. All say where and what to do.
pub fn load(request: &Request, limits: Limits, stdin: &mut dyn Read) -> Result<Dataset> {
    let selection = Selection::new(request, limits)?;
    match Source::parse(&request.source)? {
        Source::Shipped(card) => shipped(card, request, selection),
        Source::Categories(count) => made_up(count, request, selection),
        Source::Stdin => standard_input(stdin, limits, request, selection),
        Source::File(file) => located(&file, limits, request, selection),
    }
}

fn shipped(card: &'static Card, request: &Request, selection: Selection) -> Result<Dataset> {
    let split = request.split.as_deref().unwrap_or(card.default_split);
    let mut known: Vec<&str> = card.splits.iter().map(|split| split.name).collect();
    known.push(ALL_SPLITS);
    if !known.contains(&split) {
        return Err(Error::unknown("split", split, &known).context(format!("'{}'", card.name)));
    }
    // The file of a dataset with one split need not name it in every row.
    let wanted = (card.splits.len() > 1).then_some(split);
    let mut texts = Texts {
        column: Some(card.column),
        splits: Splits::new(wanted),
        selection,
    };
    let bytes = bytes::shipped(card)?;
    Format::JsonLines.read(card.name, &bytes, Limits::NONE, &mut texts)?;
    texts.finish(card.name)?.finish(
        card.name.to_owned(),
        Some(split.to_owned()),
        Some(card.licence),
    )
}

fn made_up(count: usize, request: &Request, mut selection: Selection) -> Result<Dataset> {
    let name = &request.source;
    if let Some(split) = request.split.as_deref().filter(|s| *s != ALL_SPLITS) {
        return Err(Error::usage(format!(
            "'{name}' has no splits: leave out the split '{split}'"
        )));
    }
    for number in 1..=count {
        selection.push(&categories::text(number), Place::line(name, number))?;
    }
    selection.finish(
        format!("{}:{count}", categories::NAME),
        request.split.clone(),
        None,
    )
}

fn standard_input(
    stdin: &mut dyn Read,
    limits: Limits,
    request: &Request,
    selection: Selection,
) -> Result<Dataset> {
    let reading = Reading {
        name: STDIN,
        limits,
        lines: true,
    };
    let bytes = reading.plain(stdin)?;
    let mut texts = Texts {
        column: None,
        splits: Splits::new(request.split.as_deref()),
        selection,
    };
    Format::Text.read(STDIN, &bytes, limits, &mut texts)?;
    texts
        .finish(STDIN)?
        .finish(STDIN.to_owned(), request.split.clone(), None)
}

fn located(
    file: &Located<'_>,
    limits: Limits,
    request: &Request,
    selection: Selection,
) -> Result<Dataset> {
    let source = file.open(limits)?;
    from_source(file, source, limits, request, selection)
}

/// The texts of a file whose bytes are in memory; the end of `name` determines the format.
///
/// # Errors
/// Same as [`load()`], except for those about files.
pub fn parse(name: &str, bytes: &[u8], limits: Limits) -> Result<Dataset> {
    let request = Request::default();
    let selection = Selection::new(&request, limits)?;
    let file = Located::named(Path::new(name), None)?;
    from_source(&file, bytes, limits, &request, selection)
}

fn from_source(
    file: &Located<'_>,
    source: impl Read,
    limits: Limits,
    request: &Request,
    selection: Selection,
) -> Result<Dataset> {
    let mut texts = Texts {
        column: file.column,
        splits: Splits::new(request.split.as_deref()),
        selection,
    };
    file.read(source, limits, &mut texts)?;
    texts
        .finish(&file.shown())?
        .finish(file.name(), request.split.clone(), None)
}
