//! The trait behind which every rewriting mechanism stands.

use crate::{Answer, Beyond, Failure, Guarantee, Result, Seed, Stream};

/// One text to rewrite, with the random stream that belongs to this trial's mechanism alone.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The private text.
    pub text: &'a str,
    /// The root of all coins that this rewrite may toss.
    pub seed: Seed,
}

/// What a mechanism lets out.
///
/// An empty text is a legal release (⊥): the adversary sees that nothing came and guesses at random.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Release {
    /// The rewritten text.
    pub text: String,
    /// Why there is no text, where the mechanism failed on this query. A failure is an outcome of
    /// the mechanism like any other: it is counted, never dropped.
    pub failure: Option<Failure>,
}

impl Release {
    /// A successful release.
    #[must_use]
    pub fn of(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            failure: None,
        }
    }

    /// No release, for this reason; a mere text is a failure of the mechanism's own.
    #[must_use]
    pub fn failed(reason: impl Into<Failure>) -> Self {
        Self {
            text: String::new(),
            failure: Some(reason.into()),
        }
    }
}

/// A mechanism that knows the probability of its releases.
pub trait Likelihood: Send + Sync {
    /// ln P(release | text) for each pair (release, text): the natural logarithm of a probability, or of a
    /// density with respect to one measure for all texts; −∞ where the release is impossible. Row i
    /// depends on pair i alone.
    ///
    /// # Errors
    /// Where a model that the mechanism needs fails.
    fn log_likelihood(&self, pairs: &[(&str, &str)]) -> Result<Vec<Answer<f64>>>;

    /// Whether this is exactly what [`Mechanism::rewrite`] draws from. An attack may go by anything: its guess
    /// is only a guess, so the bound from guesses holds for likelihoods that are merely near. A bound
    /// that reads the probabilities themselves needs exact ones.
    fn is_exact(&self) -> bool {
        true
    }
}

/// A mechanism that releases one of the texts that it is defined on: text i is category i.
pub trait Categorical: Send + Sync {
    /// The released category for a text's own. It is the one that [`Mechanism::rewrite`] releases with the same
    /// stream.
    fn respond(&self, category: usize, stream: &mut Stream) -> usize;
}

/// A text rewriting mechanism at one setting of its parameters.
pub trait Mechanism: Send + Sync {
    /// The claim of this instance, `None` where it makes none.
    fn guarantee(&self) -> Option<Guarantee>;

    /// Number of units (tokens, triples) of `text` as this mechanism counts them, where its claim
    /// composes over them; `None` where it does not.
    fn units(&self, _text: &str) -> Option<u64> {
        None
    }

    /// Those of `texts` whose releases will fail because the mechanism's model has no room for them; none where
    /// it has, or where that is not known.
    ///
    /// # Errors
    /// Where the model's tokenizer fails.
    fn beyond_window(&self, _texts: &[&str]) -> Result<Option<Beyond>> {
        Ok(None)
    }

    /// Whether between any two texts it is exactly a Gaussian mechanism: one shift of normal noise, so that its
    /// trade-off curve is a Gaussian's (μ-GDP).
    fn is_gaussian(&self) -> bool {
        false
    }

    /// What tells how likely a release is under a text, where the mechanism knows it.
    fn likelihood(&self) -> Option<&dyn Likelihood> {
        None
    }

    /// An index-based view, for mechanisms whose releases are input texts.
    fn categorical(&self) -> Option<&dyn Categorical> {
        None
    }

    /// Rewrites a batch: one release a query, in order; release i depends on query i alone, so the
    /// result is the same in any batch.
    ///
    /// # Errors
    /// Only where the whole batch cannot be answered (a model that does not load, a text that
    /// cannot be an input). What fails for one text alone is a [`Release`] with a failure.
    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>>;
}
