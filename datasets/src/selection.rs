//! Selects which texts are used: not empty, of the requested length, distinct, and no more than the limit.

use std::collections::HashSet;

use sha2::{Digest, Sha256};
use teda_core::{Error, Result};

use crate::clean::clean;
use crate::limits::{KEPT, Limits};
use crate::place::Place;
use crate::{Dataset, Request, digest};

/// How many words (runs without white space) a text may have.
#[derive(Clone, Copy)]
pub(crate) struct Words {
    least: Option<usize>,
    most: Option<usize>,
}

impl Words {
    /// The bounds of `request`.
    ///
    /// # Errors
    /// Usage, for filters that no text can pass.
    pub(crate) fn of(request: &Request) -> Result<Self> {
        if request.limit == Some(0) {
            return Err(Error::usage(
                "a limit of 0 texts leaves nothing: ask for 1 or more",
            ));
        }
        if let (Some(least), Some(most)) = (request.min_words, request.max_words)
            && least > most
        {
            return Err(Error::usage(format!(
                "no text has at least {least} words and at most {most}: raise the one or lower the other"
            )));
        }
        if request.max_words == Some(0) {
            return Err(Error::usage(
                "every text has more than 0 words: allow at least 1",
            ));
        }
        Ok(Self {
            least: request.min_words,
            most: request.max_words,
        })
    }

    /// Whether the number of words of `text` is within bounds.
    pub(crate) fn fit(self, text: &str) -> bool {
        if self.least.is_none() && self.most.is_none() {
            return true;
        }
        let words = text.split_whitespace().count();
        self.least.is_none_or(|least| words >= least) && self.most.is_none_or(|most| words <= most)
    }
}

/// The texts so far, and what happened to the rows that are not among them.
pub(crate) struct Selection {
    limits: Limits,
    limit: Option<usize>,
    words: Words,
    /// Digests instead of the texts: a copy of each text would double the memory, and texts beyond the limit need not
    /// be kept at all.
    seen: HashSet<[u8; 32]>,
    texts: Vec<String>,
    /// Bytes taken by texts and digests.
    bytes: u64,
    rows: usize,
    merged: usize,
    empty: usize,
    outside_length: usize,
    beyond_limit: usize,
}

impl Selection {
    /// An empty selection with the filters of `request`, for texts within `limits`.
    ///
    /// # Errors
    /// Usage, for filters that no text can pass.
    pub(crate) fn new(request: &Request, limits: Limits) -> Result<Self> {
        Ok(Self {
            limits,
            limit: request.limit,
            words: Words::of(request)?,
            seen: HashSet::new(),
            texts: Vec::new(),
            bytes: 0,
            rows: 0,
            merged: 0,
            empty: 0,
            outside_length: 0,
            beyond_limit: 0,
        })
    }

    /// Takes the text of one row, found at `place`, or counts why it was not taken.
    ///
    /// # Errors
    /// Usage, for a text with a NUL or with too many bytes, and if all texts together have too many.
    pub(crate) fn push(&mut self, text: &str, place: Place<'_>) -> Result<()> {
        self.limits.check_text(text, place)?;
        let text = clean(text, place)?;
        self.rows += 1;
        if text.is_empty() {
            self.empty += 1;
        } else if !self.words.fit(text) {
            self.outside_length += 1;
        } else if !self.seen.insert(Sha256::digest(text).into()) {
            self.merged += 1;
        } else if self.limit.is_some_and(|limit| self.texts.len() >= limit) {
            self.beyond_limit += 1;
            self.keep(0, place)?;
        } else {
            self.keep(text.len() as u64, place)?;
            self.texts.push(text.to_owned());
        }
        Ok(())
    }

    /// Adds up what a distinct text takes, given how many of its bytes are kept.
    fn keep(&mut self, bytes: u64, place: Place<'_>) -> Result<()> {
        self.bytes += bytes + KEPT;
        let what = "has texts that take";
        self.limits.check_input(place.name(), what, self.bytes)
    }

    /// The dataset that was selected.
    ///
    /// # Errors
    /// Usage, if no text is left.
    pub(crate) fn finish(
        self,
        name: String,
        split: Option<String>,
        licence: Option<&'static str>,
    ) -> Result<Dataset> {
        if self.rows == 0 {
            return Err(Error::usage(format!("'{name}' has no texts: it is empty")));
        }
        if self.texts.is_empty() {
            let within = split.map_or(String::new(), |split| format!(" of split '{split}'"));
            let outside = match (self.words.least, self.words.most) {
                (None, None) => String::new(),
                (Some(least), None) => {
                    format!(", {} have fewer than {least} words", self.outside_length)
                }
                (None, Some(most)) => {
                    format!(", {} have more than {most} words", self.outside_length)
                }
                (Some(least), Some(most)) => format!(
                    ", {} have not between {least} and {most} words",
                    self.outside_length
                ),
            };
            return Err(Error::usage(format!(
                "'{name}' has no texts left: of {} rows{within}, {} are empty{outside}. Widen the bounds or \
                 choose other data",
                self.rows, self.empty
            )));
        }
        Ok(Dataset {
            name,
            sha256: digest::of_texts(&self.texts),
            texts: self.texts,
            rows: self.rows,
            merged: self.merged,
            empty: self.empty,
            outside_length: self.outside_length,
            beyond_limit: self.beyond_limit,
            licence,
            split,
        })
    }
}
