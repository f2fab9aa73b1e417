//! Black-box language models on a server that speaks OpenAI's HTTP protocol: OpenAI-compatible services, Gemini's
//! compatible endpoint, vLLM, llama.cpp and llama-cpp-python, Ollama.
//!
//! # Address
//! `http://127.0.0.1:8000/v1?model=NAME`, up to and including the API's base, with these options:
//!
//! | option | meaning | default |
//! |---|---|---|
//! | `model` | the model's name on the server | none: it must be given |
//! | `api` | `chat`: the prompt is one user message; `completions`: it is continued as it is | `chat` |
//! | `concurrency` | requests in flight at once | 8 |
//! | `timeout` | seconds for a request, the whole answer included | 60 |
//! | `retries` | tries after the first | 6 |
//! | `rpm` | requests a minute | no limit |
//! | `key_env` | environment variable that holds the key; empty: send none | `TEDA_API_KEY`, else `OPENAI_API_KEY`, else none |
//! | `seed` | `no`: send no `seed`, for servers that refuse it | `yes` |
//! | `length` | `max_completion_tokens`, for servers that refuse `max_tokens` | `max_tokens` |
//! | `thinking` | `off`: chat models are asked not to think first; `auto`: the same where the server knows that switch; `on`: they may, in 4096 tokens more | `auto` |
//!
//! The key is sent in the `Authorization` header and shown nowhere. If a server puts it into an answer, `[key]` is
//! stored and shown instead.
//!
//! # Randomness
//! A candidate's request carries a `seed` derived from the query's seed and the candidate's number. A server may
//! ignore it, or honour it and still answer differently, because the contents of its prompt cache and of its batches
//! change the last bits of its logits (llama-cpp-python does this): a run on a server is not reproducible bit by bit,
//! unless all its answers are cached. The mechanism that is audited includes the server's own coins, as it does in
//! use.
//!
//! # Thinking
//! What a model writes before `</think>` is not part of its answer, and an answer that ends within it counts as
//! missing. The switch is `chat_template_kwargs: {"enable_thinking": false}`, which vLLM and llama.cpp know; a server
//! that refuses it by name is asked without it from then on.
//!
//! # Wrong servers
//! Errors that would make an attack look weaker than it is are tested for before use: whether texts embedded together
//! get the same vectors as alone, and whether echoed log-probabilities are those that the server samples by.
//! llama-cpp-python 0.3.36 fails both tests.
//!
//! # What is sent
//! The filled prompt, and nothing else about a trial. The model's operator sees it.

mod advice;
mod backoff;
mod cache;
mod client;
mod embeddings;
mod generator;
mod key;
mod likelihood;
mod logprob_check;
mod meter;
mod rate_limit;
mod spec;
mod transport;
mod workers;

use std::fmt;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use teda_core::{Answer, Error, Result, Seed};

use cache::{Cache, Key};
use client::{Client, Paid, Question, Read};
pub use meter::{Budget, Usage};
use spec::Spec;
pub use spec::is_url;

/// Default for the most bytes in an answer: 64 MiB, a thousand times a long text.
pub const LARGEST_ANSWER: u64 = 64 << 20;

/// How a server is used, apart from its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What may be spent.
    pub budget: Budget,
    /// Directory where answers are stored; `None` stores none.
    pub cache: Option<PathBuf>,
    /// Most bytes in an answer (`--max-answer-bytes`).
    pub largest_answer: u64,
}

impl Default for Options {
    /// No spending limit, no cache, [`LARGEST_ANSWER`].
    fn default() -> Self {
        Self {
            budget: Budget::default(),
            cache: None,
            largest_answer: LARGEST_ANSWER,
        }
    }
}

/// A model on a server. Callers on any number of threads share its limits.
pub struct Http {
    spec: Spec,
    client: Client,
    cache: Option<Cache>,
    /// Dimension of a sentence vector, once one was seen.
    dimension: OnceLock<usize>,
    /// Texts embedded per request, once that was determined.
    batch: OnceLock<usize>,
    /// Set once the server's echoed log-probabilities were found to be correct.
    logprobs_checked: OnceLock<()>,
}

impl Http {
    /// Parses the address and prepares; sends nothing to the server yet.
    ///
    /// # Errors
    /// [`Error::Usage`] if the address or one of its options is invalid, or the key is missing; [`Error::Failed`] if
    /// the cache's directory cannot be created.
    pub fn open(spec: &str, options: Options) -> Result<Self> {
        let spec = Spec::parse(spec, |name| std::env::var(name).ok())?;
        let cache = options
            .cache
            .map(|directory| Cache::new(&directory, spec.base.as_str(), &spec.model))
            .transpose()?;
        Ok(Self {
            client: Client::new(
                &spec,
                meter::Meter::new(options.budget),
                options.largest_answer,
            )?,
            spec,
            cache,
            dimension: OnceLock::new(),
            batch: OnceLock::new(),
            logprobs_checked: OnceLock::new(),
        })
    }

    /// Like [`Http::open`], for an [`Encoder`](teda_core::Encoder): embeds two texts, alone and together, to find out
    /// the vectors' dimension and whether texts may share a request.
    ///
    /// # Errors
    /// Same as [`Http::open`], and [`Error::Failed`] if the server gives no embedding.
    pub fn open_encoder(spec: &str, options: Options) -> Result<Self> {
        let http = Self::open(spec, options)?;
        http.probe()?;
        Ok(http)
    }

    /// Address and model as a manifest records them: nothing about keys, limits or time-outs.
    #[must_use]
    pub fn name(&self) -> String {
        self.spec.name()
    }

    /// What was spent so far.
    #[must_use]
    pub fn usage(&self) -> Usage {
        self.client.meter.usage()
    }

    /// The same model with a different first wait before a request is repeated; for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_backoff(mut self, first: Duration) -> Self {
        self.client.backoff = first;
        self
    }

    /// The answers to `requests`, in order: from the cache, or else from the server and then stored. `read` receives
    /// the number of the request that an answer belongs to.
    fn answers<T>(
        &self,
        requests: &[Request],
        read: impl Fn(usize, &Value) -> Read<T> + Sync,
    ) -> Result<Vec<Answer<T>>>
    where
        T: Serialize + DeserializeOwned + Send,
    {
        let mut answers: Vec<Option<Answer<T>>> = Vec::with_capacity(requests.len());
        for request in requests {
            answers.push(self.kept(&request.key)?.map(Ok));
        }
        let missing: Vec<usize> = (0..requests.len())
            .filter(|index| answers[*index].is_none())
            .collect();
        let questions: Vec<&Question> = missing
            .iter()
            .map(|index| &requests[*index].question)
            .collect();
        let fresh = self.ask_all(
            &questions,
            |job, answer| read(missing[job], answer),
            |job, paid| self.keep(&requests[missing[job]].key, &paid.value, paid.tokens),
        )?;
        for (index, answer) in missing.into_iter().zip(fresh) {
            answers[index] = Some(answer);
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// The server's answers to `questions`, in order. Each is passed to `keep` as soon as it arrives, so that a kill
    /// loses no answer that was paid for.
    fn ask_all<T: Send>(
        &self,
        questions: &[&Question],
        read: impl Fn(usize, &Value) -> Read<T> + Sync,
        keep: impl Fn(usize, &Paid<T>) -> Result<()> + Sync,
    ) -> Result<Vec<Answer<T>>> {
        workers::run(self.spec.concurrency, questions.len(), |job| {
            let answer = self
                .client
                .ask(questions[job], |answer| read(job, answer))?;
            if let Ok(paid) = &answer {
                keep(job, paid)?;
            }
            Ok(answer.map(|paid| paid.value))
        })
    }

    /// The answer in the cache. An answer that cannot be read as `T` counts as missing.
    fn kept<T: DeserializeOwned>(&self, key: &Key) -> Result<Option<T>> {
        let Some(cache) = &self.cache else {
            return Ok(None);
        };
        let Some(kept) = cache.get(key)? else {
            return Ok(None);
        };
        let value = serde_json::from_value(kept.answer).ok();
        if value.is_some() {
            self.client.meter.cached(kept.tokens);
        }
        Ok(value)
    }

    /// Stores `value` in the cache, if there is one.
    fn keep(&self, key: &Key, value: &impl Serialize, tokens: u64) -> Result<()> {
        let Some(cache) = &self.cache else {
            return Ok(());
        };
        let value = serde_json::to_value(value)
            .map_err(|e| Error::failed(format!("an answer cannot be written as JSON: {e}")))?;
        cache.put(key, &value, tokens)
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

/// Reads `body` as every kind of answer and as every kind of refusal. For tests that use arbitrary bytes: the worst
/// that any answer of a server may cause is that it is refused.
#[doc(hidden)]
pub fn read_as_any_answer(body: &[u8]) {
    transport::server_message(body);
    let Ok(answer) = serde_json::from_slice::<Value>(body) else {
        return;
    };
    client::tokens(&answer);
    drop(generator::chat_text(&answer));
    drop(generator::completed_text(&answer));
    drop(embeddings::read(&answer, 2));
    drop(likelihood::Scored::new("Say a b".to_owned(), " c").read(&answer));
    drop(logprob_check::next(&answer));
}

/// A question and the key under which its answer is stored.
struct Request {
    question: Question,
    key: Key,
}

impl Request {
    /// `question` for the coins of `seed`, if any are involved.
    fn new(question: Question, seed: Option<&Seed>) -> Self {
        Self {
            key: Key::of(question.path, &question.body, seed),
            question,
        }
    }
}
