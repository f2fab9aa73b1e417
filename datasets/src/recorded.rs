//! Recorded releases: what a mechanism released earlier, with the texts that it rewrote.

use std::io::Read;
use std::path::Path;

use teda_core::{Error, Result, shown};

use crate::clean::{clean, refuse_nul};
use crate::columns::{self, Column};
use crate::digest;
use crate::intake::{Field, Intake, Value};
use crate::limits::{KEPT, Limits};
use crate::place::Place;
use crate::source::{self, Located};

const SOURCE: &str = "source";
const RELEASE: &str = "release";
const EPSILON: &str = "epsilon";

/// A file of recorded releases, one per row.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The file's name without its folder.
    pub name: String,
    /// Every row, in the order of the file.
    pub releases: Vec<RecordedRelease>,
    /// Rows read: equal to the number of releases, as none is left out.
    pub rows: usize,
    /// SHA-256 of `releases`, in lower-case hexadecimal: over each one's source and release, each as its length in
    /// bytes (64 bits, little-endian) and its UTF-8, and its ε: a byte 0 if it has none, otherwise a byte 1 and the
    /// number (64 bits, little-endian).
    pub sha256: String,
}

/// One text that was rewritten, and what came out.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRelease {
    /// The private text, trimmed at both ends like the texts of a [`Dataset`](crate::Dataset); never empty.
    pub source: String,
    /// What the mechanism released, exactly as in the file; empty if it released nothing (⊥).
    pub release: String,
    /// The nominal ε at which the mechanism ran, finite and above 0; `None` if the file states none.
    pub epsilon: Option<f64>,
}

/// Reads the recorded releases in the file at `path`, `*.{jsonl,csv,tsv,parquet}[.gz]` (no `.gz` for Parquet), from
/// its columns `source`, `release` and, if present, `epsilon`, within `limits`. Other columns are ignored.
///
/// # Errors
/// Usage, for a file that does not exist, does not match its name, is plain text, lacks a column, has no rows or is
/// too large, and for a row without a source or a release, with an invalid ε, or with a text that is not UTF-8, has a
/// NUL or is too long; failed, if reading fails or the file is broken. All say where and what to do.
pub fn recorded(path: &Path, limits: Limits) -> Result<Recorded> {
    if !source::exists(path)? {
        return Err(Error::usage(format!(
            "there is no file '{}'",
            path.display()
        )));
    }
    let file = Located::new(path, None)?;
    let source = file.open(limits)?;
    from_source(&file, source, limits)
}

/// The recorded releases of a file whose bytes are in memory; the end of `name` determines the format.
///
/// # Errors
/// Same as [`recorded()`], except for those about files.
pub fn parse_recorded(name: &str, bytes: &[u8], limits: Limits) -> Result<Recorded> {
    let file = Located::named(Path::new(name), None)?;
    from_source(&file, bytes, limits)
}

fn from_source(file: &Located<'_>, source: impl Read, limits: Limits) -> Result<Recorded> {
    let mut intake = Releases {
        limits,
        releases: Vec::new(),
        bytes: 0,
    };
    file.read(source, limits, &mut intake)?;
    let releases = intake.releases;
    if releases.is_empty() {
        return Err(Error::usage(format!(
            "'{}' has no releases: it is empty",
            file.shown()
        )));
    }
    Ok(Recorded {
        name: file.name(),
        rows: releases.len(),
        sha256: digest::of_releases(&releases),
        releases,
    })
}

/// The intake of recorded releases: keeps every row, regardless of earlier rows.
struct Releases {
    limits: Limits,
    releases: Vec<RecordedRelease>,
    /// Bytes that they take.
    bytes: u64,
}

impl Intake<3> for Releases {
    fn choose(&self, file: &str, columns: &[Column<'_>]) -> Result<[Option<String>; 3]> {
        for needed in [SOURCE, RELEASE] {
            if columns::named(file, needed, columns)?.is_none() {
                return Err(Error::usage(format!(
                    "'{file}' has no column '{needed}': recorded releases are to have '{SOURCE}', the text that was \
                     rewritten, and '{RELEASE}', what came out, and may have '{EPSILON}'. Columns: {}",
                    columns::names(columns)
                )));
            }
        }
        // Rows may lack it, but there must not be two.
        columns::named(file, EPSILON, columns)?;
        Ok([SOURCE, RELEASE, EPSILON].map(|name| Some(name.to_owned())))
    }

    fn take(&mut self, [source, release, epsilon]: [Field<'_>; 3], place: Place<'_>) -> Result<()> {
        let source = source.text(place)?;
        self.limits.check_text(source, place)?;
        let source = clean(source, place)?;
        if source.is_empty() {
            return place.refuse(format_args!(
                "field '{SOURCE}' is empty: fill in the text that was rewritten, or remove the {}",
                place.unit()
            ));
        }
        let release = match release.value {
            Value::Null => "",
            _ => release.text(place)?,
        };
        self.limits.check_text(release, place)?;
        refuse_nul(release, place)?;
        self.bytes += (source.len() + release.len()) as u64 + KEPT;
        let what = "has texts that take";
        self.limits.check_input(place.name(), what, self.bytes)?;
        self.releases.push(RecordedRelease {
            source: source.to_owned(),
            release: release.to_owned(),
            epsilon: nominal(epsilon.value, place)?,
        });
        Ok(())
    }

    fn allow_plain_text(&self, file: &str) -> Result<()> {
        Err(Error::usage(format!(
            "'{file}' is plain text, which has no columns '{SOURCE}' and '{RELEASE}': recorded releases are read \
             from .jsonl, .csv and .tsv, each also as .gz, and .parquet"
        )))
    }

    fn take_plain(&mut self, _: &str, place: Place<'_>) -> Result<()> {
        place.refuse(format_args!(
            "this is a plain string, not an object with fields '{SOURCE}' and '{RELEASE}'"
        ))
    }
}

/// The ε in `value`, if there is one.
fn nominal(value: Value<'_>, place: Place<'_>) -> Result<Option<f64>> {
    let stated = match value {
        Value::Missing | Value::Null => return Ok(None),
        Value::Text(text) if text.trim().is_empty() => return Ok(None),
        Value::Text(text) => text.trim().parse().ok(),
        Value::Number(number) => Some(number),
        Value::Other(_) => None,
    };
    if stated.is_some_and(|epsilon: f64| epsilon.is_finite() && epsilon > 0.0) {
        return Ok(stated);
    }
    let said = match value {
        Value::Text(text) => format!("'{}'", shown(text.trim())),
        Value::Number(number) => number.to_string(),
        other => other.to_string(),
    };
    place.refuse(format_args!(
        "field '{EPSILON}' is {said}, not a finite number above 0: give the ε at which the mechanism ran, or \
         leave it empty where it states none"
    ))
}
