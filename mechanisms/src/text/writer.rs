//! The language model that writes a new text from what is private already, at temperature 0.
//!
//! A model that shows its logits writes its likeliest token each time and can be kept from writing words; one that only
//! completes (on a server) is asked for temperature 0.

use std::sync::Arc;

use teda_core::{
    Answer, Error, LanguageModel, MaxNewTokens, Prompt, Query, Result, Sampling, Seed, Sequence,
    TextGenerator, likeliest,
};

use crate::entry::Context;

/// The model by what it shows.
pub enum Writer {
    /// Its logits.
    Logits(Arc<dyn LanguageModel>),
    /// Its texts alone.
    Texts(Arc<dyn TextGenerator>),
}

/// The request for one new text.
pub struct Request {
    /// Its index in the batch.
    pub row: usize,
    /// The text that fills the prompt.
    pub text: String,
    /// Words that must not be written.
    pub banned: Vec<String>,
    /// The root of its coins.
    pub seed: Seed,
}

impl Writer {
    /// The model of `context`, for the mechanism with this name.
    ///
    /// # Errors
    /// Usage, if there is none.
    pub fn of(context: &Context, owner: &str) -> Result<Self> {
        match (&context.language_model, &context.sampler) {
            (Some(model), _) => Ok(Self::Logits(model.clone())),
            (None, Some(model)) => Ok(Self::Texts(model.clone())),
            (None, None) => Err(Error::usage(format!(
                "'{owner}' needs a language model (--llm)"
            ))),
        }
    }

    /// Whether it can be kept from writing words, and whether it has to be, because it does not follow instructions.
    pub fn bans(&self) -> (bool, bool) {
        match self {
            Self::Logits(model) => (true, !model.follows_instructions()),
            Self::Texts(_) => (false, false),
        }
    }

    /// A new text for each request.
    ///
    /// # Errors
    /// If the model fails.
    pub fn write(
        &self,
        prompt: &Prompt,
        requests: &[Request],
        max_new_tokens: usize,
    ) -> Result<Vec<Answer<String>>> {
        match self {
            Self::Logits(model) => {
                let sequences: Vec<Sequence<'_>> = requests
                    .iter()
                    .map(|request| Sequence {
                        text: &request.text,
                        seed: request.seed,
                        max_new_tokens: MaxNewTokens::Tokens(max_new_tokens),
                        banned: &request.banned,
                    })
                    .collect();
                let answers = model.generate(prompt, &sequences, &likeliest)?;
                Ok(answers
                    .into_iter()
                    .map(|a| a.map(|made| made.text))
                    .collect())
            }
            Self::Texts(model) => {
                let queries: Vec<Query<'_>> = requests
                    .iter()
                    .map(|request| Query {
                        text: &request.text,
                        seed: request.seed,
                    })
                    .collect();
                let sampling = Sampling {
                    temperature: 0.0,
                    max_new_tokens,
                };
                let answers = model.complete(prompt, &queries, 1, sampling)?;
                Ok(answers
                    .into_iter()
                    .map(|a| a.map(|texts| texts.concat()))
                    .collect())
            }
        }
    }
}
