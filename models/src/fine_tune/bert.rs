//! BERT and RoBERTa with their heads for classes (Devlin et al. 2019; Liu et al. 2019).
//!
//! # Definition
//! Post-norm layers over learned positions. BERT's head: tanh(dense(h₀)), dropout, linear. RoBERTa's: dropout,
//! tanh(dense(h₀)), dropout, linear. h₀ is the last layer's state of the first token. As transformers'
//! `BertForSequenceClassification` and `RobertaForSequenceClassification` compute them.

use candle_core::{Device, Tensor};
use serde::Deserialize;
use teda_core::{Error, Result};

use super::attention::Projections;
use super::coins::Coins;
use super::layers::{Feed, Linear, Norm};
use super::parameters::Parameters;
use super::rows::Part;
use crate::kernel::activation::Activation;

/// Which of the two it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Bert,
    Roberta,
}

/// The part of `config.json` that is used.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Config {
    pub(super) hidden_size: usize,
    num_hidden_layers: usize,
    pub(super) num_attention_heads: usize,
    intermediate_size: usize,
    hidden_act: Activation,
    max_position_embeddings: usize,
    layer_norm_eps: f64,
    #[serde(default)]
    pad_token_id: u32,
    #[serde(default = "two")]
    type_vocab_size: usize,
    #[serde(default)]
    position_embedding_type: Option<String>,
    #[serde(default = "tenth")]
    hidden_dropout_prob: f64,
    #[serde(default = "tenth")]
    attention_probs_dropout_prob: f64,
    #[serde(default)]
    classifier_dropout: Option<f64>,
}

fn two() -> usize {
    2
}

fn tenth() -> f64 {
    0.1
}

impl Config {
    /// Entries of the table of positions before that of the first token.
    fn before_first(&self, kind: Kind) -> usize {
        match kind {
            Kind::Bert => 0,
            Kind::Roberta => self.pad_token_id as usize + 1,
        }
    }

    /// Most tokens of a text.
    ///
    /// # Errors
    /// If the configuration has a part that is not supported, or leaves no position.
    pub(super) fn longest(&self, kind: Kind) -> Result<usize> {
        if let Some(other) = self.position_embedding_type.as_deref()
            && other != "absolute"
        {
            return Err(Error::failed(format!(
                "config.json: position_embedding_type is '{other}', only 'absolute' is supported"
            )));
        }
        let (all, before) = (self.max_position_embeddings, self.before_first(kind));
        all.checked_sub(before).filter(|n| *n > 0).ok_or_else(|| {
            Error::failed(format!(
                "config.json: max_position_embeddings {all} leaves no position after {before}"
            ))
        })
    }

    /// The shares that are dropped in training.
    pub(super) fn dropouts(&self) -> [f64; 3] {
        let hidden = self.hidden_dropout_prob;
        let head = self.classifier_dropout.unwrap_or(hidden);
        [hidden, self.attention_probs_dropout_prob, head]
    }

    /// Numbers that must not be 0.
    pub(super) fn sizes(&self) -> [(&'static str, usize); 3] {
        [
            ("num_hidden_layers", self.num_hidden_layers),
            ("intermediate_size", self.intermediate_size),
            ("type_vocab_size", self.type_vocab_size),
        ]
    }
}

/// The model above its word vectors.
pub(super) struct Model {
    kind: Kind,
    config: Config,
    positions: Tensor,
    types: Tensor,
    norm: Norm,
    layers: Vec<Layer>,
    dense: Linear,
    output: Linear,
}

struct Layer {
    attention: Projections,
    joined: Linear,
    attention_norm: Norm,
    feed: Feed,
    norm: Norm,
}

impl Model {
    /// Its parameters, those of the body below `prefix`, for `classes` classes.
    ///
    /// # Errors
    /// If the checkpoint lacks one, or it has another shape than the configuration says.
    pub(super) fn new(
        kind: Kind,
        config: &Config,
        prefix: &str,
        classes: usize,
        from: &mut Parameters<'_>,
    ) -> Result<Self> {
        let (hidden, epsilon) = (config.hidden_size, config.layer_norm_eps);
        let embeddings = format!("{prefix}embeddings");
        let layer = |index: usize, from: &mut Parameters<'_>| {
            let name = |part: &str| format!("{prefix}encoder.layer.{index}.{part}");
            let mut square = |part: &str| from.linear(&name(part), hidden, hidden);
            let attention = Projections {
                heads: config.num_attention_heads,
                query: square("attention.self.query")?,
                key: square("attention.self.key")?,
                value: square("attention.self.value")?,
                dropout: config.attention_probs_dropout_prob,
            };
            let joined = square("attention.output.dense")?;
            let wide = config.intermediate_size;
            Ok(Layer {
                attention,
                joined,
                attention_norm: from.norm(&name("attention.output.LayerNorm"), hidden, epsilon)?,
                feed: Feed {
                    up: from.linear(&name("intermediate.dense"), hidden, wide)?,
                    activation: config.hidden_act,
                    down: from.linear(&name("output.dense"), wide, hidden)?,
                },
                norm: from.norm(&name("output.LayerNorm"), hidden, epsilon)?,
            })
        };
        let positions = config.max_position_embeddings;
        let (dense, output) = match kind {
            Kind::Bert => (format!("{prefix}pooler.dense"), "classifier"),
            Kind::Roberta => ("classifier.dense".to_owned(), "classifier.out_proj"),
        };
        Ok(Self {
            kind,
            config: config.clone(),
            positions: from.table(
                &format!("{embeddings}.position_embeddings"),
                positions,
                hidden,
            )?,
            types: from.table(
                &format!("{embeddings}.token_type_embeddings"),
                config.type_vocab_size,
                hidden,
            )?,
            norm: from.norm(&format!("{embeddings}.LayerNorm"), hidden, epsilon)?,
            layers: (0..config.num_hidden_layers)
                .map(|index| layer(index, from))
                .collect::<Result<_>>()?,
            dense: from.head(&dense, hidden, hidden)?,
            output: from.head(output, hidden, classes)?,
        })
    }

    /// `[texts × classes]`, of word vectors `[texts·longest × hidden]`.
    pub(super) fn logits(
        &self,
        words: &Tensor,
        part: &Part,
        coins: &mut Coins,
    ) -> candle_core::Result<Tensor> {
        let [hidden, _, head] = self.config.dropouts();
        let places = Tensor::from_vec(self.places(part), part.ids.len(), &Device::Cpu)?;
        let x = (words + self.positions.index_select(&places, 0)?)?
            .broadcast_add(&self.types.narrow(0, 0, 1)?)?;
        let mut x = coins.dropout(&self.norm.of(&x)?, hidden)?;
        for layer in &self.layers {
            x = layer.of(&x, part, hidden, coins)?;
        }
        let mut first = part.first(&x)?;
        if self.kind == Kind::Roberta {
            first = coins.dropout(&first, head)?;
        }
        let pooled = coins.dropout(&self.dense.of(&first)?.tanh()?, head)?;
        self.output.of(&pooled)
    }

    /// Each token's entry in the table of positions. RoBERTa counts the tokens that are no pads.
    fn places(&self, part: &Part) -> Vec<u32> {
        let pad = self.config.pad_token_id;
        let rows = part.ids.chunks_exact(part.longest);
        let places = rows.flat_map(|row| {
            let mut next = self.config.before_first(self.kind) as u32;
            row.iter().map(move |id| {
                if self.kind == Kind::Roberta && *id == pad {
                    return pad;
                }
                next += 1;
                next - 1
            })
        });
        places.collect()
    }
}

impl Layer {
    fn of(
        &self,
        x: &Tensor,
        part: &Part,
        dropout: f64,
        coins: &mut Coins,
    ) -> candle_core::Result<Tensor> {
        let attention = &self.attention;
        let queries = part.by_text(&attention.apart(&attention.query, x)?)?;
        let keys = part.by_text(&attention.apart(&attention.key, x)?)?;
        let width = keys.dim(3)? as f64;
        let scores = (queries.matmul(&keys.t()?)? / width.sqrt())?;
        let seen = self.joined.of(&attention.see(x, &scores, part, coins)?)?;
        let x = self
            .attention_norm
            .of(&(coins.dropout(&seen, dropout)? + x)?)?;
        let fed = coins.dropout(&self.feed.of(&x)?, dropout)?;
        self.norm.of(&(fed + x)?)
    }
}
