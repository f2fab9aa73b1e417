//! The fields of one table of a file of audits, each with its line: a check file, or a study.

use teda_core::{Error, Result, shown};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

/// A file while it is being read.
pub struct Source<'a> {
    /// Its name in messages.
    pub name: String,
    /// Its text.
    pub text: &'a str,
}

impl<'a> Source<'a> {
    /// Its top-level table.
    ///
    /// # Errors
    /// Usage, with the line, if it is no TOML.
    pub fn table(&self) -> Result<Spanned<DeTable<'a>>> {
        DeTable::parse(self.text).map_err(|e| {
            let start = e.span().map_or(0, |span| span.start);
            self.at(
                start,
                Error::usage(format!("invalid TOML: {}", e.message())),
            )
        })
    }

    /// The error prefixed with file and line.
    pub fn at(&self, start: usize, error: Error) -> Error {
        error.context(self.place(start))
    }

    /// File and line of the byte `start`.
    fn place(&self, start: usize) -> String {
        let before = self.text.bytes().take(start);
        let line = 1 + before.filter(|byte| *byte == b'\n').count();
        format!("{}:{line}", self.name)
    }
}

/// `key = value`, with the value as the words that a command line would have.
#[derive(Clone)]
struct Field {
    key: String,
    words: Vec<String>,
    place: String,
}

impl Field {
    fn read(
        source: &Source<'_>,
        key: &Spanned<DeString<'_>>,
        value: &Spanned<DeValue<'_>>,
        known: &[&str],
    ) -> Result<Self> {
        let name = key.get_ref().as_ref();
        if !known.contains(&name) {
            return Err(source.at(key.span().start, Error::unknown("key", name, known)));
        }
        let words = words(value.get_ref());
        Ok(Self {
            key: name.to_owned(),
            words: words.map_err(|e| source.at(value.span().start, e.context(name)))?,
            place: source.place(key.span().start),
        })
    }
}

/// The fields of an audit.
#[derive(Clone)]
pub struct Fields {
    all: Vec<Field>,
    /// Where the table begins.
    place: String,
}

impl Fields {
    /// The fields of `table`, which begins at byte `start` and may hold only `known` keys, besides `tables`, which are
    /// left to the caller.
    ///
    /// # Errors
    /// Usage, for another key, naming the nearest, or a value that is neither scalar nor list.
    pub fn read(
        source: &Source<'_>,
        table: &DeTable<'_>,
        start: usize,
        known: &[&str],
        tables: &[&str],
    ) -> Result<Self> {
        Ok(Self {
            all: table
                .iter()
                .filter(|(key, _)| !tables.contains(&key.get_ref().as_ref()))
                .map(|(key, value)| Field::read(source, key, value, known))
                .collect::<Result<_>>()?,
            place: source.place(start),
        })
    }

    /// These fields, plus those of `defaults` whose keys are missing here.
    #[must_use]
    pub fn or(mut self, defaults: &Self) -> Self {
        let missing = defaults.all.iter().filter(|field| !self.has(&field.key));
        let missing: Vec<Field> = missing.cloned().collect();
        self.all.extend(missing);
        self
    }

    /// Only the fields of these keys.
    #[must_use]
    pub fn only(mut self, keys: &[&str]) -> Self {
        self.all.retain(|field| keys.contains(&&*field.key));
        self
    }

    /// The same with other values for a key that is present.
    #[must_use]
    pub fn with(&self, key: &str, words: &[String]) -> Self {
        let mut with = self.clone();
        for field in with.all.iter_mut().filter(|field| field.key == key) {
            field.words = words.to_vec();
        }
        with
    }

    /// All values of a key; none if it is missing.
    #[must_use]
    pub fn words(&self, key: &str) -> Vec<String> {
        self.find(key)
            .map_or_else(Vec::new, |field| field.words.clone())
    }

    /// Whether the key is present.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// The fields for `flags`, as command-line arguments.
    #[must_use]
    pub fn arguments(&self, flags: &[&str]) -> Vec<String> {
        let given = self.all.iter().filter(|f| flags.contains(&&*f.key));
        given
            .flat_map(|f| {
                f.words
                    .iter()
                    .map(move |word| format!("--{}={word}", f.key))
            })
            .collect()
    }

    /// The single value of `key`.
    ///
    /// # Errors
    /// Usage, for a list of several values.
    pub fn word(&self, key: &str) -> Result<Option<&str>> {
        let Some(field) = self.find(key) else {
            return Ok(None);
        };
        match &field.words[..] {
            [word] => Ok(Some(word)),
            words => Err(self.at(
                key,
                Error::usage(format!("{key}: {} values, where one is meant", words.len())),
            )),
        }
    }

    /// The number at `key`, finite and not negative.
    ///
    /// # Errors
    /// Usage, for anything else.
    pub fn number(&self, key: &str) -> Result<Option<f64>> {
        let Some(word) = self.word(key)? else {
            return Ok(None);
        };
        let number = word
            .parse()
            .ok()
            .filter(|n: &f64| n.is_finite() && *n >= 0.0);
        let wrong = || {
            let claim = if key == "at-most" {
                ", or \"claim\""
            } else {
                ""
            };
            Error::usage(format!(
                "{key} = {}: write a finite number, 0 or more{claim}",
                shown(word)
            ))
        };
        number.ok_or_else(|| self.at(key, wrong())).map(Some)
    }

    /// The error prefixed with the place of `key`, or with that of the table if it has no such key.
    #[must_use]
    pub fn at(&self, key: &str, error: Error) -> Error {
        let place = self.find(key).map_or(&self.place, |field| &field.place);
        error.context(place)
    }

    fn find(&self, key: &str) -> Option<&Field> {
        self.all.iter().find(|field| field.key == key)
    }
}

/// A value as the words of a command line.
fn words(value: &DeValue<'_>) -> Result<Vec<String>> {
    match value {
        DeValue::Array(items) if items.is_empty() => Err(Error::usage(
            "an empty list; leave the key out for the default",
        )),
        DeValue::Array(items) => items.iter().map(|item| scalar(item.get_ref())).collect(),
        single => Ok(vec![scalar(single)?]),
    }
}

fn scalar(value: &DeValue<'_>) -> Result<String> {
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Float(number) => Ok(number.as_str().to_owned()),
        DeValue::Boolean(truth) => Ok(truth.to_string()),
        DeValue::Integer(number) => i128::from_str_radix(number.as_str(), number.radix())
            .map(|n| n.to_string())
            .map_err(|e| Error::usage(format!("{}: {e}", shown(number.as_str())))),
        other => Err(Error::usage(format!(
            "a value of type {}; write a number, a text, or a list of them",
            other.type_str()
        ))),
    }
}
