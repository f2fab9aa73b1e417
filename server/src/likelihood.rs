//! How likely a continuation is, from `completions` with `echo` and `logprobs`.
//!
//! # Definition
//! The server is asked to echo prompt and continuation with every token's log-probability. Those of the tokens that
//! end after the prompt's end, by `text_offset` (in characters), and begin before the continuation's end are summed. A
//! token that straddles the prompt's end is thus counted: it contains characters of the continuation. One more token
//! is generated, since some servers read 0 as "no limit"; it is not counted.

use serde::Serialize;
use serde_json::Value;
use teda_core::{Answer, Error, LogLikelihood, Prompt, Result, Scorer};

use super::client::{Lack, Question, Read, Reply};
use super::{Http, Request};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    prompt: &'a str,
    echo: bool,
    logprobs: u8,
    max_tokens: u8,
    temperature: f64,
}

/// A text to be scored from the character `start` on.
pub struct Scored {
    text: String,
    start: usize,
}

impl Scorer for Http {
    /// # Errors
    /// Also if the server does not return the log-probabilities of a text that it is sent.
    fn log_likelihood(
        &self,
        prompt: &Prompt,
        pairs: &[(&str, &str)],
    ) -> Result<Vec<Answer<LogLikelihood>>> {
        if pairs.is_empty() {
            return Ok(Vec::new());
        }
        self.check_logprobs().map_err(|e| e.context(NEEDED))?;
        let mut requests = Vec::with_capacity(pairs.len());
        let mut scored = Vec::with_capacity(pairs.len());
        for (text, continuation) in pairs {
            let one = Scored::new(prompt.fill(text), continuation);
            // Two splits of one text are two questions, although the server gets the same request.
            let mut request = Request::new(one.question(&self.spec.model)?, None);
            request.key = request.key.with(one.start as u64);
            requests.push(request);
            scored.push(one);
        }
        let read = |index: usize, answer: &Value| scored[index].read(answer);
        let answers: Vec<Answer<(f64, usize)>> = self
            .answers(&requests, read)
            .map_err(|e| e.context(NEEDED))?;
        answers
            .into_iter()
            .map(|answer| match answer {
                Ok((total, tokens)) => Ok(Ok(LogLikelihood { total, tokens })),
                Err(e) if says_unsupported(&e.reason) => {
                    Err(Error::failed(format!("{}: {e}", self.name())).context(NEEDED))
                }
                Err(e) => Ok(Err(e)),
            })
            .collect()
    }
}

/// The subject of any failure of a whole batch.
const NEEDED: &str = "likelihoods from a server (they need completions with echo and logprobs)";

impl Scored {
    /// `continuation` after `before`.
    pub fn new(before: String, continuation: &str) -> Self {
        Self {
            start: before.chars().count(),
            text: before + continuation,
        }
    }

    /// The question for the server.
    ///
    /// # Errors
    /// Any error of [`Question::new`].
    pub fn question(&self, model: &str) -> Result<Question> {
        let body = Body {
            model,
            prompt: &self.text,
            echo: true,
            logprobs: 1,
            max_tokens: 1,
            temperature: 1.0,
        };
        Question::new("completions", &body, self.text.len())
    }

    /// The sum of the continuation's log-probabilities and the number of its tokens.
    pub fn read(&self, answer: &Value) -> Read<(f64, usize)> {
        let choice = answer
            .pointer("/choices/0")
            .ok_or_else(|| Lack::passing("no choices[0]"))?;
        let echoed = choice.get("text").and_then(Value::as_str);
        if !echoed.is_some_and(|echoed| echoed.starts_with(&self.text)) {
            return Err(Lack::Unsupported("no echo of the prompt".to_owned()));
        }
        let list = |name: &str| choice.pointer(&format!("/logprobs/{name}"))?.as_array();
        let (Some(offsets), Some(values)) = (list("text_offset"), list("token_logprobs")) else {
            return Err(Lack::Unsupported("no logprobs with text_offset".to_owned()));
        };
        let offsets: Option<Vec<usize>> = offsets
            .iter()
            .map(|offset| offset.as_u64().map(|offset| offset as usize))
            .collect();
        let offsets = offsets
            .filter(|offsets| offsets.len() == values.len())
            .ok_or_else(|| Lack::passing("logprobs whose lists do not fit each other"))?;
        let value = self.sum(&offsets, values)?;
        Ok(Reply { value, text: 0 })
    }

    fn sum(&self, offsets: &[usize], values: &[Value]) -> std::result::Result<(f64, usize), Lack> {
        let end = self.text.chars().count();
        let (mut total, mut tokens) = (0.0, 0);
        if self.start == end {
            return Ok((total, tokens));
        }
        for (index, (offset, value)) in offsets.iter().zip(values).enumerate() {
            let reaches = offsets.get(index + 1).is_none_or(|next| *next > self.start);
            if *offset < end && (*offset >= self.start || reaches) {
                total += value.as_f64().ok_or_else(|| {
                    Lack::Lasting("no probability of a text's first token, which only a prompt before it gives".to_owned())
                })?;
                tokens += 1;
            }
        }
        Ok((total, tokens))
    }
}

/// Whether a server refused the request for something that every request of this kind contains.
fn says_unsupported(message: &str) -> bool {
    message.starts_with("HTTP ")
        && ["logprob", "logits_all", "'echo'", "\"echo\"", "`echo`"]
            .iter()
            .any(|word| message.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn scored(before: &str, continuation: &str) -> Scored {
        Scored::new(before.to_owned(), continuation)
    }

    fn answer(text: &str, offsets: &[usize], values: Value) -> Value {
        json!({"choices": [{"text": text, "logprobs": {
            "text_offset": offsets, "token_logprobs": values,
        }}]})
    }

    #[test]
    fn tokens_from_the_prompts_end_to_the_continuations_are_summed() {
        let given = answer(
            "Say: hello world!",
            &[0, 3, 4, 10, 16],
            json!([null, -9, -2, -0.5, -4]),
        );
        let sum = |before, continuation| {
            scored(before, continuation)
                .read(&given)
                .ok()
                .unwrap()
                .value
        };
        assert_eq!(sum("Say:", " hello world"), (-2.5, 2));
        // " hello" straddles this end of the prompt.
        assert_eq!(sum("Say: ", "hello world"), (-2.5, 2));
        assert_eq!(sum("Say: hello", " world"), (-0.5, 1));
        assert_eq!(sum("Say: hello world", ""), (0.0, 0));
    }

    #[test]
    fn offsets_count_characters() {
        let given = answer("Naïve ü.", &[0, 2, 5, 7], json!([null, -1, -2, -4]));
        let sum = scored("Naïve", " ü").read(&given).ok().unwrap().value;
        assert_eq!(sum, (-2.0, 1));
    }

    #[test]
    fn servers_that_cannot_are_told_from_answers_that_lack_something() {
        let lack = |given: Value| scored("a", " b").read(&given).err().unwrap();
        let without = lack(json!({"choices": [{"text": "a b c", "logprobs": null}]}));
        assert!(matches!(without, Lack::Unsupported(_)));
        let silent = lack(answer(" c", &[0], json!([-1])));
        assert!(matches!(silent, Lack::Unsupported(_)));
        let empty = lack(json!({"choices": []}));
        assert!(matches!(empty, Lack::Passing(_)));
        let odd = lack(answer("a b", &[0], json!([-1, -1])));
        assert!(matches!(odd, Lack::Passing(_)));
        let first = scored("", "a").read(&answer("a", &[0], json!([null])));
        assert!(matches!(first, Err(Lack::Lasting(_))));
        assert!(says_unsupported("HTTP 500: logprobs is not supported"));
        assert!(!says_unsupported("HTTP 400: too long: buy an echo dot"));
    }
}
