//! An external mechanism: a command that reads texts and writes releases, one JSON object per line. If it knows how
//! likely its releases are, it can report that, too.
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
//! Scoring queries come only if an attack or an estimator needs likelihoods: one for every candidate of a trial with
//! its release. They have all the fields of other queries, so that a program that does not know them answers with a
//! text, which is refused. `log_likelihood` is a number, which may be above 0 if it is that of a density, or the
//! string `"-inf"` if the release is impossible, since JSON has no infinity. In an answer to another query it is
//! ignored.
//!
//! Lines end with a newline; blank lines are ignored. A query is ASCII (everything else is escaped in JSON). It is
//! sent with others before any is answered, so a process may read several and answer them together. An answer has at
//! most 10 MB, and must be flushed: nothing else is sent until all are answered.
//!
//! `seed` is 53 bits of a digest of the query's seed, which every JSON reader preserves exactly. If a release depends
//! on `text`, `epsilon` and `seed` alone, a run repeats bit for bit, whatever the batch, the threads and the number of
//! processes are. `id` tells queries of one process apart and has no other meaning.
//!
//! # Guarantee
//! The one that its user states, if any: teda cannot know it. An audit's bound assumes that each release is drawn
//! independently, so a process must carry nothing over from one query to the next. Its likelihoods are trusted: a
//! certificate is only as good as they are.
//!
//! # Source
//! No paper: this is for auditing a researcher's own mechanism without a line of Rust.
//!
//! # Deviations
//! A query that ends its process, or on which it stays silent, is retried in new processes, so most failures of a
//! mechanism that fails at random are not seen. A query's last failure is an outcome like any other (an end counts as
//! the mechanism's failure, silence as the transport's); for a scoring query, it means that the likelihood is not
//! known.
//!
//! # Errors
//! A line that is not an answer; an unknown id; a second answer to a query (detected when the process is next asked);
//! a command that has answered nothing yet and ends, or stays silent, as often as a query is tried; 32 queries given
//! up without an answer between them; an answer to a scoring query with neither a `log_likelihood` nor an error. After
//! any of these, every call fails.
//!
//! # Termination
//! When the mechanism is dropped, standard input is closed; a process that has not ended a second later is killed,
//! with everything that its shell started. Processes are not in the terminal's process group: an interrupt there
//! reaches only the audit, and if the audit ends at once, the processes see the end of standard input.

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
pub use protocol::number;
use question::Question;
use share::Share;

/// How a command is run.
#[derive(Debug, Clone)]
pub struct Options {
    /// The command line, as the platform's shell reads it.
    pub command: String,
    /// Most concurrent processes; they start when they are first needed.
    pub processes: usize,
    /// How long a process may leave queries unanswered; its start counts.
    pub timeout: Duration,
    /// How often a query that ended a process is retried on its own before it has no release.
    pub restarts: usize,
    /// The value of `epsilon` in every query; `None` for a mechanism without ε.
    pub epsilon: Option<f64>,
    /// The claim stated by its user.
    pub guarantee: Option<Guarantee>,
    /// Keeps track of its processes while they run.
    pub children: Children,
}

/// A command that rewrites, and reports how likely releases are if it can.
pub struct Exec {
    options: Options,
    pool: Pool,
}

impl Exec {
    /// Starts no process yet.
    ///
    /// # Errors
    /// Usage, for an invalid option.
    pub fn new(options: Options) -> Result<Self> {
        if options.command.trim().is_empty() || options.command.contains('\0') {
            return Err(Error::usage(format!(
                "'{}' is not a command line to run: give one, such as exec:\"python my_mechanism.py\"",
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

    /// One answer per question, in order.
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
        // The caller's own thread handles one of them.
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

    /// Whether the command knows likelihoods shows only when it is asked.
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
