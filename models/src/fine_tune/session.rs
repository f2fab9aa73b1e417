//! The state of a training run: a model with its word vectors, and its optimiser.

use candle_core::{Device, Tensor};
use candle_nn::ops::log_softmax;
use teda_core::{Result, Seed};

use super::coins::Coins;
use super::model::Model;
use super::optimiser::{AdamW, Gradients};
use super::parameters::Trained;
use super::pretrained::Pretrained;
use super::rows::{Part, Vocabulary, parts};
use crate::matrix::failed;

/// A model that is being trained.
pub(super) struct Session<'a> {
    pretrained: &'a Pretrained,
    model: Model,
    /// The vectors of the tokens that training texts have: the others get no gradient, so they stay as they are.
    words: Tensor,
    pub(super) names: Vec<String>,
    vars: Vec<candle_core::Var>,
    optimiser: AdamW,
}

/// A training text: its tokens and its class.
pub(super) type Example<'a> = (&'a [u32], usize);

impl<'a> Session<'a> {
    /// A model for `classes` classes over the tokens of `vocabulary`, with a head drawn from `seed` if it has none.
    ///
    /// # Errors
    /// If a parameter is missing or has another shape.
    pub(super) fn begin(
        pretrained: &'a Pretrained,
        vocabulary: &Vocabulary,
        classes: usize,
        seed: Seed,
    ) -> Result<Self> {
        let mut parameters = pretrained.parameters(seed);
        let tokens = vocabulary.tokens.iter();
        let words = tokens.flat_map(|token| pretrained.word(*token)).copied();
        let shape = [vocabulary.tokens.len(), pretrained.hidden()];
        let words = parameters.keep(pretrained.table(), words.collect(), &shape)?;
        let model = pretrained.build(classes, &mut parameters)?;
        let (names, vars): (Vec<_>, Vec<_>) = parameters.taken().into_iter().unzip();
        Ok(Self {
            pretrained,
            model,
            words,
            optimiser: AdamW::new(vars.iter().cloned()),
            names,
            vars,
        })
    }

    /// The mean loss −ln P(class) over `batch`, and its gradients. The batch is computed in parts of at most `tokens`
    /// tokens; part n draws the coins of dropout from child n of `seed`, if there is one.
    ///
    /// # Errors
    /// If an operation fails.
    pub(super) fn gradients(
        &self,
        batch: &[Example<'_>],
        vocabulary: &Vocabulary,
        tokens: usize,
        seed: Option<Seed>,
    ) -> Result<(f64, Gradients)> {
        let rows: Vec<&[u32]> = batch.iter().map(|(row, _)| *row).collect();
        let mut sums = self.optimiser.gradients();
        let mut total = 0.0;
        for (number, places) in parts(&rows, tokens).into_iter().enumerate() {
            let part: Vec<&[u32]> = places.iter().map(|place| rows[*place]).collect();
            let classes: Vec<u32> = places.iter().map(|place| batch[*place].1 as u32).collect();
            let mut coins = seed.map_or_else(Coins::none, |seed| Coins::of(seed.at(number as u64)));
            let loss = self.loss(&part, classes, vocabulary, &mut coins);
            let loss = loss.and_then(|loss| loss / batch.len() as f64);
            let loss = loss.map_err(failed)?;
            total += f64::from(loss.to_scalar::<f32>().map_err(failed)?);
            let mut gradients = loss.backward().map_err(failed)?;
            self.optimiser
                .add(&mut sums, &mut gradients)
                .map_err(failed)?;
        }
        Ok((total, sums))
    }

    /// Σ −ln P(class) over the texts of a part.
    fn loss(
        &self,
        rows: &[&[u32]],
        classes: Vec<u32>,
        vocabulary: &Vocabulary,
        coins: &mut Coins,
    ) -> candle_core::Result<Tensor> {
        let part = Part::new(rows, self.pretrained.pad)?;
        let places: Option<Vec<u32>> = part.ids.iter().map(|id| vocabulary.place(*id)).collect();
        let Some(places) = places else {
            candle_core::bail!("a token that no training text has");
        };
        let count = places.len();
        let places = Tensor::from_vec(places, count, &Device::Cpu)?;
        let words = self.words.index_select(&places, 0)?;
        let logits = self.model.logits(&words, &part, coins)?;
        let classes = Tensor::from_vec(classes, (rows.len(), 1), &Device::Cpu)?;
        log_softmax(&logits, 1)?
            .gather(&classes, 1)?
            .sum_all()?
            .neg()
    }

    /// A step of the optimiser at the learning rate `rate`; the norm that the gradients had.
    ///
    /// # Errors
    /// If an operation fails.
    pub(super) fn step(&mut self, gradients: &Gradients, rate: f64) -> Result<f64> {
        self.optimiser.step(gradients, rate).map_err(failed)
    }

    /// The parameters as they are, by their names.
    pub(super) fn end(self) -> Trained {
        let tensors = self.vars.iter().map(|var| var.as_tensor().detach());
        self.names.into_iter().zip(tensors).collect()
    }
}
