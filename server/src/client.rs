//! Sends requests until they are answered: what is repeated, what fails one query, what ends the run.
//!
//! | what happened | consequence |
//! |---|---|
//! | no connection, time-out, lost connection, 408, 409, 425, 429, 5xx, invalid JSON | repeated; the query fails after the last try, by the transport |
//! | no answer in what came | repeated; the query fails after the last try, by the model |
//! | 400, 422 that name the switch of thinking | asked again without it, and so from then on (`thinking=auto`) |
//! | 400, 413, 422 and other 4xx | the query fails, by the model |
//! | an answer of more bytes than are read | the query fails, by the model |
//! | 401 to 405, 410, a redirection, an empty account | every call fails from now on |
//! | no connection at the very first request | every call fails from now on |
//! | no connection at any try of a request, while no other got through either | every call fails from now on |
//! | [`FAILED_IN_A_ROW`] requests failed and none succeeded between them | every call fails from now on |
//! | the budget is spent | every call fails from now on |
//!
//! A dead or misconfigured server thus never turns into thousands of failed trials.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use teda_core::{Answer, Cause, Error, Failure, Result};

use super::advice;
use super::backoff;
use super::meter::Meter;
use super::rate_limit::RateLimit;
use super::spec::Spec;
use super::transport::{Fault, Transport, Tried};

/// Consecutive failed requests after which the server counts as broken.
const FAILED_IN_A_ROW: u32 = 32;
/// Tries without a connection, over all callers, after which the server counts as gone; at least this many.
const UNREACHABLE_IN_A_ROW: u32 = 4;
/// The first wait before a request is repeated.
const BACKOFF: Duration = Duration::from_millis(500);

/// A request to the server.
pub struct Question {
    /// Endpoint below the base.
    pub path: &'static str,
    /// The request, as JSON.
    pub body: Vec<u8>,
    /// The same body without the switch that turns thinking off, for a server that does not know it.
    pub without_switch: Option<Vec<u8>>,
    /// Bytes of text in it, to estimate its tokens.
    pub text: usize,
}

impl Question {
    /// `body` posted to `path`; `text` is the number of bytes of text in it.
    ///
    /// # Errors
    /// Failed, if the body cannot be written as JSON.
    pub fn new(path: &'static str, body: &impl Serialize, text: usize) -> Result<Self> {
        Ok(Self {
            path,
            body: json(path, body)?,
            without_switch: None,
            text,
        })
    }

    /// The same question, with `body` as the form to use if the server does not know the switch.
    ///
    /// # Errors
    /// Same as [`Self::new`].
    pub fn or_without_switch(mut self, body: &impl Serialize) -> Result<Self> {
        self.without_switch = Some(json(self.path, body)?);
        Ok(self)
    }
}

fn json(path: &str, body: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(body)
        .map_err(|e| Error::failed(format!("a request to {path} cannot be written: {e}")))
}

/// What was read from an answer.
pub struct Reply<T> {
    /// The content asked for.
    pub value: T,
    /// Bytes of text in the answer, to estimate its tokens.
    pub text: usize,
}

/// An answer and its cost.
pub struct Paid<T> {
    /// The content asked for.
    pub value: T,
    /// What it cost.
    pub tokens: u64,
}

/// The result of reading an answer.
pub type Read<T> = std::result::Result<Reply<T>, Lack>;

/// What an answer lacks, as in "the answer has …".
pub enum Lack {
    /// Another try may have it.
    Passing(String),
    /// Another try would lack it too, but another request may not.
    Lasting(String),
    /// This server never provides it.
    Unsupported(String),
}

impl Lack {
    /// Something that another try may have.
    pub fn passing(message: impl Into<String>) -> Self {
        Self::Passing(message.into())
    }
}

/// The requests to one server.
pub struct Client {
    transport: Transport,
    rate_limit: RateLimit,
    pub(super) meter: Meter,
    tries: u32,
    pub(super) backoff: Duration,
    /// Whether any response ever came back.
    reached: AtomicBool,
    unreachable: AtomicU32,
    failed: AtomicU32,
    /// Whether the server refused the switch that turns thinking off.
    switch_refused: AtomicBool,
}

impl Client {
    /// A client for the server that `spec` names, which reads answers of at most `largest` bytes; sends nothing.
    ///
    /// # Errors
    /// Any error of [`Transport::new`].
    pub fn new(spec: &Spec, meter: Meter, largest: u64) -> Result<Self> {
        Ok(Self {
            transport: Transport::new(spec, largest)?,
            rate_limit: RateLimit::new(spec.concurrency, spec.rpm),
            meter,
            tries: spec.retries + 1,
            backoff: BACKOFF,
            reached: AtomicBool::new(false),
            unreachable: AtomicU32::new(0),
            failed: AtomicU32::new(0),
            switch_refused: AtomicBool::new(false),
        })
    }

    /// Asks until there is an answer or no hope of one.
    ///
    /// # Errors
    /// If no other request can be answered either (see the table above).
    pub fn ask<T>(
        &self,
        question: &Question,
        read: impl Fn(&Value) -> Read<T>,
    ) -> Result<Answer<Paid<T>>> {
        let (mut tried, mut repeated) = (0, false);
        loop {
            let plain = question
                .without_switch
                .as_ref()
                .filter(|_| self.switch_refused.load(Ordering::Relaxed));
            let body = plain.unwrap_or(&question.body);
            let fault = match self.attempt(question, body, repeated, &read)? {
                Ok(value) => {
                    self.failed.store(0, Ordering::Relaxed);
                    return Ok(Ok(value));
                }
                Err(fault) => fault,
            };
            repeated = true;
            if let Fault::Refused { message, .. } = &fault
                && plain.is_none()
                && question.without_switch.is_some()
                && advice::names_thinking(message)
            {
                self.switch_refused.store(true, Ordering::Relaxed);
                continue;
            }
            tried += 1;
            let (Fault::Passing { kind, .. }
            | Fault::Refused { kind, .. }
            | Fault::Unsupported { kind, .. }
            | Fault::Hopeless { kind, .. }) = &fault;
            self.meter.failed(kind);
            match fault {
                Fault::Hopeless { message, .. } => return Err(self.hopeless(&message)),
                Fault::Unsupported { message, .. } => {
                    let base = self.transport.base();
                    return Err(Error::failed(format!("{base}: {message}")));
                }
                Fault::Refused { message, .. } => {
                    if let Some(advice) = advice::on(&message) {
                        return Err(self.stop(format!("{message}. For this server, {advice}")));
                    }
                    return self.give_up(message.into());
                }
                Fault::Passing {
                    message,
                    cause,
                    unreachable,
                    after,
                    ..
                } => {
                    let in_a_row = self.without_connection(unreachable, &message)?;
                    if tried == self.tries {
                        if in_a_row >= self.tries.max(UNREACHABLE_IN_A_ROW) {
                            return Err(self.gone(in_a_row, &message));
                        }
                        let reason = format!("{message} (try {tried} of {tried})");
                        return self.give_up(Failure { cause, reason });
                    }
                    self.rate_limit
                        .sleep(backoff::before(tried - 1, self.backoff, after))?;
                }
            }
        }
    }

    /// Sends one request.
    fn attempt<T>(
        &self,
        question: &Question,
        body: &[u8],
        retry: bool,
        read: &impl Fn(&Value) -> Read<T>,
    ) -> Result<Tried<Paid<T>>> {
        let permit = self.rate_limit.enter()?;
        self.meter
            .reserve(retry)
            .map_err(|e| self.rate_limit.stop(e.context(self.transport.base())))?;
        let answer = self.transport.post(question.path, body);
        drop(permit);
        if !matches!(
            answer,
            Err(Fault::Passing {
                unreachable: true,
                ..
            })
        ) {
            self.reached.store(true, Ordering::Relaxed);
            self.unreachable.store(0, Ordering::Relaxed);
        }
        Ok(answer.and_then(|answer| match read(&answer) {
            Ok(reply) => {
                let bytes = question.text + reply.text;
                let tokens = self.meter.answered(tokens(&answer), bytes);
                let value = reply.value;
                Ok(Paid { value, tokens })
            }
            Err(lack) => Err(self.lacking(lack, &answer)),
        }))
    }

    fn lacking(&self, lack: Lack, answer: &Value) -> Fault {
        let kind = "no answer".to_owned();
        let message = |lack: &str, detail: &str| {
            let message = format!("the server's answer has {lack}{detail}");
            self.transport.presentable(&message)
        };
        match lack {
            Lack::Passing(lack) => Fault::Passing {
                kind,
                message: message(&lack, &format!(": {answer}")),
                // The response came through; what it lacks (if an answer was filtered, say) is the model's failure.
                cause: Cause::Mechanism,
                unreachable: false,
                after: None,
            },
            Lack::Lasting(lack) => Fault::Refused {
                kind,
                message: message(&lack, ""),
            },
            Lack::Unsupported(lack) => Fault::Unsupported {
                kind,
                message: message(&lack, ""),
            },
        }
    }

    /// Consecutive tries, over all callers, that found no connection.
    fn without_connection(&self, unreachable: bool, message: &str) -> Result<u32> {
        if !unreachable {
            return Ok(0);
        }
        if !self.reached.load(Ordering::Relaxed) {
            return Err(self.stop(format!(
                "the server cannot be reached ({message}). Start it, or check host and port of the address"
            )));
        }
        Ok(self.unreachable.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn gone(&self, in_a_row: u32, message: &str) -> Error {
        self.stop(format!(
            "the server is gone: {in_a_row} tries in a row found no connection ({message}). Start it again and resume the run (teda audit --resume RUN)"
        ))
    }

    /// Fails one request, unless so many have failed that this one is not to blame.
    fn give_up<T>(&self, failure: Failure) -> Result<Answer<T>> {
        let in_a_row = self.failed.fetch_add(1, Ordering::Relaxed) + 1;
        if in_a_row >= FAILED_IN_A_ROW {
            return Err(self.stop(format!(
                "{in_a_row} requests in a row failed, the last one thus: {failure}. Look at the server and the address, then resume the run (teda audit --resume RUN)"
            )));
        }
        Ok(Err(failure))
    }

    fn hopeless(&self, message: &str) -> Error {
        let check = if message.starts_with("HTTP 401") || message.starts_with("HTTP 403") {
            "Check the key: it is read from the environment variable that key_env=NAME names, else TEDA_API_KEY, else OPENAI_API_KEY"
        } else if message.starts_with("HTTP 404") {
            "Check the base path (usually /v1), api=chat or api=completions, and the model's name"
        } else if message.starts_with("HTTP 3") {
            "Redirections are not followed, because texts go to the host that was named alone: give the final address"
        } else {
            "Check the address and the account"
        };
        self.stop(format!("the server answers no request: {message}. {check}"))
    }

    /// Makes every further call fail.
    fn stop(&self, message: String) -> Error {
        let base = self.transport.base();
        self.rate_limit
            .stop(Error::failed(format!("{base}: {message}")))
    }
}

/// The tokens of prompt and answer, as counted by the server.
pub fn tokens(answer: &Value) -> Option<u64> {
    let count = |field: &str| answer.pointer(field).and_then(Value::as_u64);
    count("/usage/total_tokens").or_else(|| {
        let prompt = count("/usage/prompt_tokens")?;
        Some(prompt + count("/usage/completion_tokens").unwrap_or(0))
    })
}
