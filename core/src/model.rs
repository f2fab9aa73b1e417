//! The traits that models implement, so that mechanisms and attacks do not depend on particular models.

use ndarray::{Array1, Array2, ArrayView2};

use crate::{Error, Failure, Query, Result, Seed, Stream};

/// A sentence encoder.
pub trait Encoder: Send + Sync {
    /// Sentence vectors, `[texts × dimension]`, each of Euclidean norm 1, or 0 for a text without
    /// any known token. Row i depends on text i alone.
    ///
    /// # Errors
    /// If the model fails.
    fn encode(&self, texts: &[&str]) -> Result<Array2<f32>>;

    /// Dimension of a sentence vector.
    fn dimension(&self) -> usize;

    /// Itself as one that shows the vectors of a text's tokens, if it does.
    fn token_encoder(&self) -> Option<&dyn TokenEncoder> {
        None
    }
}

/// The vectors of a text's tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenVectors {
    /// One row a token, in the order of the text, `[tokens × dimension]`.
    pub vectors: Array2<f32>,
    /// Whether a token is the model's own, as `[CLS]` is.
    pub special: Vec<bool>,
}

/// An encoder that shows what it makes of each token of a text.
pub trait TokenEncoder: Send + Sync {
    /// The vectors of each text's tokens in their context, as the last layer has them. Entry i depends on text i alone.
    ///
    /// # Errors
    /// If the model fails.
    fn token_vectors(&self, texts: &[&str]) -> Result<Vec<TokenVectors>>;
}

/// A public vocabulary V with an embedding of every token: what word-level mechanisms draw from.
pub trait TokenMap: Send + Sync {
    /// The tokens of `text`, as row indices of [`TokenMap::vectors`]. Every text has a defined result; characters
    /// outside the vocabulary become the unknown token.
    fn tokenize(&self, text: &str) -> Vec<u32>;

    /// The text that `tokens` stand for.
    fn detokenize(&self, tokens: &[u32]) -> String;

    /// Token vectors, `[tokens × dimension]`, of norm 1, or 0 for special and unknown tokens.
    fn vectors(&self) -> ArrayView2<'_, f32>;

    /// The tokens that may be released, ascending: all but special and reserved ones.
    fn released(&self) -> &[u32];
}

/// The answer to one query of a batch, or why there is none. A query's failure affects only itself: it never fails the
/// batch.
pub type Answer<T> = std::result::Result<T, Failure>;

/// Groups answers that belong together into `groups` groups of equal size: a group is answered if all of its members
/// are; otherwise it has the first of their failures.
///
/// # Panics
/// If the answers cannot be divided evenly.
#[must_use]
pub fn grouped<T>(answers: Vec<Answer<T>>, groups: usize) -> Vec<Answer<Vec<T>>> {
    assert!(
        answers.len().is_multiple_of(groups),
        "{} answers in {groups} groups",
        answers.len()
    );
    let each = answers.len().checked_div(groups).unwrap_or(0);
    let mut answers = answers.into_iter();
    (0..groups)
        .map(|_| {
            // Taken before they are inspected: what follows a failure must not slip into the next group.
            let group: Vec<Answer<T>> = answers.by_ref().take(each).collect();
            group.into_iter().collect()
        })
        .collect()
}

/// A prompt for a language model: an instruction with a place for the text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Prompt {
    before: String,
    after: String,
}

impl Prompt {
    /// A prompt with its text in place of the `{}` in `template`, or at the end if there is no `{}`.
    #[must_use]
    pub fn new(template: &str) -> Self {
        let (before, after) = template.split_once("{}").unwrap_or((template, ""));
        Self {
            before: before.to_owned(),
            after: after.to_owned(),
        }
    }

    /// The part before the text: the same for every text, so that a model computes it once.
    #[must_use]
    pub fn before(&self) -> &str {
        &self.before
    }

    /// The part after the text.
    #[must_use]
    pub fn after(&self) -> &str {
        &self.after
    }

    /// The prompt for `text`.
    #[must_use]
    pub fn fill(&self, text: &str) -> String {
        [&self.before, text, &self.after].concat()
    }
}

/// How to sample from a text generator.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sampling {
    /// Divides the logits; 0 for the likeliest token each time.
    pub temperature: f64,
    /// Most tokens in an answer, as the generator counts them.
    pub max_new_tokens: usize,
}

/// Placeholder in a text for a word that a rewriter is to fill in: see [`TextGenerator::complete`].
pub const MASK: &str = "[MASK]";

impl Sampling {
    /// # Errors
    /// Usage, if the temperature is not a finite number of 0 or more.
    pub fn check(self) -> Result<()> {
        let temperature = self.temperature;
        if temperature >= 0.0 && temperature.is_finite() {
            return Ok(());
        }
        Err(Error::usage(format!(
            "temperature {temperature} is not a finite number of 0 or more"
        )))
    }
}

/// Texts that exceed a model's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beyond {
    /// Number of texts.
    pub texts: usize,
    /// The model's window in tokens, including those of its answer if both share one window.
    pub window: usize,
}

/// A black-box rewriter: text in, text out. It may reveal whatever it sees.
pub trait TextGenerator: Send + Sync {
    /// `n` answers to `prompt` filled with each query's text, `[queries][n]`. Row i depends on query i alone. A
    /// generator that does not follow instructions rewrites the text as it always does, except that one that fills in
    /// words fills in exactly those that the text marks by [`MASK`].
    ///
    /// # Errors
    /// If no query can be answered (a model that fails, a server that is missing).
    fn complete(
        &self,
        prompt: &Prompt,
        queries: &[Query<'_>],
        n: usize,
        sampling: Sampling,
    ) -> Result<Vec<Answer<Vec<String>>>>;

    /// Those of `texts` that cannot be answered because they are too long; `None` if that is not known, as for a
    /// server, or if there is no such limit.
    ///
    /// # Errors
    /// If the tokenizer fails.
    fn beyond_window(
        &self,
        _prompt: &Prompt,
        _texts: &[&str],
        _sampling: Sampling,
    ) -> Result<Option<Beyond>> {
        Ok(None)
    }
}

/// How many tokens a continuation may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MaxNewTokens {
    /// This many.
    Tokens(usize),
    /// As many as the filled prompt has.
    AsPrompt,
    /// This many more than the filled prompt has.
    BeyondPrompt(usize),
}

/// One text to continue from.
#[derive(Debug, Clone, Copy)]
pub struct Sequence<'a> {
    /// The text that fills the prompt.
    pub text: &'a str,
    /// The root of this sequence's coins.
    pub seed: Seed,
    /// Where it stops unless the model ends first.
    pub max_new_tokens: MaxNewTokens,
    /// Words that it must not write: no choice sees a token that would complete one of them, as the model's tokenizer
    /// spells them, in lower case or capitalised.
    pub banned: &'a [String],
}

/// A continuation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generated {
    /// Its text, without special tokens.
    pub text: String,
    /// Tokens chosen, including the one that ended it.
    pub tokens: Vec<u32>,
}

/// Picks the next token of one sequence from its logits `[vocabulary]`, which it may overwrite. What makes a mechanism
/// private (clipping, temperature, the distribution drawn from) is implemented here, in the mechanism's own file.
pub type Choose<'a> = dyn Fn(&mut [f32], &mut Stream) -> u32 + Sync + 'a;

/// The choice at temperature 0: the first of the highest logits.
pub fn likeliest(logits: &mut [f32], _: &mut Stream) -> u32 {
    let mut best = 0;
    for (token, logit) in logits.iter().enumerate() {
        if *logit > logits[best] {
            best = token;
        }
    }
    best as u32
}

/// ln of the probability that the next token is one of those given, from its logits `[vocabulary]`: the distribution
/// that a [`Choose`] draws from, next to it in the mechanism's own file.
pub type Weigh<'a> = dyn Fn(&[f32], &[u32]) -> f64 + Sync + 'a;

/// The result of following a given continuation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Followed {
    /// How likely the continuation is, as far as it goes.
    pub likelihood: LogLikelihood,
    /// ln of the probability that the model ends after it; −∞ for a model that never ends by itself.
    pub end: f64,
}

/// A language model that exposes its logits.
pub trait LanguageModel: Scorer {
    /// Number of tokens to choose from.
    fn vocabulary(&self) -> usize;

    /// Whether it does what a prompt asks. A model that does not was trained to rewrite: it reads only the text of a
    /// prompt.
    fn follows_instructions(&self) -> bool;

    /// Number of tokens of `prompt` filled with `text`, as the model reads it.
    ///
    /// # Errors
    /// If the tokenizer fails.
    fn prompt_tokens(&self, prompt: &Prompt, text: &str) -> Result<usize>;

    /// Those of `texts` that cannot be continued by up to `max_new_tokens` tokens because they are too long; `None` if
    /// all can.
    ///
    /// # Errors
    /// If the tokenizer fails.
    fn beyond_window(
        &self,
        _prompt: &Prompt,
        _texts: &[&str],
        _max_new_tokens: MaxNewTokens,
    ) -> Result<Option<Beyond>> {
        Ok(None)
    }

    /// Mean μ and standard deviation σ of this model's logits on public text, if they were measured.
    fn logit_moments(&self) -> Option<(f64, f64)>;

    /// Its two halves, if it reads a text into vectors and writes a text from them.
    fn encoder_decoder(&self) -> Option<&dyn EncoderDecoder> {
        None
    }

    /// Continues `prompt` filled with each sequence's text, token by token. Sequence i depends on sequence i
    /// alone; its stream is `seed.stream()`.
    ///
    /// # Errors
    /// If the model fails.
    fn generate(
        &self,
        prompt: &Prompt,
        sequences: &[Sequence<'_>],
        choose: &Choose<'_>,
    ) -> Result<Vec<Answer<Generated>>>;

    /// Follows the continuation of each pair (text, continuation), as the model's tokenizer writes it, and weighs each
    /// of its tokens, and the tokens that would end it, by the logits before them. Row i depends on pair i alone.
    ///
    /// # Errors
    /// If the model fails.
    fn follow(
        &self,
        prompt: &Prompt,
        pairs: &[(&str, &str)],
        weigh: &Weigh<'_>,
    ) -> Result<Vec<Answer<Followed>>>;
}

/// How a decoder looks for a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BeamSearch {
    /// Beginnings that are followed at a time.
    pub beams: usize,
    /// Tokens of a text at most, including the one that every text begins with.
    pub tokens: usize,
}

/// A language model by its two halves: it reads a text into vectors, one a token, and writes a text from vectors.
pub trait EncoderDecoder: Send + Sync {
    /// Numbers in a token's vector.
    fn hidden(&self) -> usize;

    /// The vectors of exactly `tokens` tokens of each text, one after the other: `[texts × tokens · hidden]`. Of a
    /// longer text its last words are left out; a shorter one is filled up with a token that no other token sees, and
    /// that has vectors, too. Row i depends on text i alone.
    ///
    /// # Errors
    /// Usage, if the model has no token to fill up with, or no room for so many; failed, if it fails.
    fn encode(&self, texts: &[&str], tokens: usize) -> Result<Array2<f32>>;

    /// For each number of a token's vector, Σ |w| over the weights by which the decoder's first cross-attention makes
    /// its keys of it: `[hidden]`.
    ///
    /// # Errors
    /// If the model fails.
    fn key_weights(&self) -> Result<Array1<f64>>;

    /// For each row of `vectors`, which are as [`EncoderDecoder::encode`] gives them, the text that beam search finds.
    /// The decoder sees all of a row's tokens, whether they are of a text or fill it up. Of the texts that end, and
    /// when time is up those that do not, it is the one with the highest ln P per token. Row i depends on row i alone.
    ///
    /// # Errors
    /// If the model fails, or has no room for so many tokens.
    fn decode(&self, vectors: ArrayView2<'_, f32>, search: BeamSearch) -> Result<Vec<String>>;
}

/// How likely a text is under a language model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogLikelihood {
    /// ln P(continuation | prompt), summed over its tokens.
    pub total: f64,
    /// Number of those tokens.
    pub tokens: usize,
}

/// A language model that computes how likely a given continuation is.
pub trait Scorer: Send + Sync {
    /// ln P(continuation | prompt filled with text) for each pair (text, continuation), by teacher
    /// forcing. Row i depends on pair i alone.
    ///
    /// # Errors
    /// If the model fails.
    fn log_likelihood(
        &self,
        prompt: &Prompt,
        pairs: &[(&str, &str)],
    ) -> Result<Vec<Answer<LogLikelihood>>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_fails_its_own_group_alone() {
        let answers = vec![Err("a".into()), Err("b".into()), Ok(3), Ok(4)];
        assert_eq!(grouped(answers, 2), [Err("a".into()), Ok(vec![3, 4])]);
        assert_eq!(grouped::<u8>(vec![], 2), [Ok(vec![]), Ok(vec![])]);
        assert!(grouped::<u8>(vec![], 0).is_empty());
    }

    #[test]
    fn a_prompt_has_one_place_for_the_text() {
        let prompt = Prompt::new("Document : {}\nParaphrase :");
        assert_eq!(prompt.fill("a {} b"), "Document : a {} b\nParaphrase :");
        assert_eq!(Prompt::new("Say: ").fill("x"), "Say: x");
    }
}
