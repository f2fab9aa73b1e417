//! Black-box language models on a server that speaks OpenAI's HTTP dialect: OpenAI-compatible
//! services, Gemini's compatible endpoint, vLLM, llama.cpp and llama-cpp-python, Ollama.
//!
//! # Address
//! `http://127.0.0.1:8000/v1?model=NAME`, up to and including the API's base, with these options:
//!
//! | option | meaning | default |
//! |---|---|---|
//! | `model` | the model's name on the server | none: it must be given |
//! | `api` | `chat`: the prompt is one user message; `completions`: it is continued as it is | `chat` |
//! | `concurrency` | requests in flight at once | 8 |
//! | `timeout` | seconds for a request | 60 |
//! | `retries` | tries after the first | 6 |
//! | `rpm` | requests a minute | no limit |
//! | `key_env` | environment variable that holds the key; empty: send none | `TEDA_API_KEY`, else `OPENAI_API_KEY`, else none |
//! | `seed` | `no`: send no `seed`, for servers that refuse it | `yes` |
//! | `length` | `max_completion_tokens`, for servers that refuse `max_tokens` | `max_tokens` |
//!
//! The key is sent in the `Authorization` header and shown nowhere.
//!
//! # Randomness
//! A candidate's request carries a `seed` drawn from the query's seed and the candidate's number. A
//! server may ignore it, or honour it and still answer differently, because what its prompt cache and
//! its batches hold moves the last bits of its logits (llama-cpp-python does so): a run on a server is
//! not reproducible bit by bit, unless all its answers are cached.
//! The mechanism that is audited includes the server's own coins, as it does in use.
//!
//! # What is sent
//! The filled prompt, nothing else of a trial. The model's operator sees it.

mod advice;
mod cache;
mod client;
mod crew;
mod embeddings;
mod gate;
mod generator;
mod key;
mod likelihood;
mod meter;
mod spec;
mod transport;
mod wait;

use std::fmt;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use teda_core::{Answer, Encoder, Error, Result, Seed};

use cache::{Cache, Key};
use client::{Client, Question, Read};
pub use meter::{Budget, Usage};
use spec::Spec;
pub use spec::is_url;

/// How a server is used, apart from its address.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// What may be spent.
    pub budget: Budget,
    /// Directory where answers are kept; `None` keeps none.
    pub cache: Option<PathBuf>,
}

/// A model on a server. Callers on any number of threads share its limits.
pub struct Http {
    spec: Spec,
    client: Client,
    cache: Option<Cache>,
    /// Length of a sentence vector, once one was seen.
    dimension: OnceLock<usize>,
}

impl Http {
    /// Reads the address and prepares; asks nothing of the server yet.
    ///
    /// # Errors
    /// [`Error::Usage`] where the address or an option of it is wrong, or the key is not there;
    /// [`Error::Failed`] where the cache's directory cannot be made.
    pub fn open(spec: &str, options: Options) -> Result<Self> {
        let spec = Spec::parse(spec, |name| std::env::var(name).ok())?;
        let cache = options
            .cache
            .map(|directory| Cache::new(&directory, spec.base.as_str(), &spec.model))
            .transpose()?;
        Ok(Self {
            client: Client::new(&spec, meter::Meter::new(options.budget))?,
            spec,
            cache,
            dimension: OnceLock::new(),
        })
    }

    /// Like [`Http::open`] for an [`Encoder`]: embeds one word to learn the vectors' length.
    ///
    /// # Errors
    /// As [`Http::open`], and [`Error::Failed`] where the server gives no embedding.
    pub fn open_encoder(spec: &str, options: Options) -> Result<Self> {
        let http = Self::open(spec, options)?;
        http.encode(&["dimension"])?;
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

    /// The same with another first wait before a request is repeated; for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn with_backoff(mut self, first: Duration) -> Self {
        self.client.backoff = first;
        self
    }

    /// The answers to `requests`, in order: from the cache, else from the server, and then kept.
    /// `read` is told the number of the request that an answer is to.
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
            answers.push(self.kept(request)?.map(Ok));
        }
        let missing: Vec<usize> = (0..requests.len())
            .filter(|index| answers[*index].is_none())
            .collect();
        let fresh = crew::run(self.spec.concurrency, missing.len(), |job| {
            let index = missing[job];
            let request = &requests[index];
            let answer = self
                .client
                .ask(&request.question, |answer| read(index, answer))?;
            if let (Ok(paid), Some(cache)) = (&answer, &self.cache) {
                cache.put(&request.key, &as_json(&paid.value)?, paid.tokens)?;
            }
            Ok(answer.map(|paid| paid.value))
        })?;
        for (index, answer) in missing.into_iter().zip(fresh) {
            answers[index] = Some(answer);
        }
        Ok(answers.into_iter().flatten().collect())
    }

    /// The answer that the cache has. One that cannot be read as `T` is none.
    fn kept<T: DeserializeOwned>(&self, request: &Request) -> Result<Option<T>> {
        let Some(cache) = &self.cache else {
            return Ok(None);
        };
        let Some(kept) = cache.get(&request.key)? else {
            return Ok(None);
        };
        let value = serde_json::from_value(kept.answer).ok();
        if value.is_some() {
            self.client.meter.cached(kept.tokens);
        }
        Ok(value)
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http")
            .field("name", &self.name())
            .finish_non_exhaustive()
    }
}

/// A question and what its answer is kept under.
struct Request {
    question: Question,
    key: Key,
}

impl Request {
    /// `body` posted to `path`; `text` is the bytes of text in it.
    fn new(
        path: &'static str,
        body: &impl Serialize,
        text: usize,
        seed: Option<&Seed>,
    ) -> Result<Self> {
        let body = serde_json::to_vec(body)
            .map_err(|e| Error::failed(format!("a request to {path} cannot be written: {e}")))?;
        Ok(Self {
            key: Key::of(path, &body, seed),
            question: Question { path, body, text },
        })
    }
}

fn as_json(value: &impl Serialize) -> Result<Value> {
    serde_json::to_value(value)
        .map_err(|e| Error::failed(format!("an answer cannot be written as JSON: {e}")))
}
