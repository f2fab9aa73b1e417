//! `learned`: learns from the first trials of a series which signs reveal the secret, and judges by them.
//!
//! # Threat model
//! The adversary knows the data set and the candidate set, sees the release, and has a public sentence encoder and a
//! public vocabulary. Before it judges, it is shown releases of secrets that it knows: it can run the mechanism on
//! texts of its own choice, as anybody with the program can. It has no access to the mechanism's coins, probabilities
//! and parameters.
//!
//! # Definition
//! score(v) = ln P(v | release, candidates), P(v) ∝ exp(⟨w, x(v)⟩): the conditional logit. x(v) is about a hundred and
//! sixty numbers that compare v with the release:
//! - lengths, as the terms of a Gaussian regression of the release's length on the candidate's ([`lengths`]);
//! - shared words, with rare ones counting more, their order, first and last ones ([`wording`]); shared letters:
//!   common beginnings, ends and runs, truncations and copies ([`letters`]);
//! - case, punctuation, digits, and the form of Unicode ([`style`]);
//! - cosines of sentence vectors and of the pieces at the same positions, with the normaliser of a likelihood over the
//!   vocabulary ([`meaning`]);
//! - the number or bit at v's position, if the release has one for each text of the data set ([`places`]);
//! - without a release, properties of v, since a mechanism may fail on some texts more often than on others;
//! - how similar the release is to those seen for v in trials where v was the secret ([`seen`]);
//! - the worth of the first telling sign of a list that points at any candidate ([`telling`]).
//!
//! # Fitting
//! Numbers are divided by their standard deviation; w maximises Σ ln P(secret) − ½λ|w|² ([`logit`]). The examples are
//! divided into five folds by their index. What is counted by secrets ([`seen`], [`telling`]) is counted for each
//! example on the other folds; λ is the one of [`PENALTIES`] with the greatest Σ ln P(secret) over examples in folds
//! that were used neither for the weights nor for the counts of their model. Nothing is random.
//!
//! # Source
//! The conditional logit: McFadden (1974). Learning an attack from releases of known secrets: shadow models, Shokri et al.
//! (2017). Penalty by cross-validation: Hoerl & Kennard (1970), Stone (1974).
//!
//! # Errors
//! If the encoder fails.

mod cholesky;
mod features;
mod folds;
mod lengths;
mod letters;
mod logit;
mod meaning;
mod model;
mod places;
mod profile;
mod seen;
mod sheet;
mod style;
mod telling;
#[cfg(test)]
mod tests;
mod wording;

use std::sync::Arc;

use rayon::prelude::*;
use teda_core::{Answer, Attack, Error, Example, Fitted, Learner, Observation, Result, Sign};

use self::features::Features;
use self::folds::{FOLDS, Without, fold};
use self::logit::Choices;
use self::model::Model;
use self::seen::Seen;
use self::telling::Telling;
use crate::entry::{Build, Context, Entry};

pub const ENTRY: Entry = Entry {
    name: "learned",
    summary: "learns from the first trials which signs tell the secret: lengths, words, letters, form, failures",
    source: "conditional logit: McFadden (1974); shadow models: Shokri et al. (2017)",
    judge: false,
    likelihoods: false,
    latent: false,
    reads: false,
    build: Build::Learns(|context: &Context| Ok(Box::new(Learned::new(context)))),
};

/// The penalties that are tried, largest first.
const PENALTIES: [f64; 9] = [1e5, 1e4, 3e3, 1e3, 300.0, 100.0, 30.0, 8.0, 2.0];
/// Numbers of a candidate that are counted by secrets.
const COUNTED: usize = seen::WIDTH + 1;
/// The scale of the numbers that are logarithms of odds. They are roughly calibrated already, so a weight of 1 should
/// cost little, and a large weight much, however little they vary.
const TELLING: f64 = 0.002;
const SEEN: f64 = 0.1;
/// Most signs reported.
const TOLD: usize = 10;

struct Learned {
    features: Arc<Features>,
}

impl Learned {
    fn new(context: &Context) -> Self {
        Self {
            features: Arc::new(Features::new(context)),
        }
    }
}

/// What is counted by secrets.
struct Counted {
    seen: Seen,
    telling: Telling,
}

impl Counted {
    /// The numbers of an observation's candidates together with those that are counted, `[k × all]`.
    fn join(&self, seen: &Observation<'_>, plain: &[f32], without: Without) -> Vec<f32> {
        let width = plain.len() / seen.candidates.len();
        let before = self.seen.values(seen.candidates, seen.release, without);
        let telling = self.telling.values(plain, without);
        let mut all = Vec::with_capacity(plain.len() + COUNTED * telling.len());
        for (j, row) in plain.chunks_exact(width).enumerate() {
            all.extend_from_slice(row);
            all.extend_from_slice(&before[j]);
            all.push(telling[j]);
        }
        all
    }
}

/// Examples with their numbers.
struct Lesson<'a> {
    k: usize,
    examples: &'a [Example<'a>],
    plain: Vec<Vec<f32>>,
    counted: Counted,
}

impl Lesson<'_> {
    /// The numbers of an example, using counts without its own fold and one other.
    fn numbers(&self, example: usize, without: Without) -> Vec<f32> {
        let seen = &self.examples[example].observation;
        let without = without.and(fold(example));
        self.counted.join(seen, &self.plain[example], without)
    }

    /// The models without a fold, or of all examples, one per penalty; followed by the same number of models that do
    /// without [`seen`], if [`seen`] has anything.
    fn models(&self, left_out: Option<usize>, penalties: &[f64]) -> Vec<Model> {
        let without = left_out.map_or(Without::NOTHING, |fold| Without::NOTHING.and(fold));
        let learned: Vec<usize> = (0..self.examples.len())
            .filter(|example| Some(fold(*example)) != left_out)
            .collect();
        let mut choices = Choices::new(self.k, self.width());
        for some in learned.chunks(CHUNK) {
            let numbers: Vec<Vec<f32>> = some
                .par_iter()
                .map(|example| self.numbers(*example, without))
                .collect();
            for (example, numbers) in some.iter().zip(numbers) {
                choices.push(&numbers, self.examples[*example].secret);
            }
        }
        let mut odds = vec![None; self.width() - COUNTED];
        odds.extend([Some(SEEN); seen::WIDTH]);
        odds.push(Some(TELLING));
        let mut models = Model::path(self.k, &choices, &odds, penalties);
        if self.counted.seen.any() {
            odds[self.width() - COUNTED..self.width() - 1].fill(Some(0.0));
            models.extend(Model::path(self.k, &choices, &odds, penalties));
        }
        models
    }

    /// Number of models to choose from.
    fn kinds(&self) -> usize {
        PENALTIES.len() * (1 + usize::from(self.counted.seen.any()))
    }

    fn width(&self) -> usize {
        self.plain[0].len() / self.k + COUNTED
    }

    /// The scores of a fold's examples by the models fitted without it, `[examples of the fold][penalties][k]`.
    fn out_of_fold(&self, left_out: usize) -> Vec<Vec<Vec<f64>>> {
        let models = self.models(Some(left_out), &PENALTIES);
        (left_out..self.examples.len())
            .step_by(FOLDS)
            .map(|example| {
                let numbers = self.numbers(example, Without::NOTHING);
                models.iter().map(|model| model.score(&numbers)).collect()
            })
            .collect()
    }
}

/// Examples whose numbers are computed at a time.
const CHUNK: usize = 1024;

impl Learner for Learned {
    fn fit(&self, examples: &[Example<'_>]) -> Result<Fitted> {
        let k = check(examples)?;
        let observations: Vec<Observation<'_>> =
            examples.iter().map(|example| example.observation).collect();
        let secrets: Vec<usize> = examples.iter().map(|example| example.secret).collect();
        let plain = self.features.of(&observations)?;
        let counted = Counted {
            seen: Seen::of(examples),
            telling: Telling::of(self.features.names(), &plain, &secrets, k),
        };
        let lesson = Lesson {
            k,
            examples,
            plain,
            counted,
        };
        let folds: Vec<Vec<Vec<Vec<f64>>>> = (0..FOLDS)
            .into_par_iter()
            .map(|left_out| lesson.out_of_fold(left_out))
            .collect();
        let place = |example: usize| &folds[fold(example)][example / FOLDS];
        let loss = |penalty: usize| -> f64 {
            let of = |example: usize| -place(example)[penalty][secrets[example]];
            (0..examples.len()).map(of).sum()
        };
        let losses: Vec<f64> = (0..lesson.kinds()).map(loss).collect();
        // The larger penalty among ties: it was tried first.
        let best =
            (1..losses.len()).fold(0, |best, i| if losses[i] < losses[best] { i } else { best });
        let out_of_fold = (0..examples.len())
            .map(|example| place(example)[best].clone())
            .collect();
        let model = lesson.models(None, &PENALTIES).swap_remove(best);
        let signs = self.signs(&model, &lesson.counted.telling);
        let attack = Judge {
            features: self.features.clone(),
            counted: lesson.counted,
            model,
        };
        Ok(Fitted {
            attack: Box::new(attack),
            out_of_fold,
            signs,
        })
    }
}

/// The number of candidates.
///
/// # Errors
/// Usage, if there is no example, or if candidate sets differ in size.
fn check(examples: &[Example<'_>]) -> Result<usize> {
    let Some(first) = examples.first() else {
        return Err(Error::usage(
            "'learned' has no trial to learn from: give it more trials",
        ));
    };
    let k = first.observation.candidates.len();
    let fits =
        |example: &Example<'_>| example.observation.candidates.len() == k && example.secret < k;
    match examples.iter().position(|example| !fits(example)) {
        None if k >= 2 => Ok(k),
        None => Err(Error::usage(format!(
            "'learned' needs 2 candidates a trial, not {k}"
        ))),
        Some(place) => Err(Error::failed(format!(
            "example {place} has {} candidates and secret {}, where the first has {k} candidates",
            examples[place].observation.candidates.len(),
            examples[place].secret
        ))),
    }
}

impl Learned {
    fn signs(&self, model: &Model, telling: &Telling) -> Vec<Sign> {
        let mut names = self.features.names().to_vec();
        names.extend(seen::names());
        names.push(telling.name(self.features.names()));
        let told = model.weights().into_iter().take(TOLD);
        told.map(|(column, weight)| Sign {
            words: names[column].words.clone(),
            weight,
        })
        .collect()
    }
}

/// What was learned, applied to trials.
struct Judge {
    features: Arc<Features>,
    counted: Counted,
    model: Model,
}

impl Attack for Judge {
    fn score(&self, batch: &[Observation<'_>]) -> Result<Vec<Answer<Vec<f64>>>> {
        let k = self.model.candidates();
        if let Some(other) = batch.iter().find(|seen| seen.candidates.len() != k) {
            return Err(Error::failed(format!(
                "'learned' learned from trials of {k} candidates and is shown one of {}",
                other.candidates.len()
            )));
        }
        let plain = self.features.of(batch)?;
        Ok(batch
            .par_iter()
            .zip(&plain)
            .map(|(seen, plain)| {
                let numbers = self.counted.join(seen, plain, Without::NOTHING);
                Ok(self.model.score(&numbers))
            })
            .collect())
    }
}
