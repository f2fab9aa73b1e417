//! Judges whose every answer is set by a test.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use teda_core::{
    Answer, LogLikelihood, Observation, Prompt, Query, Result, Sampling, Scorer, Seed,
    TextGenerator,
};

type Scores = dyn Fn(&str, &str) -> Answer<LogLikelihood> + Send + Sync;
type Says = dyn Fn(&str) -> Answer<String> + Send + Sync;

/// Scores continuations of filled prompts, or answers them.
pub(super) struct Toy {
    scores: Box<Scores>,
    says: Box<Says>,
    calls: AtomicUsize,
}

impl Toy {
    /// A judge whose probabilities are visible.
    pub(super) fn new(
        scores: impl Fn(&str, &str) -> Answer<LogLikelihood> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            scores: Box::new(scores),
            says: Box::new(|_| Err("it does not speak".into())),
            calls: AtomicUsize::new(0),
        })
    }

    /// A judge that exposes only its text.
    pub(super) fn speaking(
        says: impl Fn(&str) -> Answer<String> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            scores: Box::new(|_, _| Err("it does not score".into())),
            says: Box::new(says),
            calls: AtomicUsize::new(0),
        })
    }

    /// How often it was called.
    pub(super) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

impl Scorer for Toy {
    fn log_likelihood(
        &self,
        prompt: &Prompt,
        pairs: &[(&str, &str)],
    ) -> Result<Vec<Answer<LogLikelihood>>> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let score =
            |(text, continuation): &(&str, &str)| (self.scores)(&prompt.fill(text), continuation);
        Ok(pairs.iter().map(score).collect())
    }
}

impl TextGenerator for Toy {
    fn complete(
        &self,
        prompt: &Prompt,
        queries: &[Query<'_>],
        n: usize,
        sampling: Sampling,
    ) -> Result<Vec<Answer<Vec<String>>>> {
        assert!(n == 1 && sampling.temperature > 0.0);
        let answer =
            |query: &Query<'_>| (self.says)(&prompt.fill(query.text)).map(|text| vec![text]);
        Ok(queries.iter().map(answer).collect())
    }
}

/// Texts in the form that attacks use.
pub(super) fn texts(texts: &[&str]) -> Arc<[String]> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

/// What an adversary sees of a trial.
pub(super) fn observe<'a>(
    release: &'a str,
    candidates: &'a [usize],
    trial: u64,
) -> Observation<'a> {
    Observation {
        candidates,
        release,
        log_likelihoods: &[],
        seed: Seed::root(9).at(trial),
    }
}
