//! One process's share of a batch: asked until every query has its answer.
//!
//! A process that ends or goes silent may owe many answers, and a single text may be to blame. It is found by asking
//! for the rest in ever smaller groups, and a query is given up only after new processes, asked nothing else, have
//! failed on it as often as queries are tried. So whether a query fails depends on that query alone, not on the rest
//! of its batch.

use teda_core::{Answer, Error, Failure, Result};

use super::pool::{Place, Pool};
use super::process::{End, Fault, Process};
use super::question::Question;
use super::{Options, protocol};

/// Consecutive queries given up after which the command counts as broken.
const FAILED_IN_A_ROW: usize = 32;

/// A share of a batch in progress.
pub struct Share<'a, Q: Question> {
    options: &'a Options,
    pool: &'a Pool,
    place: Place<'a>,
    batch: &'a [Q],
    answers: Vec<Option<Answer<Q::Told>>>,
    /// How often each query on its own ended a new process.
    tries: Vec<usize>,
    /// What is still to be asked, last group first: indices of queries that go to a process together.
    groups: Vec<Vec<usize>>,
}

impl<'a, Q: Question> Share<'a, Q> {
    /// A share consisting of `batch`, to be asked in `place`.
    pub fn new(options: &'a Options, pool: &'a Pool, place: Place<'a>, batch: &'a [Q]) -> Self {
        Self {
            options,
            pool,
            place,
            batch,
            answers: vec![None; batch.len()],
            tries: vec![0; batch.len()],
            groups: vec![(0..batch.len()).collect()],
        }
    }

    /// One answer per query, in order; for a query that was given up, the reason.
    ///
    /// # Errors
    /// If the process breaks the protocol, or none answers anything; every further call fails.
    pub fn run(mut self) -> Result<Vec<Answer<Q::Told>>> {
        while let Some(group) = self.groups.pop() {
            self.pool.check()?;
            let mut process = self.process()?;
            let proven = process.has_answered();
            match self.exchange(&mut process, &group) {
                Ok(()) => self.place.process = Some(process),
                Err(fault) => self.lost(process, fault, group, proven)?,
            }
        }
        self.pool.check()?;
        Ok(self.answers.into_iter().flatten().collect())
    }

    /// The process running here, or a new one.
    fn process(&mut self) -> Result<Process> {
        if let Some(process) = self.place.process.take() {
            return Ok(process);
        }
        Process::start(&self.options.command, &self.options.children).map_err(|e| {
            let command = &self.options.command;
            let message = format!("'{command}': the shell to run it with cannot be started: {e}");
            self.pool.stop(Error::failed(message))
        })
    }

    /// Asks for `group` and takes the answers as they come, unless everything is stopped meanwhile.
    fn exchange(
        &mut self,
        process: &mut Process,
        group: &[usize],
    ) -> std::result::Result<(), Fault> {
        let questions = group.iter().map(|number| self.batch[*number]);
        process.send(questions, self.options.epsilon);
        while let Some((place, answer)) = process.receive::<Q>(self.options.timeout)? {
            self.answers[group[place]] = Some(answer);
            self.pool.answered();
            if self.pool.check().is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Handles the loss of the process that had `group`; `proven` if it had answered before.
    fn lost(
        &mut self,
        process: Process,
        fault: Fault,
        group: Vec<usize>,
        proven: bool,
    ) -> Result<()> {
        let broken = matches!(fault, Fault::Broken(_));
        let fruitless = !process.has_answered();
        let end = process.end(fault);
        if broken {
            let what = end.what.map(|what| format!("the process {what}"));
            return Err(self.stop(what, &end.stderr));
        }
        if fruitless {
            self.prove(&end)?;
        }
        let asked = group.len();
        let mut owed = group;
        owed.retain(|number| self.answers[*number].is_none());
        if proven && owed.len() == asked {
            // It may have ended before it was asked: some programs answer once and exit.
            self.groups.push(owed);
        } else if asked == 1 {
            self.blame(owed[0], &end)?;
        } else {
            self.groups.extend(parts(&owed));
        }
        Ok(())
    }

    /// Records that a process answered nothing: a command that never answers cannot go on like that.
    ///
    /// # Errors
    /// If as many processes as a query has tries answered nothing, and no process ever answered.
    fn prove(&self, end: &End) -> Result<()> {
        let Some(count) = self.pool.fruitless() else {
            return Ok(());
        };
        if count <= self.options.restarts {
            return Ok(());
        }
        let processes = if count == 1 {
            "1 process"
        } else {
            &format!("{count} processes in a row")
        };
        let what = format!("{processes} answered nothing: the last one {}", end.what);
        Err(self.stop(Error::failed(what), &end.stderr))
    }

    /// Records that a new process failed on query `number` alone: it gets another try, or no answer.
    ///
    /// # Errors
    /// If too many queries in a row have no answer: then their texts are not the cause.
    fn blame(&mut self, number: usize, end: &End) -> Result<()> {
        self.tries[number] += 1;
        let (tried, tries) = (self.tries[number], self.options.restarts + 1);
        if tried < tries {
            self.groups.push(vec![number]);
            return Ok(());
        }
        let failed = self.pool.failed();
        if failed >= FAILED_IN_A_ROW {
            let what = format!(
                "{failed} texts in a row have no answer: the last process {}",
                end.what
            );
            return Err(self.stop(Error::failed(what), &end.stderr));
        }
        // As in a traceback, the last line says what happened.
        let last = end.stderr.lines().last().map_or(String::new(), |line| {
            format!(": {}", protocol::shown(line.as_bytes()))
        });
        let reason = format!("the process {} (try {tried} of {tries}){last}", end.what);
        let cause = end.cause;
        self.answers[number] = Some(Err(Failure { cause, reason }));
        Ok(())
    }

    /// Makes every further call fail.
    fn stop(&self, what: Error, stderr: &str) -> Error {
        let command = &self.options.command;
        let stderr = match stderr {
            "" => "It wrote nothing on standard error".to_owned(),
            text => format!("The end of its standard error:\n{text}"),
        };
        let expected = Q::EXPECTED;
        let message = |what: &str| format!("'{command}': {what}. {expected}. {stderr}");
        self.pool.stop(what.map(message))
    }
}

/// Smaller groups in which to find the query that ended the process; the last is asked first. Most programs answer in
/// order, so it is probably the first query: it waits until the others have had a chance to show that the command
/// works.
fn parts(owed: &[usize]) -> Vec<Vec<usize>> {
    let (first, others) = owed.split_at(1);
    let (left, right) = others.split_at(others.len() / 2);
    [first, left, right]
        .into_iter()
        .filter(|part| !part.is_empty())
        .map(<[usize]>::to_vec)
        .collect()
}
