//! DeBERTa-v2 and -v3 with their head for classes (He et al. 2021, 2023).
//!
//! # Definition
//! Disentangled attention: with content queries and keys Q, K and those P, R of the table of relative positions, the
//! score of tokens i and j is (Qᵢ·Kⱼ + Qᵢ·R_{δ(i,j)} + Kⱼ·P_{δ(i,j)}) / √(3 d), δ from [`super::relative`]; the second
//! term is c2p, the third p2c, and 3 is 1 plus the number of these terms. R and P come from the projections of the
//! content where `share_att_key` says so, otherwise from their own. The head: dropout, gelu(dense(h₀)), dropout, linear.
//! As transformers' `DebertaV2ForSequenceClassification`.

use candle_core::{Device, Tensor};
use serde::Deserialize;
use teda_core::{Error, Result};

use super::attention::Projections;
use super::coins::Coins;
use super::layers::{Feed, Linear, Norm};
use super::parameters::Parameters;
use super::relative::{Distances, Window};
use super::rows::Part;
use crate::kernel::activation::Activation;

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
    type_vocab_size: usize,
    hidden_dropout_prob: f64,
    attention_probs_dropout_prob: f64,
    #[serde(default)]
    pooler_dropout: f64,
    #[serde(default)]
    cls_dropout: Option<f64>,
    #[serde(default = "gelu")]
    pooler_hidden_act: Activation,
    #[serde(default)]
    pooler_hidden_size: Option<usize>,
    #[serde(default)]
    relative_attention: bool,
    #[serde(default)]
    max_relative_positions: i64,
    #[serde(default)]
    position_buckets: i64,
    #[serde(default = "yes")]
    position_biased_input: bool,
    #[serde(default)]
    share_att_key: bool,
    #[serde(default)]
    pos_att_type: Option<Names>,
    #[serde(default)]
    norm_rel_ebd: Option<String>,
    #[serde(default)]
    conv_kernel_size: usize,
    #[serde(default)]
    embedding_size: Option<usize>,
    #[serde(default)]
    attention_head_size: Option<usize>,
}

fn gelu() -> Activation {
    Activation::Gelu
}

fn yes() -> bool {
    true
}

/// A list of names, or one text with | between them.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Names {
    List(Vec<String>),
    Text(String),
}

impl Names {
    fn has(&self, name: &str) -> bool {
        match self {
            Self::List(list) => list.iter().any(|own| own == name),
            Self::Text(text) => text.split('|').any(|own| own.trim() == name),
        }
    }
}

impl Config {
    /// Most tokens of a text.
    ///
    /// # Errors
    /// If the configuration has a part that is not supported.
    pub(super) fn longest(&self) -> Result<usize> {
        let hidden = self.hidden_size;
        let width = self
            .attention_head_size
            .unwrap_or(hidden / self.num_attention_heads);
        for (what, differs) in [
            ("conv_kernel_size", self.conv_kernel_size > 0),
            (
                "embedding_size",
                self.embedding_size.is_some_and(|n| n != hidden),
            ),
            (
                "attention_head_size",
                width * self.num_attention_heads != hidden,
            ),
            (
                "pooler_hidden_size",
                self.pooler_hidden_size.is_some_and(|n| n != hidden),
            ),
        ] {
            if differs {
                return Err(Error::failed(format!(
                    "config.json: a DeBERTa with its own {what} is not supported"
                )));
            }
        }
        if let Some(kind) = &self.norm_rel_ebd
            && kind != "layer_norm"
            && kind != "none"
        {
            return Err(Error::failed(format!(
                "config.json: norm_rel_ebd is '{kind}', only 'layer_norm' and 'none' are supported"
            )));
        }
        if let Some(buckets) = self.distances().buckets
            && (buckets < 4 || self.distances().greatest <= buckets / 2 + 1)
        {
            return Err(Error::failed(format!(
                "config.json: {buckets} buckets for distances up to {}: at least 4, and less than twice the distance, are needed",
                self.distances().greatest
            )));
        }
        Ok(self.max_position_embeddings)
    }

    fn distances(&self) -> Distances {
        let greatest = self.max_relative_positions;
        Distances {
            buckets: usize::try_from(self.position_buckets)
                .ok()
                .filter(|b| *b > 0),
            greatest: usize::try_from(greatest)
                .ok()
                .filter(|n| *n > 0)
                .unwrap_or(self.max_position_embeddings),
        }
    }

    fn term(&self, name: &str) -> bool {
        self.pos_att_type
            .as_ref()
            .is_some_and(|names| names.has(name))
    }

    /// The shares that are dropped in training: of states, of attention, before the head's first and last layer.
    pub(super) fn dropouts(&self) -> [f64; 4] {
        let hidden = self.hidden_dropout_prob;
        [
            hidden,
            self.attention_probs_dropout_prob,
            self.pooler_dropout,
            self.cls_dropout.unwrap_or(hidden),
        ]
    }

    /// Numbers that must not be 0.
    pub(super) fn sizes(&self) -> [(&'static str, usize); 3] {
        [
            ("num_hidden_layers", self.num_hidden_layers),
            ("intermediate_size", self.intermediate_size),
            ("max_position_embeddings", self.max_position_embeddings),
        ]
    }
}

/// The model above its word vectors.
pub(super) struct Model {
    config: Config,
    positions: Option<Tensor>,
    types: Option<Tensor>,
    norm: Norm,
    /// The table of relative positions `[2 span × hidden]`, and its norm.
    relative: Option<(Tensor, Option<Norm>)>,
    layers: Vec<Layer>,
    dense: Linear,
    output: Linear,
}

struct Layer {
    attention: Projections,
    /// Keys and queries of the table of relative positions, where they have their own projections.
    position_key: Option<Linear>,
    position_query: Option<Linear>,
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
        config: &Config,
        prefix: &str,
        classes: usize,
        from: &mut Parameters<'_>,
    ) -> Result<Self> {
        let (hidden, epsilon) = (config.hidden_size, config.layer_norm_eps);
        let own = config.relative_attention && !config.share_att_key;
        let layer = |index: usize, from: &mut Parameters<'_>| {
            let name = |part: &str| format!("{prefix}encoder.layer.{index}.{part}");
            let mut square = |part: &str| from.linear(&name(part), hidden, hidden);
            let attention = Projections {
                heads: config.num_attention_heads,
                query: square("attention.self.query_proj")?,
                key: square("attention.self.key_proj")?,
                value: square("attention.self.value_proj")?,
                dropout: config.attention_probs_dropout_prob,
            };
            let mut position = |term: &str, part: &str| {
                let has = own && config.term(term);
                has.then(|| square(part)).transpose()
            };
            let position_key = position("c2p", "attention.self.pos_key_proj")?;
            let position_query = position("p2c", "attention.self.pos_query_proj")?;
            let wide = config.intermediate_size;
            Ok(Layer {
                attention,
                position_key,
                position_query,
                joined: square("attention.output.dense")?,
                attention_norm: from.norm(&name("attention.output.LayerNorm"), hidden, epsilon)?,
                feed: Feed {
                    up: from.linear(&name("intermediate.dense"), hidden, wide)?,
                    activation: config.hidden_act,
                    down: from.linear(&name("output.dense"), wide, hidden)?,
                },
                norm: from.norm(&name("output.LayerNorm"), hidden, epsilon)?,
            })
        };
        let mut table = |has: bool, name: &str, rows: usize| {
            let name = format!("{prefix}{name}");
            has.then(|| from.table(&name, rows, hidden)).transpose()
        };
        let rows = config.max_position_embeddings;
        let positions = table(
            config.position_biased_input,
            "embeddings.position_embeddings",
            rows,
        )?;
        let rows = config.type_vocab_size;
        let types = table(rows > 0, "embeddings.token_type_embeddings", rows)?;
        let rows = 2 * config.distances().span();
        let relative = table(config.relative_attention, "encoder.rel_embeddings", rows)?;
        let normed = config.norm_rel_ebd.as_deref() == Some("layer_norm");
        let relative = relative.map(|table| {
            let norm =
                normed.then(|| from.norm(&format!("{prefix}encoder.LayerNorm"), hidden, epsilon));
            norm.transpose().map(|norm| (table, norm))
        });
        Ok(Self {
            config: config.clone(),
            positions,
            types,
            relative: relative.transpose()?,
            norm: from.norm(&format!("{prefix}embeddings.LayerNorm"), hidden, epsilon)?,
            layers: (0..config.num_hidden_layers)
                .map(|index| layer(index, from))
                .collect::<Result<_>>()?,
            dense: from.head("pooler.dense", hidden, hidden)?,
            output: from.head("classifier", hidden, classes)?,
        })
    }

    /// `[texts × classes]`, of word vectors `[texts·longest × hidden]`.
    pub(super) fn logits(
        &self,
        words: &Tensor,
        part: &Part,
        coins: &mut Coins,
    ) -> candle_core::Result<Tensor> {
        let [hidden, _, pooled, head] = self.config.dropouts();
        let mut x = words.clone();
        if let Some(positions) = &self.positions {
            let width = self.config.hidden_size;
            let of_text = positions.narrow(0, 0, part.longest)?;
            x = x
                .reshape((part.texts, part.longest, width))?
                .broadcast_add(&of_text)?
                .reshape((part.texts * part.longest, width))?;
        }
        if let Some(types) = &self.types {
            x = x.broadcast_add(&types.narrow(0, 0, 1)?)?;
        }
        let mut x = coins.dropout(&self.norm.of(&x)?, hidden)?;
        let relative = match &self.relative {
            None => None,
            Some(relative) => Some(self.relative(relative, part)?),
        };
        for layer in &self.layers {
            x = layer.of(&x, relative.as_ref(), part, &self.config, coins)?;
        }
        let first = coins.dropout(&part.first(&x)?, pooled)?;
        let pooled = self
            .config
            .pooler_hidden_act
            .on_tensor(&self.dense.of(&first)?)?;
        self.output.of(&coins.dropout(&pooled, head)?)
    }

    fn relative(
        &self,
        (table, norm): &(Tensor, Option<Norm>),
        part: &Part,
    ) -> candle_core::Result<Relative> {
        let Window { first, count, rows } = self.config.distances().window(part.longest);
        let (heads, longest) = (self.config.num_attention_heads, part.longest);
        let rows = Tensor::from_vec(rows, (longest, longest), &Device::Cpu)?;
        let everywhere = |rows: &Tensor| {
            rows.broadcast_as((heads, part.texts, longest, longest))?
                .contiguous()?
                .reshape((heads, part.texts * longest, longest))
        };
        let table = table.narrow(0, first, count)?;
        Ok(Relative {
            by_query: everywhere(&rows)?,
            by_key: everywhere(&rows.t()?)?,
            table: match norm {
                None => table,
                Some(norm) => norm.of(&table)?,
            },
        })
    }
}

/// The rows of the table of relative positions that a part uses.
struct Relative {
    /// `[rows × hidden]`
    table: Tensor,
    /// For query (i) and key (j) of each text the row, `[heads × texts·longest (i) × longest (j)]`.
    by_query: Tensor,
    /// The same, `[heads × texts·longest (j) × longest (i)]`.
    by_key: Tensor,
}

impl Layer {
    fn of(
        &self,
        x: &Tensor,
        relative: Option<&Relative>,
        part: &Part,
        config: &Config,
        coins: &mut Coins,
    ) -> candle_core::Result<Tensor> {
        let [hidden, ..] = config.dropouts();
        let attention = &self.attention;
        let queries = attention.apart(&attention.query, x)?;
        let keys = attention.apart(&attention.key, x)?;
        let mut scores = part.by_text(&queries)?.matmul(&part.by_text(&keys)?.t()?)?;
        if let Some(relative) = relative {
            let table = coins.dropout(&relative.table, hidden)?;
            if config.term("c2p") {
                let own = self.position_key.as_ref().unwrap_or(&attention.key);
                let of_positions = queries.matmul(&attention.apart(own, &table)?.t()?)?;
                let found = of_positions.gather(&relative.by_query, 2)?;
                scores = (scores + part.by_text(&found)?)?;
            }
            if config.term("p2c") {
                let own = self.position_query.as_ref().unwrap_or(&attention.query);
                let of_positions = keys.matmul(&attention.apart(own, &table)?.t()?)?;
                let found = of_positions.gather(&relative.by_key, 2)?;
                scores = (scores + part.by_text(&found)?.t()?)?;
            }
        }
        let terms = ["c2p", "p2c"]
            .iter()
            .filter(|term| config.term(term))
            .count();
        let width = queries.dim(2)? * (1 + terms);
        let scores = (scores / (width as f64).sqrt())?;
        let seen = self.joined.of(&attention.see(x, &scores, part, coins)?)?;
        let x = self
            .attention_norm
            .of(&(coins.dropout(&seen, hidden)? + x)?)?;
        let fed = coins.dropout(&self.feed.of(&x)?, hidden)?;
        self.norm.of(&(fed + x)?)
    }
}
