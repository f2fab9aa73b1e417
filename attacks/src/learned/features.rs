//! All numbers that compare a candidate with a release.

use std::sync::{Arc, OnceLock};

use ndarray::Array2;
use rayon::prelude::*;
use teda_core::{Encoder, Observation, Result, TokenMap};

use super::meaning::Meaning;
use super::places::Places;
use super::profile::Profile;
use super::sheet::{Name, Sheet};
use super::{lengths, letters, style, wording};
use crate::entry::Context;
use crate::text::Rarity;

/// What comparisons are based on.
pub(super) struct Features {
    texts: Arc<[String]>,
    vectors: Arc<Array2<f32>>,
    encoder: Arc<dyn Encoder>,
    tokens: Arc<dyn TokenMap>,
    rarity: Rarity,
    meaning: Meaning,
    /// Indexed by text; each computed when the text is first a candidate.
    profiles: Vec<OnceLock<Box<Profile>>>,
    /// The meanings of the numbers, in order.
    names: Vec<Name>,
    /// How many of them compare with a release; the others are for a missing release.
    compared: usize,
}

impl Features {
    pub(super) fn new(context: &Context) -> Self {
        let texts = context.texts.clone();
        let mut features = Self {
            vectors: context.vectors.clone(),
            encoder: context.encoder.clone(),
            tokens: context.tokens.clone(),
            rarity: Rarity::of(&texts),
            meaning: Meaning::new(context.tokens.clone()),
            profiles: (0..texts.len()).map(|_| OnceLock::new()).collect(),
            texts,
            names: Vec::new(),
            compared: 0,
        };
        let (empty, mut sheet) = (Profile::of("", &*features.tokens), Sheet::named());
        let nothing = (&empty, "");
        features.compare(nothing, nothing, (0.0, 0), &Places::of("", 1), &mut sheet);
        features.compared = sheet.len();
        alone(&empty, &mut sheet);
        features.names = sheet.names();
        features
    }

    /// The meaning of each number of a candidate.
    pub(super) fn names(&self) -> &[Name] {
        &self.names
    }

    /// The numbers of every observation's candidates, `[observations][k × width]`.
    ///
    /// # Errors
    /// If the encoder fails.
    pub(super) fn of(&self, batch: &[Observation<'_>]) -> Result<Vec<Vec<f32>>> {
        let releases: Vec<&str> = batch.iter().map(|seen| seen.release).collect();
        let encoded = self.encoder.encode(&releases)?;
        let row = |(index, seen): (usize, &Observation<'_>)| {
            if is_none(seen.release) {
                let each = |text: &usize| {
                    let mut sheet = Sheet::new(self.names.len());
                    sheet.fill(self.compared);
                    alone(self.profile(*text), &mut sheet);
                    sheet.values()
                };
                return seen.candidates.iter().flat_map(each).collect();
            }
            let release = Profile::of(seen.release, &*self.tokens);
            let places = Places::of(seen.release, self.texts.len());
            let each = |text: &usize| {
                let cosine = f64::from(encoded.row(index).dot(&self.vectors.row(*text)));
                let mut sheet = Sheet::new(self.names.len());
                let candidate = (self.profile(*text), &self.texts[*text][..]);
                let release = (&release, seen.release);
                self.compare(candidate, release, (cosine, *text), &places, &mut sheet);
                sheet.fill(self.names.len());
                sheet.values()
            };
            seen.candidates.iter().flat_map(each).collect()
        };
        Ok(batch
            .par_iter()
            .enumerate()
            .map(|(i, seen)| row((i, seen)))
            .collect())
    }

    fn profile(&self, text: usize) -> &Profile {
        self.profiles[text].get_or_init(|| Box::new(Profile::of(&self.texts[text], &*self.tokens)))
    }

    fn compare(
        &self,
        c: (&Profile, &str),
        r: (&Profile, &str),
        (cosine, number): (f64, usize),
        places: &Places,
        sheet: &mut Sheet,
    ) {
        lengths::compare(c.0, r.0, sheet);
        wording::compare(c.0, r.0, &self.rarity, sheet);
        letters::compare(c, r, sheet);
        style::compare(&c.0.style, &r.0.style, sheet);
        self.meaning.compare(c.0, r.0, cosine, sheet);
        places.compare(number, sheet);
    }
}

/// Describes a candidate if there is no release: a mechanism may fail on some texts more often than on others.
fn alone(candidate: &Profile, sheet: &mut Sheet) {
    lengths::alone(candidate, sheet);
    style::alone(&candidate.style, sheet);
}

/// Whether a release counts as missing.
pub(super) fn is_none(release: &str) -> bool {
    release.trim().is_empty()
}
