//! Self-attention and cross-attention.

use std::sync::Arc;

use teda_core::Result;

use super::memory::Memory;
use super::pass::Pass;
use super::relative::RelativeBias;
use crate::matrix::Matrix;
use crate::matrix::attention::{Row, Span, attend};
use crate::matrix::linear::Linear;
use crate::matrix::norm::Norm;
use crate::matrix::rotary::Rotary;

/// The four projections of multi-head attention. The scores' scale is a factor of the query's weights (or of its
/// norm's weights, if it has a norm).
pub(crate) struct Projections {
    pub(crate) heads: usize,
    pub(crate) query: Linear,
    pub(crate) key: Linear,
    pub(crate) value: Linear,
    pub(crate) output: Linear,
}

/// Which keys a query sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mask {
    /// All keys of its row.
    All,
    /// Its own and those before it.
    Causal,
    /// Its own and those before it, this many in total.
    Window(usize),
}

impl Mask {
    /// The first and one past the last key that the query at `position` of a row of `keys` sees.
    fn seen(self, position: usize, keys: usize) -> (usize, usize) {
        match self {
            Self::All => (0, keys),
            Self::Causal => (0, position + 1),
            Self::Window(width) => ((position + 1).saturating_sub(width), position + 1),
        }
    }
}

/// Attention of a row to itself.
pub(crate) struct SelfAttention {
    pub(crate) projections: Projections,
    pub(crate) query_norm: Option<Norm>,
    pub(crate) key_norm: Option<Norm>,
    pub(crate) rotary: Option<Arc<Rotary>>,
    pub(crate) relative: Option<Arc<RelativeBias>>,
    pub(crate) mask: Mask,
}

impl SelfAttention {
    /// Stores the keys and values of the new tokens `x` and attends from those in `asked`, or from all.
    pub(crate) fn apply(
        &self,
        x: &Matrix,
        asked: Option<&[usize]>,
        pass: &Pass<'_>,
        memory: &mut Memory,
        layer: usize,
    ) -> Result<Matrix> {
        // Equal inputs are projected once. Behind the first layer no two tokens are equal.
        let distinct = pass.distinct.as_ref().filter(|_| layer == 0);
        let inputs = distinct.map(|d| x.select(&d.first)).transpose()?;
        let projected = |projection: &Linear| match (distinct, &inputs) {
            (Some(distinct), Some(inputs)) => projection.apply(inputs)?.select(&distinct.kinds),
            _ => projection.apply(x),
        };
        let keys = self.placed(
            projected(&self.projections.key)?,
            self.key_norm.as_ref(),
            &pass.positions,
        )?;
        let values = projected(&self.projections.value)?;
        memory.layer_mut(layer).write(&pass.slots, &keys, &values)?;
        let asked = asked
            .map(|asked| x.select(asked).map(|x| (x, asked)))
            .transpose()?;
        let of_asked: Vec<usize>;
        let (positions, queries) = match &asked {
            Some((x, asked)) => {
                of_asked = asked.iter().map(|i| pass.positions[*i]).collect();
                (&of_asked, self.projections.query.apply(x)?)
            }
            None => (&pass.positions, projected(&self.projections.query)?),
        };
        let queries = self.placed(queries, self.query_norm.as_ref(), positions)?;
        let rows = self.rows(positions, asked.is_some(), pass, memory, layer);
        self.projections
            .output
            .apply(&attend(&queries, self.projections.heads, &rows)?)
    }

    fn placed(&self, x: Matrix, norm: Option<&Norm>, positions: &[usize]) -> Result<Matrix> {
        let x = match norm {
            Some(norm) => norm.apply(x)?,
            None => x,
        };
        match &self.rotary {
            Some(rotary) => rotary.apply(x, positions),
            None => Ok(x),
        }
    }

    /// The rows of the attention for the requested tokens or for all, with queries at `positions`.
    fn rows<'a>(
        &self,
        mut positions: &[usize],
        asked: bool,
        pass: &Pass<'a>,
        memory: &'a Memory,
        layer: usize,
    ) -> Vec<Row<'a>> {
        pass.segments
            .iter()
            .map(|segment| {
                let prefix = segment.prefix.map(|prefix| Span {
                    stored: prefix.memory.layer(layer),
                    start: 0,
                    count: prefix.tokens.len(),
                });
                let own = Span {
                    stored: memory.layer(layer),
                    start: segment.region,
                    count: segment.past + segment.tokens,
                };
                let spans: Vec<Span<'a>> = prefix.into_iter().chain([own]).collect();
                let keys: usize = spans.iter().map(|span| span.count).sum();
                let seen = keys - segment.padding;
                let count = if asked {
                    segment.asked.len()
                } else {
                    segment.tokens
                };
                let (own, rest) = positions.split_at(count);
                positions = rest;
                Row {
                    spans,
                    seen: own.iter().map(|p| self.mask.seen(*p, seen)).collect(),
                    bias: self
                        .relative
                        .as_ref()
                        .map(|relative| relative.scores(own, keys)),
                }
            })
            .collect()
    }
}

/// The sources that a pass attends to: their keys and values, and where they are for each segment.
pub(crate) struct Sources<'a> {
    pub(crate) memory: &'a Memory,
    /// First slot and number of tokens.
    pub(crate) regions: Vec<(usize, usize)>,
}

/// Attention of a row to its source.
pub(crate) struct CrossAttention(pub(crate) Projections);

impl CrossAttention {
    /// Stores the keys and values of encoded sources `[tokens × hidden]` in `slots`.
    pub(crate) fn store(
        &self,
        encoded: &Matrix,
        slots: &[usize],
        memory: &mut Memory,
        layer: usize,
    ) -> Result<()> {
        let (keys, values) = (self.0.key.apply(encoded)?, self.0.value.apply(encoded)?);
        memory.layer_mut(layer).write(slots, &keys, &values)
    }

    /// Attends from `x`, `counts[i]` rows of which belong to segment i.
    pub(crate) fn apply(
        &self,
        x: &Matrix,
        counts: &[usize],
        sources: &Sources<'_>,
        layer: usize,
    ) -> Result<Matrix> {
        let rows: Vec<Row<'_>> = sources
            .regions
            .iter()
            .zip(counts)
            .map(|((start, tokens), count)| Row {
                spans: vec![Span {
                    stored: sources.memory.layer(layer),
                    start: *start,
                    count: *tokens,
                }],
                seen: vec![(0, *tokens); *count],
                bias: None,
            })
            .collect();
        let queries = self.0.query.apply(x)?;
        self.0.output.apply(&attend(&queries, self.0.heads, &rows)?)
    }
}
