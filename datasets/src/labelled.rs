//! Labelled texts: rows with the value of one more column, divided into those to train on and those to test on.
//!
//! # The division
//! Data with a split `train` and a split `test` are divided as they say, unless one split is asked for. All others are
//! divided by their texts: a text whose SHA-256 begins with a number (its first 8 bytes, big-endian) that is divisible
//! by 10 is tested on, about one in ten. So equal texts are on one side, and no other row decides where a row goes.

use std::collections::BTreeSet;
use std::path::Path;

use sha2::{Digest, Sha256};
use teda_core::{Error, Result, shown};

use crate::Request;
use crate::bytes;
use crate::clean::clean;
use crate::columns::{self, Column, Holds};
use crate::digest;
use crate::formats::Format;
use crate::intake::{Field, Intake, Value};
use crate::limits::{KEPT, Limits};
use crate::place::Place;
use crate::selection::Words;
use crate::source::{Located, Source};
use crate::splits::{self, Splits};

/// The splits by which data are divided, if they have both.
const OWN: [&str; 2] = ["train", "test"];

/// One text in this many is tested on, where the data do not say.
const ONE_IN: u64 = 10;

/// Most classes: a label with more is a name for the row rather than for a class.
const MOST_CLASSES: usize = 1_000;

/// A text and its class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledText {
    /// The text, trimmed at both ends; never empty.
    pub text: String,
    /// The index of its label among [`Labelled::classes`].
    pub class: usize,
}

/// Texts with labels, to train on and to test on. Equal texts are kept: they may have different labels.
///
/// Every row is accounted for: `rows` = texts to train and to test on + `empty` + `outside_length` + `other_splits` +
/// `beyond_limit`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labelled {
    /// The name of the data set, as in [`Dataset`](crate::Dataset).
    pub name: String,
    /// The distinct labels, sorted; at least two.
    pub classes: Vec<String>,
    /// The texts to train on, in the order of the source; at least one.
    pub train: Vec<LabelledText>,
    /// The texts to test on, in the order of the source; at least one.
    pub test: Vec<LabelledText>,
    /// Whether the source's own splits divide them; otherwise their digests do.
    pub own_splits: bool,
    /// Rows read.
    pub rows: usize,
    /// Rows whose text is nothing but white space.
    pub empty: usize,
    /// Rows with too few or too many words.
    pub outside_length: usize,
    /// Rows of splits that are neither `train` nor `test`, where those divide the data.
    pub other_splits: usize,
    /// Rows that the limit left out.
    pub beyond_limit: usize,
    /// SHA-256 over label and text of every text, those to train on first, each as in
    /// [`Dataset::sha256`](crate::Dataset::sha256).
    pub sha256: String,
}

/// Loads the texts of `request` with their labels, the values of the column `label`: strings or numbers.
///
/// The limit is on the texts to train on, and again on those to test on. Those are kept whose SHA-256 has the least
/// second 8 bytes: a sample that a sorted file does not spoil, and that a larger limit only adds to.
///
/// # Errors
/// Those of [`load()`](crate::load()). Also usage, for a source without columns, a column that does not exist, a row
/// without a label, data with less than two or more than 1,000 labels, and data with no text to train or to test on.
pub fn labelled(request: &Request, label: &str, limits: Limits) -> Result<Labelled> {
    let source = Source::parse(&request.source)?;
    let mut rows = Rows {
        label,
        column: None,
        limits,
        words: Words::of(request)?,
        splits: Splits::new(request.split.as_deref()),
        rows: Vec::new(),
        bytes: 0,
        read: 0,
        empty: 0,
        outside_length: 0,
    };
    let name = match &source {
        Source::Shipped(card) => {
            rows.column = Some(card.column);
            // The file of a dataset with one split need not name it in every row.
            if card.splits.len() == 1 && request.split.as_deref() == Some(card.default_split) {
                rows.splits = Splits::new(None);
            }
            let bytes = bytes::shipped(card)?;
            Format::JsonLines.read(card.name, &bytes, Limits::NONE, &mut rows)?;
            card.name.to_owned()
        }
        Source::File(file) => {
            rows.column = file.column;
            read(file, &mut rows)?;
            file.name()
        }
        Source::Stdin | Source::Categories(_) => {
            return Err(Error::usage(format!(
                "'{}' has no column '{}', and so no labels: name a shipped data set or a file with columns",
                request.source,
                shown(label)
            )));
        }
    };
    rows.splits.finish(&name)?;
    let by_splits = request.split.is_none();
    rows.divide(name, by_splits, request.limit)
}

/// The labelled texts of a file whose bytes are in memory; the end of `name` determines the format.
///
/// # Errors
/// Same as [`labelled()`], except for those about files.
pub fn parse_labelled(name: &str, bytes: &[u8], label: &str, limits: Limits) -> Result<Labelled> {
    let mut rows = Rows {
        label,
        column: None,
        limits,
        words: Words::of(&Request::default())?,
        splits: Splits::new(None),
        rows: Vec::new(),
        bytes: 0,
        read: 0,
        empty: 0,
        outside_length: 0,
    };
    let file = Located::named(Path::new(name), None)?;
    file.read(bytes, limits, &mut rows)?;
    rows.divide(file.name(), true, None)
}

fn read(file: &Located<'_>, rows: &mut Rows<'_>) -> Result<()> {
    let limits = rows.limits;
    file.read(file.open(limits)?, limits, rows)
}

/// The part of the data that a row belongs to by its own split.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Train,
    Test,
    Neither,
}

struct Row {
    text: String,
    label: String,
    part: Part,
}

/// The intake of labelled texts.
struct Rows<'a> {
    label: &'a str,
    /// The column of the text that was asked for.
    column: Option<&'a str>,
    limits: Limits,
    words: Words,
    splits: Splits<'a>,
    rows: Vec<Row>,
    /// Bytes that they take.
    bytes: u64,
    read: usize,
    empty: usize,
    outside_length: usize,
}

impl Intake<3> for Rows<'_> {
    fn asked(&self) -> Option<&str> {
        self.column
    }

    /// The text, the split and the label.
    fn choose(&self, file: &str, columns: &[Column<'_>]) -> Result<[Option<String>; 3]> {
        let label = self.label;
        if columns::named(file, label, columns)?.is_none() {
            let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
            let error = Error::unknown_in_file("label column", label, &names);
            return Err(error.context(format!("'{file}'")));
        }
        if self.column == Some(label) {
            return Err(Error::usage(format!(
                "'{file}': column '{}' is both the text and its label: name another label",
                shown(label)
            )));
        }
        // A label is not a text, even where it is called so.
        let others: Vec<Column<'_>> = columns
            .iter()
            .filter(|column| column.name != label)
            .map(|column| Column {
                name: column.name,
                holds: column.holds,
            })
            .collect();
        let text = columns::choose(file, self.column, &others)?;
        let is_split = |column: &&Column<'_>| {
            column.name == splits::FIELD && column.holds != Holds::OtherThings
        };
        let split = others.iter().find(is_split);
        Ok([
            Some(text.to_owned()),
            split.map(|column| column.name.to_owned()),
            Some(label.to_owned()),
        ])
    }

    fn take(&mut self, [text, split, label]: [Field<'_>; 3], place: Place<'_>) -> Result<()> {
        let split = match split.value {
            Value::Text(split) => Some(split),
            _ => None,
        };
        if !self.splits.admits(split) {
            return Ok(());
        }
        let text = text.text(place)?;
        self.limits.check_text(text, place)?;
        let text = clean(text, place)?;
        self.read += 1;
        if text.is_empty() {
            self.empty += 1;
            return Ok(());
        }
        if !self.words.fit(text) {
            self.outside_length += 1;
            return Ok(());
        }
        let label = written(label, place)?;
        self.bytes += (text.len() + label.len()) as u64 + KEPT;
        let what = "has texts that take";
        self.limits.check_input(place.name(), what, self.bytes)?;
        self.rows.push(Row {
            text: text.to_owned(),
            label,
            part: match split {
                Some(split) if split == OWN[0] => Part::Train,
                Some(split) if split == OWN[1] => Part::Test,
                _ => Part::Neither,
            },
        });
        Ok(())
    }

    fn allow_plain_text(&self, file: &str) -> Result<()> {
        Err(Error::usage(format!(
            "'{file}' is plain text, which has no column '{}': labels are read from .jsonl, .csv and .tsv, each also \
             as .gz, and .parquet",
            shown(self.label)
        )))
    }

    fn take_plain(&mut self, _: &str, place: Place<'_>) -> Result<()> {
        place.refuse(format_args!(
            "this is a plain string, not an object with a field '{}'",
            shown(self.label)
        ))
    }
}

/// A label as text: a string without white space at its ends, or a number.
fn written(label: Field<'_>, place: Place<'_>) -> Result<String> {
    let name = shown(label.name);
    let unit = place.unit();
    match label.value {
        Value::Text(text) if !text.trim().is_empty() => Ok(clean(text, place)?.to_owned()),
        Value::Number(number) if number.is_finite() => Ok(number.to_string()),
        Value::Text(_) | Value::Null | Value::Missing => place.refuse(format_args!(
            "there is no label in '{name}': fill it in or remove the {unit}"
        )),
        other => place.refuse(format_args!(
            "the label in '{name}' is {other}, neither a string nor a finite number: fix or remove the {unit}"
        )),
    }
}

impl Rows<'_> {
    /// Divides what was read, and numbers the labels.
    fn divide(self, name: String, by_splits: bool, limit: Option<usize>) -> Result<Labelled> {
        let label = self.label;
        if self.read == 0 {
            return Err(Error::usage(format!("'{name}' has no texts: it is empty")));
        }
        let has = |part| self.rows.iter().any(|row| row.part == part);
        let own_splits = by_splits && has(Part::Train) && has(Part::Test);
        let classes: BTreeSet<&str> = self
            .rows
            .iter()
            .filter(|row| !own_splits || row.part != Part::Neither)
            .map(|row| &row.label[..])
            .collect();
        let classes: Vec<String> = classes.into_iter().map(str::to_owned).collect();
        match classes.len() {
            0 | 1 => {
                let only = classes
                    .first()
                    .map_or(String::new(), |only| format!(" ('{}')", shown(only)));
                return Err(Error::usage(format!(
                    "'{name}' has {} label in '{}'{only}: there is nothing to tell apart",
                    classes.len(),
                    shown(label)
                )));
            }
            many if many > MOST_CLASSES => {
                return Err(Error::usage(format!(
                    "'{name}' has {many} labels in '{}', and {MOST_CLASSES} are the most that are told apart: name a \
                     column that holds classes",
                    shown(label)
                )));
            }
            _ => {}
        }
        let (mut train, mut test, mut other_splits) = (Vec::new(), Vec::new(), 0);
        for row in self.rows {
            let digest: [u8; 32] = Sha256::digest(&row.text).into();
            let [place, order] = [0, 8].map(|first| {
                let bytes = digest[first..first + 8].try_into();
                u64::from_be_bytes(bytes.expect("eight bytes"))
            });
            let class = classes.binary_search(&row.label);
            let text = LabelledText {
                text: row.text,
                class: class.expect("every label is listed"),
            };
            match row.part {
                Part::Train if own_splits => train.push((order, text)),
                Part::Test if own_splits => test.push((order, text)),
                Part::Neither if own_splits => other_splits += 1,
                _ if place % ONE_IN == 0 => test.push((order, text)),
                _ => train.push((order, text)),
            }
        }
        let both = train.len() + test.len();
        let [train, test] = [train, test].map(|texts| sample(texts, limit));
        for (texts, what) in [(&train, "train"), (&test, "test")] {
            if texts.is_empty() {
                return Err(Error::usage(format!(
                    "'{name}' has no text to {what} on: of {} rows, {} are empty, {} too short or too long, and {both} \
                     are divided by their digests; take more data, or name the splits 'train' and 'test' in a column \
                     'split'",
                    self.read, self.empty, self.outside_length
                )));
            }
        }
        let all: Vec<String> = train
            .iter()
            .chain(&test)
            .flat_map(|text| [classes[text.class].clone(), text.text.clone()])
            .collect();
        Ok(Labelled {
            name,
            sha256: digest::of_texts(&all),
            classes,
            beyond_limit: both - train.len() - test.len(),
            train,
            test,
            own_splits,
            rows: self.read,
            empty: self.empty,
            outside_length: self.outside_length,
            other_splits,
        })
    }
}

/// The texts with the least numbers, as many as the limit allows, in the order they came in.
fn sample(texts: Vec<(u64, LabelledText)>, limit: Option<usize>) -> Vec<LabelledText> {
    let mut order: Vec<(u64, usize)> = texts
        .iter()
        .enumerate()
        .map(|(place, (number, _))| (*number, place))
        .collect();
    order.sort_unstable();
    order.truncate(limit.unwrap_or(usize::MAX));
    let kept: BTreeSet<usize> = order.into_iter().map(|(_, place)| place).collect();
    let all = texts.into_iter().enumerate();
    all.filter(|(place, _)| kept.contains(place))
        .map(|(_, (_, text))| text)
        .collect()
}
