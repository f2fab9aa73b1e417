//! The architectures that can be fine-tuned, by the `model_type` of a configuration.

use candle_core::Tensor;
use serde::de::DeserializeOwned;
use serde_json::Value;
use teda_core::{Error, Result};

use super::coins::Coins;
use super::parameters::Parameters;
use super::rows::Part;
use super::{bert, deberta};

/// Known values of `model_type`.
const KNOWN: [&str; 3] = ["bert", "roberta", "deberta-v2"];

/// What a configuration says.
pub(super) enum Shape {
    Bert(bert::Kind, bert::Config),
    Deberta(Box<deberta::Config>),
}

impl Shape {
    /// # Errors
    /// If it is of another architecture, or says what is not supported.
    pub(super) fn of(config: &Value) -> Result<Self> {
        let shape = match config["model_type"].as_str().unwrap_or_default() {
            "bert" => Self::Bert(bert::Kind::Bert, parse(config)?),
            "roberta" => Self::Bert(bert::Kind::Roberta, parse(config)?),
            "deberta-v2" => Self::Deberta(Box::new(parse(config)?)),
            other => {
                return Err(Error::failed(format!(
                    "config.json: model_type '{other}' is not one that can be fine-tuned; known: {}",
                    KNOWN.join(", ")
                )));
            }
        };
        let (hidden, heads) = (shape.hidden(), shape.heads());
        if hidden == 0 || heads == 0 || !hidden.is_multiple_of(heads) {
            return Err(Error::failed(format!(
                "config.json: a width of {hidden} is not a multiple of {heads} heads"
            )));
        }
        let (sizes, dropouts) = match &shape {
            Self::Bert(_, config) => (config.sizes(), config.dropouts().to_vec()),
            Self::Deberta(config) => (config.sizes(), config.dropouts().to_vec()),
        };
        if let Some((name, _)) = sizes.into_iter().find(|(_, size)| *size == 0) {
            return Err(Error::failed(format!("config.json: {name} is 0")));
        }
        if let Some(rate) = dropouts.into_iter().find(|rate| !(0.0..1.0).contains(rate)) {
            return Err(Error::failed(format!(
                "config.json: a dropout of {rate}: it must be at least 0 and below 1"
            )));
        }
        Ok(shape)
    }

    pub(super) fn hidden(&self) -> usize {
        match self {
            Self::Bert(_, config) => config.hidden_size,
            Self::Deberta(config) => config.hidden_size,
        }
    }

    fn heads(&self) -> usize {
        match self {
            Self::Bert(_, config) => config.num_attention_heads,
            Self::Deberta(config) => config.num_attention_heads,
        }
    }

    /// Most tokens of a text.
    ///
    /// # Errors
    /// If it has a part that is not supported.
    pub(super) fn longest(&self) -> Result<usize> {
        match self {
            Self::Bert(kind, config) => config.longest(*kind),
            Self::Deberta(config) => config.longest(),
        }
    }

    /// What the names of the body begin with in files of the whole model.
    pub(super) fn prefix(&self) -> &'static str {
        match self {
            Self::Bert(bert::Kind::Bert, _) => "bert.",
            Self::Bert(bert::Kind::Roberta, _) => "roberta.",
            Self::Deberta(_) => "deberta.",
        }
    }

    /// The model with the parameters that `from` gives.
    ///
    /// # Errors
    /// If one is missing or has another shape.
    pub(super) fn build(
        &self,
        prefix: &str,
        classes: usize,
        from: &mut Parameters<'_>,
    ) -> Result<Model> {
        Ok(match self {
            Self::Bert(kind, config) => {
                Model::Bert(bert::Model::new(*kind, config, prefix, classes, from)?)
            }
            Self::Deberta(config) => {
                Model::Deberta(deberta::Model::new(config, prefix, classes, from)?)
            }
        })
    }
}

fn parse<T: DeserializeOwned>(config: &Value) -> Result<T> {
    serde_json::from_value(config.clone())
        .map_err(|e| Error::failed(format!("config.json is not one of this architecture: {e}")))
}

/// A model above its word vectors.
pub(super) enum Model {
    Bert(bert::Model),
    Deberta(deberta::Model),
}

impl Model {
    /// `[texts × classes]`, of word vectors `[texts·longest × hidden]`.
    pub(super) fn logits(
        &self,
        words: &Tensor,
        part: &Part,
        coins: &mut Coins,
    ) -> candle_core::Result<Tensor> {
        match self {
            Self::Bert(model) => model.logits(words, part, coins),
            Self::Deberta(model) => model.logits(words, part, coins),
        }
    }
}
