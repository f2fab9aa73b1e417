//! Fine-tuning: an encoder and a head that learn to tell classes of texts apart.
//!
//! # Definition
//! All parameters are trained by AdamW on the mean of −ln P(class) over batches, in an order that is drawn
//! anew for every epoch, with the dropout that the configuration says. The learning rate falls in a straight line from
//! [`Options::learning_rate`] at the first step to 0 after the last. So do the defaults of transformers' `Trainer`:
//! batches of 8, gradients cut to a norm of 1, no weight decay, no warm-up.
//!
//! # Randomness
//! The order, the dropout and the weights of a head that the checkpoint lacks are addressed by the path in the seed
//! tree. A batch is computed in parts that its texts alone determine. The result is the same to the bit for any number
//! of threads.
//!
//! # Deviations
//! On the processor, in single precision. A pad token that stands in a text itself learns like any other.
//!
//! # Source
//! Devlin et al. (2019), section 4; `BertForSequenceClassification`, `RobertaForSequenceClassification` and
//! `DebertaV2ForSequenceClassification` of transformers, which loss, gradients and steps are held against.

mod attention;
mod bert;
mod coins;
mod deberta;
mod layers;
mod model;
mod optimiser;
mod parameters;
mod pretrained;
mod relative;
mod rows;
mod session;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use candle_core::{Device, Tensor};
use rayon::prelude::*;
use teda_core::{Error, Result, Seed};

pub use self::pretrained::Pretrained;

use self::coins::Coins;
use self::model::Model;
use self::parameters::{Parameters, Trained};
use self::rows::{Part, TOKENS, Vocabulary, parts};
use self::session::{Example, Session};
use crate::matrix::failed;

/// How a model is trained.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Options {
    /// How often each text is seen, at least once.
    pub epochs: u32,
    /// The learning rate of the first step.
    pub learning_rate: f64,
    /// Texts of a step; the last one of an epoch may have less.
    pub batch: usize,
}

impl Options {
    /// # Errors
    /// Usage, for values out of range.
    pub fn check(&self) -> Result<()> {
        let wrong = |what: String| Err(Error::usage(what));
        if self.epochs == 0 {
            return wrong("epochs = 0: a model is trained for at least one".to_owned());
        }
        if self.batch == 0 {
            return wrong("a batch of 0 texts: it has at least one".to_owned());
        }
        let rate = self.learning_rate;
        if !(rate > 0.0 && rate <= 1.0) {
            return wrong(format!(
                "learning rate = {rate}: it must be above 0 and at most 1, such as 5e-5"
            ));
        }
        Ok(())
    }
}

impl Default for Options {
    /// One epoch at 5·10⁻⁵ in batches of 8, as the papers and transformers' `Trainer` have it.
    fn default() -> Self {
        Self {
            epochs: 1,
            learning_rate: 5e-5,
            batch: 8,
        }
    }
}

/// Texts of known classes.
#[derive(Debug, Clone, Copy)]
pub struct Examples<'a> {
    /// The texts, at least one.
    pub texts: &'a [&'a str],
    /// The class of each, below `k`.
    pub classes: &'a [usize],
    /// Number of classes.
    pub k: usize,
}

/// What goes on beside the work.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Ends the work before the next batch once it is true.
    pub stop: &'a AtomicBool,
    /// Receives how many more texts were trained on.
    pub advance: &'a (dyn Fn(u64) + Sync),
}

impl Watch<'_> {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// A model that was fine-tuned.
pub struct FineTuned {
    pretrained: Arc<Pretrained>,
    model: Model,
    /// The vectors that training changed, `[vocabulary × hidden]`.
    words: Vec<f32>,
    vocabulary: Vocabulary,
}

impl FineTuned {
    /// Trains `pretrained`; `None` if it was stopped.
    ///
    /// # Errors
    /// Usage, for options out of range or no texts; failed, if the files do not fit together or the loss is no finite number any more.
    pub fn train(
        pretrained: &Arc<Pretrained>,
        examples: Examples<'_>,
        options: &Options,
        seed: Seed,
        watch: Watch<'_>,
    ) -> Result<Option<Self>> {
        options.check()?;
        trained(pretrained, examples, options, seed, watch)
            .map_err(|e| e.context(format!("model '{}'", pretrained.name)))
    }

    /// The likeliest class of each text, of equally likely ones the first; `None` if it was stopped.
    ///
    /// # Errors
    /// If an operation fails.
    pub fn predict(&self, texts: &[&str], watch: Watch<'_>) -> Result<Option<Vec<usize>>> {
        self.predicted(texts, watch)
            .map_err(|e| e.context(format!("model '{}'", self.pretrained.name)))
    }

    fn new(
        pretrained: &Arc<Pretrained>,
        vocabulary: Vocabulary,
        trained: &Trained,
        k: usize,
    ) -> Result<Self> {
        let words = trained[&pretrained.table()].flatten_all();
        let words = words.and_then(|words| words.to_vec1());
        Ok(Self {
            model: pretrained.build(k, &mut Parameters::trained(trained))?,
            pretrained: pretrained.clone(),
            words: words.map_err(failed)?,
            vocabulary,
        })
    }

    fn predicted(&self, texts: &[&str], watch: Watch<'_>) -> Result<Option<Vec<usize>>> {
        let rows = rows(&self.pretrained, texts)?;
        let rows: Vec<&[u32]> = rows.iter().map(Vec::as_slice).collect();
        let parts = parts(&rows, TOKENS);
        let classes = |part: &Vec<usize>| -> Result<Option<Vec<usize>>> {
            if watch.stopped() {
                return Ok(None);
            }
            let rows: Vec<&[u32]> = part.iter().map(|row| rows[*row]).collect();
            let logits = self.logits(&rows).map_err(failed)?;
            if !logits.iter().flatten().all(|x| x.is_finite()) {
                return Err(Error::failed(
                    "its logits of a text are not all finite numbers: its weights or its configuration are damaged",
                ));
            }
            let best =
                |row: &Vec<f32>| (1..row.len()).fold(0, |b, c| if row[c] > row[b] { c } else { b });
            Ok(Some(logits.iter().map(best).collect()))
        };
        let found: Vec<Option<Vec<usize>>> =
            parts.par_iter().map(classes).collect::<Result<_>>()?;
        let mut all = vec![0; texts.len()];
        for (part, found) in parts.iter().zip(found) {
            let Some(found) = found else {
                return Ok(None);
            };
            for (row, class) in part.iter().zip(found) {
                all[*row] = class;
            }
        }
        Ok(Some(all))
    }

    fn logits(&self, rows: &[&[u32]]) -> candle_core::Result<Vec<Vec<f32>>> {
        let part = Part::new(rows, self.pretrained.pad)?;
        let hidden = self.pretrained.hidden();
        let word = |id: &u32| match self.vocabulary.place(*id) {
            Some(place) => &self.words[place as usize * hidden..][..hidden],
            None => self.pretrained.word(*id),
        };
        let words: Vec<f32> = part.ids.iter().flat_map(word).copied().collect();
        let words = Tensor::from_vec(words, (part.ids.len(), hidden), &Device::Cpu)?;
        self.model
            .logits(&words, &part, &mut Coins::none())?
            .to_vec2()
    }
}

/// The tokens of each text.
fn rows(pretrained: &Pretrained, texts: &[&str]) -> Result<Vec<Vec<u32>>> {
    let tokens = |text: &&str| pretrained.tokens(text);
    texts.par_iter().map(tokens).collect()
}

fn trained(
    pretrained: &Arc<Pretrained>,
    examples: Examples<'_>,
    options: &Options,
    seed: Seed,
    watch: Watch<'_>,
) -> Result<Option<FineTuned>> {
    let count = examples.texts.len();
    if count == 0 {
        return Err(Error::usage("there is no text to train on"));
    }
    let rows = rows(pretrained, examples.texts)?;
    let vocabulary = Vocabulary::of(&rows, pretrained.pad);
    let head = seed.named("head");
    let mut session = Session::begin(pretrained, &vocabulary, examples.k, head)?;
    let steps = u64::from(options.epochs) * count.div_ceil(options.batch) as u64;
    let mut step = 0;
    for epoch in 0..u64::from(options.epochs) {
        let mut order: Vec<usize> = (0..count).collect();
        seed.named("order").at(epoch).stream().shuffle(&mut order);
        for texts in order.chunks(options.batch) {
            if watch.stopped() {
                return Ok(None);
            }
            let example = |text: &usize| -> Example<'_> { (&rows[*text], examples.classes[*text]) };
            let batch: Vec<Example<'_>> = texts.iter().map(example).collect();
            let coins = seed.named("dropout").at(step);
            let (loss, gradients) = session.gradients(&batch, &vocabulary, TOKENS, Some(coins))?;
            let rate = options.learning_rate * (steps - step) as f64 / steps as f64;
            step += 1;
            if !loss.is_finite() || !session.step(&gradients, rate)?.is_finite() {
                return Err(Error::failed(format!(
                    "at step {step} of {steps} the loss or its gradient is no finite number: take a smaller learning rate than {}",
                    options.learning_rate
                )));
            }
            (watch.advance)(texts.len() as u64);
        }
    }
    FineTuned::new(pretrained, vocabulary, &session.end(), examples.k).map(Some)
}
