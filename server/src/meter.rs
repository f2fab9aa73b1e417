//! What was spent on a server, and the budget.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use teda_core::{Error, Result};

/// What a run may spend. What an earlier run paid for and the cache answers is free.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Budget {
    /// Requests sent, including repeated ones.
    pub max_requests: Option<u64>,
    /// Tokens of prompts and answers, as counted by the server. The answers of requests that are in flight when it is
    /// reached still arrive and can exceed it.
    pub max_tokens: Option<u64>,
}

/// What was spent so far.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Requests sent, including repeated ones.
    pub requests: u64,
    /// How many of them repeated a request that had failed.
    pub retries: u64,
    /// Answers from the cache: no request was sent for them.
    pub cached: u64,
    /// What those answers cost when they were paid for; not part of `tokens`.
    pub cached_tokens: u64,
    /// Tokens of prompts and answers, as the server counted them, plus `estimated_tokens`.
    pub tokens: u64,
    /// How many of them this program estimated, at 4 bytes per token, because the server did not report them.
    pub estimated_tokens: u64,
    /// Failed requests by kind; most were repeated.
    pub failures: BTreeMap<String, u64>,
}

/// Counts, and stops at the budget.
pub struct Meter {
    budget: Budget,
    usage: Mutex<Usage>,
}

impl Meter {
    /// A meter with nothing spent yet.
    pub fn new(budget: Budget) -> Self {
        Self {
            budget,
            usage: Mutex::default(),
        }
    }

    /// A copy of the counts.
    pub fn usage(&self) -> Usage {
        self.lock().clone()
    }

    /// Counts a request that is about to be sent.
    ///
    /// # Errors
    /// Failed, if the budget does not allow it; it is then not counted.
    pub fn reserve(&self, retry: bool) -> Result<()> {
        let mut usage = self.lock();
        for (what, spent, most) in [
            ("requests", usage.requests, self.budget.max_requests),
            ("tokens", usage.tokens, self.budget.max_tokens),
        ] {
            if most.is_some_and(|most| spent >= most) {
                return Err(exhausted(what, &usage));
            }
        }
        usage.requests += 1;
        usage.retries += u64::from(retry);
        Ok(())
    }

    /// Counts an answer's tokens: as `counted` by the server, or else one per 4 of the `bytes` of prompt and answer.
    /// Returns them.
    pub fn answered(&self, counted: Option<u64>, bytes: usize) -> u64 {
        let tokens = counted.unwrap_or((bytes as u64).div_ceil(4));
        let mut usage = self.lock();
        usage.tokens += tokens;
        if counted.is_none() {
            usage.estimated_tokens += tokens;
        }
        tokens
    }

    /// Counts an answer from the cache that had cost `tokens`.
    pub fn cached(&self, tokens: u64) {
        let mut usage = self.lock();
        usage.cached += 1;
        usage.cached_tokens += tokens;
    }

    /// Counts a request that failed.
    pub fn failed(&self, kind: &str) {
        *self.lock().failures.entry(kind.to_owned()).or_default() += 1;
    }

    /// Nothing that panics runs under this lock, so a poisoned lock is still valid.
    fn lock(&self) -> MutexGuard<'_, Usage> {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn exhausted(what: &str, usage: &Usage) -> Error {
    let estimated = match usage.estimated_tokens {
        0 => String::new(),
        tokens => format!(", {tokens} of them estimated at 4 bytes a token"),
    };
    Error::failed(format!(
        "the budget of {what} is spent: {} requests, {} tokens{estimated}. Trials made so far are kept: resume the run with a higher budget (teda audit --resume RUN)",
        usage.requests, usage.tokens
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_of_requests_is_exact() {
        let meter = Meter::new(Budget {
            max_requests: Some(2),
            max_tokens: None,
        });
        assert!(meter.reserve(false).is_ok() && meter.reserve(true).is_ok());
        let error = meter.reserve(false).unwrap_err().to_string();
        assert!(
            error.contains("2 requests") && error.contains("--resume"),
            "{error}"
        );
        assert_eq!((meter.usage().requests, meter.usage().retries), (2, 1));
    }

    #[test]
    fn tokens_that_nobody_counted_are_estimated_and_said_to_be() {
        let meter = Meter::new(Budget {
            max_requests: None,
            max_tokens: Some(8),
        });
        meter.answered(Some(5), 1000);
        assert!(meter.reserve(false).is_ok());
        assert_eq!(meter.answered(None, 9), 3);
        let error = meter.reserve(false).unwrap_err().to_string();
        assert!(error.contains("8 tokens, 3 of them estimated"), "{error}");
    }
}
