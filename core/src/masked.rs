//! The trait that masked language models implement: they fill a gap in a text from both sides of it.

use std::ops::Range;
use std::sync::Arc;

use crate::Result;

/// A gap in a text, next to the whole text: the model reads "text, text with a gap" (Meisenbacher et al. 2024).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap<'a> {
    /// The whole text, without a gap.
    pub whole: &'a str,
    /// The text with the gap, up to the gap.
    pub before: &'a str,
    /// The text with the gap, after the gap.
    pub after: &'a str,
}

/// What a model makes of a gap. Its logits are a linear function of this vector, so it is all that has to be kept.
pub type State = Arc<[f32]>;

/// Whether states are worth keeping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The same gaps will come again.
    Yes,
    /// They will not.
    No,
}

/// A masked language model that exposes its logits.
pub trait MaskedLanguageModel: Send + Sync {
    /// What each token writes, `[vocabulary]`, without the white space around it; empty for a token that writes
    /// nothing else.
    fn words(&self) -> &[String];

    /// Mean μ and standard deviation σ of this model's logits at gaps of public text, if they were measured.
    fn logit_moments(&self) -> Option<(f64, f64)>;

    /// The state at each gap, in order. State i depends on gap i alone, to the bit. A text beyond the model's window is
    /// cut around its gap.
    ///
    /// # Errors
    /// If the model fails.
    fn states(&self, gaps: &[Gap<'_>], keep: Keep) -> Result<Vec<State>>;

    /// The logits of `tokens` in each state, `[states × tokens]`. A logit depends on its state and token alone, to the
    /// bit, not on the others asked for.
    ///
    /// # Errors
    /// If a logit is not finite.
    fn logits(&self, states: &[&State], tokens: Range<usize>) -> Result<Vec<f32>>;
}
