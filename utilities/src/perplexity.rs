//! `perplexity`: how fluent a release is, as a language model sees it.
//!
//! # Definition
//! exp(−ln P(release) / tokens), over the tokens of the release after the model's own start. Of the built-in encoder-decoder it is
//! the perplexity after an empty source. Not defined for a release without tokens or too long for the model.
//!
//! # Source
//! Jelinek et al. (1977); as the package `evaluate` computes it with transformers (`add_start_token=True`). A mean over texts is
//! governed by the least fluent ones.

use std::sync::Arc;

use teda_core::{Error, Prompt, Result, Scorer};

use crate::entry::{Entry, Needs, Pair, Utility};

pub const ENTRY: Entry = Entry {
    name: "perplexity",
    summary: "perplexity of the release under a language model (--scorer)",
    source: "evaluate, metric perplexity",
    needs: Needs::Scorer,
    digits: 1,
    build: |context| {
        let missing = || Error::usage("the utility 'perplexity' needs a language model (--scorer)");
        let (scorer, name) = context.scorer.clone().ok_or_else(missing)?;
        Ok(Box::new(Perplexity { scorer, name }))
    },
};

struct Perplexity {
    scorer: Arc<dyn Scorer>,
    name: String,
}

impl Utility for Perplexity {
    fn scores(&self, pairs: &[Pair<'_>]) -> Result<Vec<Option<f64>>> {
        let texts: Vec<(&str, &str)> = pairs.iter().map(|pair| ("", pair.release)).collect();
        let answers = self.scorer.log_likelihood(&Prompt::new("{}"), &texts)?;
        let score = |answer: &teda_core::Answer<teda_core::LogLikelihood>| {
            let known = answer.as_ref().ok().filter(|known| known.tokens > 0)?;
            Some((-known.total / known.tokens as f64).exp())
        };
        Ok(answers.iter().map(score).collect())
    }

    fn signature(&self) -> String {
        format!("language model: {}", self.name)
    }
}
