//! Layers and stacks of layers.

use teda_core::Result;

use super::attention::{CrossAttention, SelfAttention, Sources};
use super::memory::Memory;
use super::pass::Pass;
use crate::matrix::Matrix;
use crate::matrix::activation::Activation;
use crate::matrix::linear::Linear;
use crate::matrix::norm::Norm;

/// A residual sublayer: x ← last(x + after(f(before(x)))), with each norm that the architecture has.
pub(crate) struct Sublayer<F> {
    /// Pre-norm.
    pub(crate) before: Option<Norm>,
    pub(crate) inner: F,
    /// Norm of the sublayer's output, as in Gemma 3.
    pub(crate) after: Option<Norm>,
    /// Post-norm, over the sum.
    pub(crate) last: Option<Norm>,
}

impl<F> Sublayer<F> {
    fn close(&self, x: Matrix, output: Matrix) -> Result<Matrix> {
        let output = normalised(self.after.as_ref(), output)?;
        normalised(self.last.as_ref(), output.plus(&x)?)
    }
}

fn normalised(norm: Option<&Norm>, x: Matrix) -> Result<Matrix> {
    match norm {
        Some(norm) => norm.apply(x),
        None => Ok(x),
    }
}

/// The feed-forward network.
pub(crate) struct Feed {
    /// To the wide layer; to gate and wide layer side by side if `gated`.
    pub(crate) up: Linear,
    pub(crate) activation: Activation,
    pub(crate) gated: bool,
    pub(crate) down: Linear,
}

impl Feed {
    fn apply(&self, x: &Matrix) -> Result<Matrix> {
        let wide = self.up.apply(x)?;
        let wide = if self.gated {
            self.activation.gated(wide)?
        } else {
            self.activation.of(wide)?
        };
        match self.activation {
            Activation::Relu => self.down.apply_sparse(&wide),
            _ => self.down.apply(&wide),
        }
    }
}

/// One layer.
pub(crate) struct Block {
    pub(crate) attention: Sublayer<SelfAttention>,
    pub(crate) cross: Option<Sublayer<CrossAttention>>,
    pub(crate) feed: Sublayer<Feed>,
}

impl Block {
    /// The layer's output at the rows `asked` of `x`, or at all of them.
    fn apply(
        &self,
        x: Matrix,
        asked: Option<&[usize]>,
        pass: &Pass<'_>,
        memory: &mut Memory,
        sources: Option<&Sources<'_>>,
        layer: usize,
    ) -> Result<Matrix> {
        let normed = with_copy(self.attention.before.as_ref(), &x)?;
        let input = normed.as_ref().unwrap_or(&x);
        let attention = &self.attention.inner;
        let attended = attention.apply(input, asked, pass, memory, layer)?;
        let residual = asked.map(|asked| x.select(asked)).transpose()?.unwrap_or(x);
        let mut x = self.attention.close(residual, attended)?;
        if let (Some(cross), Some(sources)) = (&self.cross, sources) {
            let counts: Vec<usize> = match asked {
                Some(_) => pass.segments.iter().map(|s| s.asked.len()).collect(),
                None => pass.segments.iter().map(|s| s.tokens).collect(),
            };
            let normed = with_copy(cross.before.as_ref(), &x)?;
            let attended =
                cross
                    .inner
                    .apply(normed.as_ref().unwrap_or(&x), &counts, sources, layer)?;
            x = cross.close(x, attended)?;
        }
        let normed = with_copy(self.feed.before.as_ref(), &x)?;
        let output = self.feed.inner.apply(normed.as_ref().unwrap_or(&x))?;
        self.feed.close(x, output)
    }
}

/// The normalised copy of `x`, if there is a norm.
fn with_copy(norm: Option<&Norm>, x: &Matrix) -> Result<Option<Matrix>> {
    norm.map(|norm| norm.apply(x.copy()?)).transpose()
}

/// Layers one after the other.
pub(crate) struct Stack {
    pub(crate) blocks: Vec<Block>,
    /// The norm after the last layer.
    pub(crate) last: Option<Norm>,
}

impl Stack {
    /// The output at the tokens that the pass requests, `[asked × hidden]`.
    pub(crate) fn run(
        &self,
        mut x: Matrix,
        pass: &Pass<'_>,
        memory: &mut Memory,
        sources: Option<&Sources<'_>>,
    ) -> Result<Matrix> {
        for (layer, block) in self.blocks.iter().enumerate() {
            let is_last = layer + 1 == self.blocks.len();
            let asked = is_last.then_some(&pass.asked[..]);
            x = block.apply(x, asked, pass, memory, sources, layer)?;
        }
        normalised(self.last.as_ref(), x)
    }

    /// Stores what every layer's cross-attention needs from encoded sources.
    pub(crate) fn store_sources(
        &self,
        encoded: &Matrix,
        slots: &[usize],
        memory: &mut Memory,
    ) -> Result<()> {
        let crosses = self.blocks.iter().filter_map(|block| block.cross.as_ref());
        crosses
            .enumerate()
            .try_for_each(|(layer, cross)| cross.inner.store(encoded, slots, memory, layer))
    }
}
