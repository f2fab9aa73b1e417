//! Checks that the log-probabilities that a server echoes are those it samples by.
//!
//! A server can echo wrong ones: llama-cpp-python 0.3.36 gives each token's probability under the distribution after
//! it, not before it. Nothing in its answer shows that, and a likelihood attack with such numbers would find no leak
//! where there is one. So before the first likelihood the server is asked for the most likely next token of a text,
//! and then to echo the text with that token: both must give it the same log-probability.

use serde::Serialize;
use serde_json::Value;
use teda_core::{Error, Result};

use super::Http;
use super::cache::Key;
use super::client::{Lack, Question, Read, Reply};
use super::likelihood::Scored;

/// A text whose most likely next token is a word, which tokenizers keep as it is.
const PROBE: &str = "The capital of France is";
/// Difference that rounding may cause, in natural logarithms.
const ROUNDING: f64 = 0.3;

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    prompt: &'a str,
    max_tokens: u8,
    logprobs: u8,
    temperature: f64,
}

impl Http {
    /// Asks the server once in the lifetime of this object, or of its cache.
    ///
    /// # Errors
    /// Failed, if the server returns no log-probabilities or wrong ones.
    pub(super) fn check_logprobs(&self) -> Result<()> {
        if self.logprobs_checked.get().is_some() {
            return Ok(());
        }
        // The name under which existing caches have it.
        let key = Key::of("echo trusted", b"", None);
        if self.kept::<bool>(&key)? != Some(true) {
            self.compare()?;
            self.keep(&key, &true, 0)?;
        }
        self.logprobs_checked.get_or_init(|| ());
        Ok(())
    }

    fn compare(&self) -> Result<()> {
        let body = Body {
            model: &self.spec.model,
            prompt: PROBE,
            max_tokens: 1,
            logprobs: 1,
            temperature: 1.0,
        };
        let question = Question::new("completions", &body, PROBE.len())?;
        let (token, sampled) = self.one(&question, next)?;
        let scored = Scored::new(PROBE.to_owned(), &token);
        let question = scored.question(&self.spec.model)?;
        let (echoed, _) = self.one(&question, |answer| scored.read(answer))?;
        if (sampled - echoed).abs() <= ROUNDING {
            return Ok(());
        }
        Err(Error::failed(format!(
            "{}: the log-probabilities that the server echoes are not those it samples by: after '{PROBE}' it gives '{token}' {sampled:.2}, and {echoed:.2} when it echoes it. llama-cpp-python 0.3.36 does so. Use another server, or a model that runs in this process",
            self.name()
        )))
    }

    fn one<T>(&self, question: &Question, read: impl Fn(&Value) -> Read<T>) -> Result<T> {
        let answer = self.client.ask(question, read)?;
        answer
            .map(|paid| paid.value)
            .map_err(|e| Error::failed(format!("{}: {e}", self.name())))
    }
}

/// The most likely next token and its log-probability.
pub fn next(answer: &Value) -> Read<(String, f64)> {
    let top = answer
        .pointer("/choices/0/logprobs/top_logprobs/0")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter_map(|(token, value)| Some((token.clone(), value.as_f64()?)))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let value = top.ok_or_else(|| Lack::Unsupported("no logprobs of the next token".to_owned()))?;
    Ok(Reply { value, text: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_likeliest_next_token_is_found() {
        let top = json!([{" London": -4.4, " Paris": -0.26, " the": -2.8}]);
        let answer = json!({"choices": [{"logprobs": {"top_logprobs": top}}]});
        assert_eq!(next(&answer).ok().unwrap().value, (" Paris".into(), -0.26));
        let without = json!({"choices": [{"logprobs": null}]});
        assert!(matches!(next(&without), Err(Lack::Unsupported(_))));
    }
}
