//! The trait that every rewriting mechanism implements.

use ndarray::Array2;

use crate::{Answer, Beyond, Failure, Guarantee, Result, Seed, Stream};

/// One text to rewrite, with the random stream reserved for this trial's mechanism.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a> {
    /// The private text.
    pub text: &'a str,
    /// The root of all coins that this rewrite may toss.
    pub seed: Seed,
}

/// What a mechanism releases.
///
/// An empty text is a legal release (⊥): the adversary sees that nothing was released and guesses at random.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Release {
    /// The rewritten text.
    pub text: String,
    /// Why there is no text, if the mechanism failed on this query. A failure is an outcome of the mechanism like any
    /// other: it is counted, never dropped.
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

    /// No release, for this reason; a plain string counts as the mechanism's own failure.
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
    /// ln P(release | text) for each pair (release, text): the natural logarithm of a probability, or of a density
    /// with respect to one measure for all texts; −∞ if the release is impossible. Row i depends on pair i alone.
    ///
    /// # Errors
    /// If a model that the mechanism needs fails.
    fn log_likelihood(&self, pairs: &[(&str, &str)]) -> Result<Vec<Answer<f64>>>;

    /// Whether this is exactly the distribution that [`Mechanism::rewrite`] draws from. An attack may use anything:
    /// its guess is only a guess, so the bound from guesses also holds for approximate likelihoods. A bound that reads
    /// the probabilities themselves needs exact ones.
    fn is_exact(&self) -> bool {
        true
    }
}

/// A mechanism that releases one of the texts that it is defined on: text i is category i.
pub trait Categorical: Send + Sync {
    /// The released category for a text's own category. It is the one that [`Mechanism::rewrite`] releases with the
    /// same stream.
    fn respond(&self, category: usize, stream: &mut Stream) -> usize;
}

/// A mechanism that adds noise to a vector that it makes of the text, the latent, and releases what it makes of the
/// sum. The noisy latent is not released; what it shows bounds what any release that is made of it can show.
pub trait Latent: Send + Sync {
    /// The latents before the noise, `[texts × numbers]`. Row i depends on text i alone.
    ///
    /// # Errors
    /// If a model that the mechanism needs fails.
    fn clean(&self, texts: &[&str]) -> Result<Array2<f64>>;

    /// The noisy latents from which [`Mechanism::rewrite`] makes its releases of the same queries, `[queries ×
    /// numbers]`. Row i depends on query i alone.
    ///
    /// # Errors
    /// If a model that the mechanism needs fails.
    fn noisy(&self, batch: &[Query<'_>]) -> Result<Array2<f64>>;

    /// ln of the density of each query's noisy latent, had it been made of each of its candidates: with respect to one
    /// measure for all texts, −∞ where it cannot be, `[queries][candidates]`. Row i depends on query i and its
    /// candidates alone.
    ///
    /// # Errors
    /// If a model that the mechanism needs fails.
    fn log_densities(&self, batch: &[Query<'_>], candidates: &[Vec<&str>])
    -> Result<Vec<Vec<f64>>>;

    /// Whether the noisy latent is a single shift of normal noise ([`Mechanism::is_gaussian`]).
    fn is_gaussian(&self) -> bool;

    /// The standard deviation of the noise on one number.
    fn deviation(&self) -> f64;
}

/// A text rewriting mechanism at one setting of its parameters.
pub trait Mechanism: Send + Sync {
    /// The claim of this instance; `None` if it makes none.
    fn guarantee(&self) -> Option<Guarantee>;

    /// Number of units (tokens, triples) of `text` as this mechanism counts them, if its claim composes over them;
    /// `None` otherwise.
    fn units(&self, _text: &str) -> Option<u64> {
        None
    }

    /// The greatest distance between two of `texts`, for a claim that grows with the distance
    /// ([`Neighbours::Metric`](crate::Neighbours::Metric)); `None` for other claims, and where the claim says nothing
    /// between some two of them.
    fn diameter(&self, _texts: &[&str]) -> Option<f64> {
        None
    }

    /// Those of `texts` whose releases will fail because they exceed the window of the mechanism's model; `None` if
    /// there are none, or if that is not known.
    ///
    /// # Errors
    /// If the model's tokenizer fails.
    fn beyond_window(&self, _texts: &[&str]) -> Result<Option<Beyond>> {
        Ok(None)
    }

    /// Whether it is exactly a Gaussian mechanism between any two texts: a single shift of normal noise, so that its
    /// trade-off curve is that of a Gaussian (μ-GDP).
    fn is_gaussian(&self) -> bool {
        false
    }

    /// Whether its batches are made one after the other, in order and by one thread: what it is made of is shared, as a
    /// model with a generator of its own is.
    fn is_sequential(&self) -> bool {
        false
    }

    /// The likelihood of releases, if the mechanism knows it.
    fn likelihood(&self) -> Option<&dyn Likelihood> {
        None
    }

    /// The vector between the text and the release, if there is one.
    fn latent(&self) -> Option<&dyn Latent> {
        None
    }

    /// An index-based view, for mechanisms whose releases are input texts.
    fn categorical(&self) -> Option<&dyn Categorical> {
        None
    }

    /// Rewrites a batch: one release per query, in order; release i depends on query i alone, so the result is the
    /// same in any batch.
    ///
    /// # Errors
    /// Only if the whole batch cannot be answered (a model that does not load, an invalid input text). What fails for
    /// a single text is a [`Release`] with a failure.
    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>>;
}
