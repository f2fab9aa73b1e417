//! An external mechanism: a command that reads texts and writes releases, one JSON object a line. Where it
//! knows how likely its releases are, it says that, too.
//!
//! # Definition
//! The command line runs through the platform's shell in the current directory, in several processes at
//! once. Each reads queries on standard input and answers them on standard output, in any order:
//!
//! | line | fields |
//! |---|---|
//! | query | `id`: a whole number; `text`: the private text; `epsilon`: ε or null; `seed`: a whole number |
//! | answer | `id`: the query's; `text`: the release, or `error`: why there is none; others are ignored |
//! | scoring query | `id`, `text`, `epsilon`: as above; `release`: a text; `seed`: 0, nothing is drawn |
//! | answer | `id`: the query's; `log_likelihood`: ln P(release \| text), or `error`: why it is not known |
//!
//! Scoring queries come only where an attack or an estimator needs likelihoods: one for every candidate of a
//! trial with its release. They have all that other queries have, so that a program that does not know them
//! answers with a text, and is refused for that. `log_likelihood` is a number, which may be above 0 where it
//! is that of a density, or the string `"-inf"` where the release is impossible, for JSON has no infinity. In
//! an answer to another query it is ignored.
//!
//! Lines end with a newline; blank ones are ignored. A query is ASCII (JSON escapes carry all else). It is
//! sent with others before any is answered, so a process may read several and answer them together. An
//! answer has 10 MB at most, and must be flushed: nothing else is sent until all are answered.
//!
//! `seed` is 53 bits of a digest of the query's seed, which every reader of JSON keeps exactly. Where a
//! release depends on `text`, `epsilon` and `seed` alone, a run repeats bit for bit, whatever the batch,
//! the threads and the number of processes are. `id` tells queries of one process apart and means no more.
//!
//! # Guarantee
//! The one that its user states, if any: nothing here can know it. An audit's bound supposes that each
//! release is drawn by itself, so a process must carry nothing from one query to the next. Its likelihoods
//! are believed: a certificate is as good as they are.
//!
//! # Source
//! Not of a paper: how a researcher's own mechanism is audited without a line of Rust.
//!
//! # Deviations
//! A query that ends its process, or on which it stays silent, is tried again in new processes, so a
//! mechanism that fails at random is seen without most of its failures. Its last failure is an outcome like
//! any other (an end is the mechanism's, silence the transport's); of a scoring query, that the likelihood is
//! not known.
//!
//! # Errors
//! A line that is no answer; an unknown id; a second answer to a query (seen when the process is next
//! asked); a command that has answered nothing yet and ends, or stays silent, as often as a query is tried;
//! 32 queries given up without an answer between them; an answer to a scoring query with neither a
//! `log_likelihood` nor an error. Every call fails from then on.
//!
//! # Ends
//! When the mechanism is dropped, standard input is closed; a process that has not ended a second later is
//! killed, with all that its shell started. Processes are not of the terminal's process group: an interrupt
//! there reaches the audit alone, and if that ends at once, theirs is the end of standard input.

mod children;
mod pipes;
mod platform;
mod pool;
mod process;
mod protocol;
mod question;
mod share;
#[cfg(all(test, unix))]
mod tests;

use std::thread;
use std::time::Duration;

use teda_core::{Answer, Error, Guarantee, Likelihood, Mechanism, Query, Release, Result};

pub use children::Children;
use pool::Pool;
use question::Question;
use share::Share;

/// How a command is run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The command line, as the platform's shell reads it.
    pub command: String,
    /// Processes at once, at most; they start when they are first needed.
    pub processes: usize,
    /// How long a process may give no answer while it owes one; its start counts.
    pub timeout: Duration,
    /// How often a query that ended a process is tried again, by itself, before it has no release.
    pub restarts: usize,
    /// What `epsilon` says in every query; `None` for a mechanism without ε.
    pub epsilon: Option<f64>,
    /// The claim of its user.
    pub guarantee: Option<Guarantee>,
    /// Where its processes are known while they run.
    pub children: Children,
}

/// A command that rewrites, and says how likely releases are if it can.
pub struct Exec {
    options: Options,
    pool: Pool,
}

impl Exec {
    /// Starts nothing yet.
    ///
    /// # Errors
    /// Usage, for an option that cannot be met.
    pub fn new(options: Options) -> Result<Self> {
        if options.command.trim().is_empty() || options.command.contains('\0') {
            return Err(Error::usage(format!(
                "'{}' is no command line to run: give one, such as exec:\"python my_mechanism.py\"",
                options.command.escape_debug()
            )));
        }
        if options.processes == 0 {
            return Err(Error::usage(
                "0 processes answer no query: ask for 1 or more",
            ));
        }
        if options.timeout.is_zero() {
            return Err(Error::usage(
                "no process answers within 0 seconds: give it more time",
            ));
        }
        if let Some(epsilon) = options.epsilon
            && !(epsilon > 0.0 && epsilon.is_finite())
        {
            return Err(Error::usage(format!(
                "epsilon = {epsilon}: it must be a positive, finite number"
            )));
        }
        let pool = Pool::new(options.processes);
        Ok(Self { options, pool })
    }

    /// One answer a question, in order.
    fn ask<Q: Question>(&self, batch: &[Q]) -> Result<Vec<Answer<Q::Told>>> {
        if batch.is_empty() {
            return Ok(Vec::new());
        }
        let places = self.pool.take(batch.len())?;
        let size = batch.len().div_ceil(places.len());
        let mut shares: Vec<Share<'_, Q>> = places
            .into_iter()
            .zip(batch.chunks(size))
            .map(|(place, part)| Share::new(&self.options, &self.pool, place, part))
            .collect();
        // The caller's own thread takes one of them.
        let own = shares.pop();
        let parts: Vec<Result<Vec<Answer<Q::Told>>>> = thread::scope(|scope| {
            let others: Vec<_> = shares
                .into_iter()
                .map(|share| scope.spawn(move || share.run()))
                .collect();
            let own = own.map(Share::run);
            others
                .into_iter()
                .map(|other| {
                    other
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .chain(own)
                .collect()
        });
        let mut answers = Vec::with_capacity(batch.len());
        for part in parts {
            answers.extend(part?);
        }
        Ok(answers)
    }
}

impl Mechanism for Exec {
    fn guarantee(&self) -> Option<Guarantee> {
        self.options.guarantee
    }

    /// Whether the command knows shows only when it is asked.
    fn likelihood(&self) -> Option<&dyn Likelihood> {
        Some(self)
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        let release = |answer: Answer<String>| answer.map_or_else(Release::failed, Release::of);
        Ok(self.ask(batch)?.into_iter().map(release).collect())
    }
}

impl Likelihood for Exec {
    fn log_likelihood(&self, pairs: &[(&str, &str)]) -> Result<Vec<Answer<f64>>> {
        self.ask(pairs)
    }
}
