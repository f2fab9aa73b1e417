//! The classifiers that a task can train, behind one face.

use std::sync::Arc;

use serde::Serialize;
use teda_core::{Encoder, Result, Seed};
use teda_models::fine_tune::{Examples, FineTuned, Options, Pretrained, Watch};

use super::classifier::Classifier;
use crate::audit::run::Control;
use crate::models::{Access, Models};

/// The classifier that a task trains.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Learner {
    /// [`Classifier`]: fast, and without coins.
    #[default]
    LogisticRegression,
    /// An encoder with a head for the classes, all of it trained ([`teda_models::fine_tune`]).
    FineTune {
        /// The encoder: `builtin`, a name of the store, or a path.
        model: String,
        /// How it is trained.
        options: Options,
    },
}

/// How an encoder was fine-tuned, as results have it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FineTuning {
    /// The encoder.
    pub model: String,
    /// How often each text was seen.
    pub epochs: u32,
    /// The learning rate of the first step.
    pub learning_rate: f64,
    /// Texts of a step.
    pub batch: usize,
    /// Most tokens that were read of a text.
    pub max_tokens: usize,
}

/// A learner whose model is loaded.
pub(super) enum Loaded {
    Regression,
    FineTune(Arc<Pretrained>, Options, FineTuning),
}

/// What a classifier is trained on and from.
pub(super) struct Lesson<'a> {
    pub(super) examples: Examples<'a>,
    pub(super) encoder: &'a dyn Encoder,
    /// The coins of the training.
    pub(super) seed: Seed,
}

/// A classifier that was trained.
pub(super) enum Trained {
    Regression(Classifier),
    FineTuned(Box<FineTuned>),
}

impl Learner {
    /// Loads what it needs.
    ///
    /// # Errors
    /// Usage, for options out of range or a model that cannot be fine-tuned; failed, if it cannot be obtained or loaded.
    pub(super) fn load(&self, models: &mut Models, access: &Access) -> Result<Loaded> {
        let Self::FineTune { model, options } = self else {
            return Ok(Loaded::Regression);
        };
        options.check()?;
        let pretrained = Arc::new(models.load_pretrained(model, access)?);
        let tuning = FineTuning {
            model: model.clone(),
            epochs: options.epochs,
            learning_rate: options.learning_rate,
            batch: options.batch,
            max_tokens: pretrained.longest(),
        };
        Ok(Loaded::FineTune(pretrained, *options, tuning))
    }
}

impl Loaded {
    /// Its name in results.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Regression => "logistic-regression",
            Self::FineTune(..) => "fine-tuned",
        }
    }

    /// How it is trained, if it has coins.
    pub(super) fn tuning(&self) -> Option<&FineTuning> {
        match self {
            Self::Regression => None,
            Self::FineTune(_, _, tuning) => Some(tuning),
        }
    }

    /// Different trainings on the same texts, of `seeds` that are asked for.
    pub(super) fn trainings(&self, seeds: u32) -> u32 {
        match self {
            Self::Regression => 1,
            Self::FineTune(..) => seeds,
        }
    }

    /// How many texts a training on `texts` counts for in a progress; logistic regression is done at once.
    pub(super) fn work(&self, texts: usize) -> u64 {
        match self {
            Self::Regression => 0,
            Self::FineTune(_, options, _) => texts as u64 * u64::from(options.epochs),
        }
    }

    /// A classifier of the examples; `None` after an interrupt.
    ///
    /// # Errors
    /// If a model fails.
    pub(super) fn train(
        &self,
        lesson: &Lesson<'_>,
        control: &Control<'_>,
    ) -> Result<Option<Trained>> {
        let Examples { texts, classes, k } = lesson.examples;
        match self {
            Self::Regression => Classifier::train(texts, classes, k, lesson.encoder)
                .map(|trained| Some(Trained::Regression(trained))),
            Self::FineTune(pretrained, options, _) => {
                let advance = |texts| control.progress.advance(texts);
                let watch = Watch {
                    stop: control.stop,
                    advance: &advance,
                };
                FineTuned::train(pretrained, lesson.examples, options, lesson.seed, watch)
                    .map(|trained| trained.map(|model| Trained::FineTuned(Box::new(model))))
            }
        }
    }
}

impl Trained {
    /// The likeliest class of each text; `None` after an interrupt.
    ///
    /// # Errors
    /// If a model fails.
    pub(super) fn predict(
        &self,
        texts: &[&str],
        encoder: &dyn Encoder,
        control: &Control<'_>,
    ) -> Result<Option<Vec<usize>>> {
        match self {
            Self::Regression(classifier) => classifier.predict(texts, encoder).map(Some),
            Self::FineTuned(model) => model.predict(
                texts,
                Watch {
                    stop: control.stop,
                    advance: &|_| (),
                },
            ),
        }
    }

    /// The penalty λ of a logistic regression.
    pub(super) fn penalty(&self) -> Option<f64> {
        match self {
            Self::Regression(classifier) => Some(classifier.penalty()),
            Self::FineTuned(_) => None,
        }
    }
}
