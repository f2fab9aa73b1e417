//! Texts from `chat/completions` or `completions`, one request per candidate.
//!
//! One request per candidate because many servers ignore `n`, and because each candidate then has its own seed and its
//! own entry in the cache.

use serde::Serialize;
use serde_json::Value;
use teda_core::{Answer, Prompt, Query, Result, Sampling, Seed, TextGenerator};

use super::client::{Lack, Question, Read, Reply};
use super::spec::{Api, Length, Thinking};
use super::{Http, Request};

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    messages: Option<[Message<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'a str>,
    temperature: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chat_template_kwargs: Option<Switch>,
}

/// What vLLM and llama.cpp pass to a model's chat template.
#[derive(Serialize)]
struct Switch {
    enable_thinking: bool,
}

/// Tokens that a model may think in if it is allowed to.
const THOUGHTS: usize = 4096;
/// What begins the thinking before an answer, if the template does not, and what ends it.
const THOUGHT: (&str, &str) = ("<think>", "</think>");

impl TextGenerator for Http {
    /// A query fails if one of its candidates does.
    fn complete(
        &self,
        prompt: &Prompt,
        queries: &[Query<'_>],
        n: usize,
        sampling: Sampling,
    ) -> Result<Vec<Answer<Vec<String>>>> {
        sampling.check()?;
        let mut requests = Vec::with_capacity(queries.len() * n);
        for query in queries {
            let text = prompt.fill(query.text);
            for candidate in 0..n {
                let seed = query.seed.at(candidate as u64);
                requests.push(self.request(&text, &seed, sampling)?);
            }
        }
        let read = match self.spec.api {
            Api::Chat => chat_text,
            Api::Completions => completed_text,
        };
        let mut answers = self
            .answers(&requests, |_, answer| read(answer))?
            .into_iter();
        Ok(queries
            .iter()
            .map(|_| {
                let mut texts = Vec::with_capacity(n);
                let mut failure = None;
                for (candidate, answer) in answers.by_ref().take(n).enumerate() {
                    match answer {
                        Ok(text) => texts.push(text),
                        Err(e) if failure.is_none() => {
                            let place = format!("answer {} of {n}", candidate + 1);
                            failure = Some(e.map(|reason| format!("{place}: {reason}")));
                        }
                        Err(_) => {}
                    }
                }
                failure.map_or(Ok(texts), Err)
            })
            .collect())
    }
}

impl Http {
    fn request(&self, text: &str, seed: &Seed, sampling: Sampling) -> Result<Request> {
        let chat = self.spec.api == Api::Chat;
        let renamed = chat && self.spec.length == Length::MaxCompletionTokens;
        let thinking = self.spec.thinking;
        let max_new_tokens = match thinking {
            Thinking::On => sampling.max_new_tokens + THOUGHTS,
            Thinking::Auto | Thinking::Off => sampling.max_new_tokens,
        };
        let mut body = Body {
            model: &self.spec.model,
            messages: chat.then_some([Message {
                role: "user",
                content: text,
            }]),
            prompt: (!chat).then_some(text),
            temperature: sampling.temperature,
            max_tokens: (!renamed).then_some(max_new_tokens),
            max_completion_tokens: renamed.then_some(max_new_tokens),
            seed: self.spec.seed.then(|| wire_seed(seed)),
            chat_template_kwargs: (chat && thinking != Thinking::On).then_some(Switch {
                enable_thinking: false,
            }),
        };
        let path = if chat {
            "chat/completions"
        } else {
            "completions"
        };
        let mut question = Question::new(path, &body, text.len())?;
        if thinking == Thinking::Auto && body.chat_template_kwargs.take().is_some() {
            question = question.or_without_switch(&body)?;
        }
        Ok(Request::new(question, Some(seed)))
    }
}

/// The seed sent to a server: 1 to 2³¹ − 1, since some read 0 and −1 as "any".
fn wire_seed(seed: &Seed) -> u32 {
    seed.stream().below((1 << 31) - 1) as u32 + 1
}

pub fn chat_text(answer: &Value) -> Read<String> {
    let message = answer
        .pointer("/choices/0/message")
        .filter(|message| message.is_object())
        .ok_or_else(|| Lack::passing("no choices[0].message"))?;
    // For an empty answer servers send null or nothing.
    text(
        message.get("content").unwrap_or(&Value::Null),
        "choices[0].message.content",
    )
}

pub fn completed_text(answer: &Value) -> Read<String> {
    let content = answer
        .pointer("/choices/0/text")
        .ok_or_else(|| Lack::passing("no choices[0].text"))?;
    text(content, "choices[0].text")
}

fn text(content: &Value, place: &str) -> Read<String> {
    let value = match content {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        _ => return Err(Lack::passing(format!("no text in {place}"))),
    };
    Ok(Reply {
        text: value.len(),
        value: answer(value)?,
    })
}

/// What a model says after its thinking.
fn answer(said: String) -> std::result::Result<String, Lack> {
    if let Some((_, answer)) = said.rsplit_once(THOUGHT.1) {
        return Ok(answer.trim_start().to_owned());
    }
    match said.trim_start().starts_with(THOUGHT.0) {
        true => Err(Lack::Lasting(
            "no end of the model's thinking (thinking=on in the address gives it room)".to_owned(),
        )),
        false => Ok(said),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn seeds_on_the_wire_fit_in_31_bits_and_differ() {
        let seed = Seed::root(1);
        let seeds: std::collections::BTreeSet<u32> =
            (0..1000).map(|c| wire_seed(&seed.at(c))).collect();
        assert_eq!(seeds.len(), 1000);
        assert!(seeds.iter().all(|seed| (1..1 << 31).contains(seed)));
    }

    #[test]
    fn an_answer_is_the_first_choice() {
        let read = |answer: Value| chat_text(&answer).map(|reply| reply.value).map_err(|_| ());
        let message = |message: Value| json!({"choices": [{"message": message}]});
        assert_eq!(read(message(json!({"content": "a"}))), Ok("a".into()));
        assert_eq!(read(message(json!({"content": null}))), Ok(String::new()));
        assert_eq!(
            read(message(json!({"role": "assistant"}))),
            Ok(String::new())
        );
        assert!(read(message(json!({"content": 7}))).is_err());
        assert!(read(json!({"choices": []})).is_err());
        assert!(read(json!({"error": "busy"})).is_err());
        let said = |said: &str| read(message(json!({"content": said})));
        assert_eq!(said("<think>\nIt is 1.\n</think>\n\nb"), Ok("b".into()));
        assert_eq!(said("It is 1.\n</think>b"), Ok("b".into()));
        assert!(said("<think>\nIt is").is_err());
        assert_eq!(said("I think <b>"), Ok("I think <b>".into()));
        let read = |answer: Value| {
            completed_text(&answer)
                .map(|reply| reply.value)
                .map_err(|_| ())
        };
        assert_eq!(read(json!({"choices": [{"text": "b"}]})), Ok("b".into()));
        assert!(read(json!({"choices": [{}]})).is_err());
    }
}
