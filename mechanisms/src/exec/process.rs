//! One running process: sends queries, receives answers, and ends it.

use std::io;
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use teda_core::{Answer, Cause, Error, Result};

use super::children::Children;
use super::pipes::{self, Tail, wait_until};
use super::question::Question;
use super::{platform, protocol};

/// How long a process may take to end by itself once its standard input is closed.
const GRACE: Duration = Duration::from_secs(1);

/// Why answers are missing.
#[derive(Debug)]
pub enum Fault {
    /// The process closed its standard output, as it does when it ends.
    Ended,
    /// No answer came in time.
    Silent(Duration),
    /// It wrote something that is not a valid answer: the description, as in "the process …".
    Broken(Error),
}

/// How a process ended.
pub struct End {
    /// A description, as in "the process …".
    pub what: Error,
    /// Whose failure it is if a single query is to blame.
    pub cause: Cause,
    /// The end of its standard error.
    pub stderr: String,
}

/// The answer to one question, with the question's index in its group.
type Placed<Q> = (usize, Answer<<Q as Question>::Told>);

/// A process that answers queries.
pub struct Process {
    child: Child,
    children: Children,
    /// Where its input is sent; `None` once its standard input is closed.
    input: Option<Sender<Vec<u8>>>,
    output: Receiver<Vec<u8>>,
    stderr: Tail,
    /// When its standard input was closed.
    closed: Option<Instant>,
    /// The id of the first query of its current group.
    first: u64,
    /// Which queries of this group are still unanswered.
    pending: Vec<bool>,
    /// How many these are.
    left: usize,
    answered: bool,
    /// Whether it was ended and waited for.
    is_over: bool,
}

impl Process {
    /// Starts `command`, and registers it with `children`.
    ///
    /// # Errors
    /// If the platform's shell cannot be started.
    pub fn start(command: &str, children: &Children) -> io::Result<Self> {
        let mut child = platform::shell(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        children.began(child.id());
        let stdin = child.stdin.take().expect("its standard input is piped");
        let stdout = child.stdout.take().expect("its standard output is piped");
        let stderr = child.stderr.take().expect("its standard error is piped");
        Ok(Self {
            child,
            children: children.clone(),
            input: Some(pipes::writer(stdin)),
            output: pipes::lines(stdout),
            stderr: Tail::of(stderr),
            closed: None,
            first: 0,
            pending: Vec::new(),
            left: 0,
            answered: false,
            is_over: false,
        })
    }

    /// Whether it has ever answered anything.
    pub fn has_answered(&self) -> bool {
        self.answered
    }

    /// Whether it owes no answer.
    pub fn is_idle(&self) -> bool {
        self.left == 0
    }

    /// Sends it a group of queries, once it owes no answer. Ids continue from one group to the next: if they were
    /// reused, a late second answer would be taken for another query's first.
    pub fn send(&mut self, group: impl Iterator<Item = impl Question>, epsilon: Option<f64>) {
        self.first += self.pending.len() as u64;
        self.pending.clear();
        let mut lines = Vec::new();
        for (question, id) in group.zip(self.first..) {
            protocol::write(&question.line(id, epsilon), &mut lines);
            self.pending.push(true);
        }
        self.left = self.pending.len();
        if let Some(input) = &self.input {
            // If nobody reads any more, the process has ended: its output shows that.
            let _ = input.send(lines);
        }
    }

    /// The next answer and its index in the group, which must have been of this kind of question; `None` once all are
    /// answered.
    ///
    /// # Errors
    /// If there will be no more answers.
    pub fn receive<Q: Question>(
        &mut self,
        timeout: Duration,
    ) -> std::result::Result<Option<Placed<Q>>, Fault> {
        if self.left == 0 {
            return Ok(None);
        }
        let line = self
            .output
            .recv_timeout(timeout)
            .map_err(|lack| match lack {
                RecvTimeoutError::Timeout => Fault::Silent(timeout),
                RecvTimeoutError::Disconnected => Fault::Ended,
            })?;
        self.accept::<Q>(&line).map(Some).map_err(|lack| {
            let shown = protocol::shown(&line);
            Fault::Broken(lack.map(|lack| format!("wrote '{shown}', which {lack}")))
        })
    }

    /// Accepts an answer for the query that it names.
    fn accept<Q: Question>(&mut self, line: &[u8]) -> Result<Placed<Q>> {
        if line.len() > protocol::LONGEST {
            let most = protocol::LONGEST;
            return Err(Error::failed(format!("is longer than {most} bytes")));
        }
        let fields = protocol::read(line).map_err(Error::failed)?;
        let asked = self.first + self.pending.len() as u64;
        if fields.id >= asked {
            return Err(Error::failed(format!(
                "has the id of no query: so far they are below {asked}"
            )));
        }
        let place = fields
            .id
            .checked_sub(self.first)
            .map(|place| place as usize);
        let Some(place) = place.filter(|place| self.pending[*place]) else {
            return Err(Error::failed("is a second answer to one query"));
        };
        let answer = Q::told(fields)?;
        self.pending[place] = false;
        self.left -= 1;
        self.answered = true;
        Ok((place, answer))
    }

    /// Closes its standard input: a well-behaved process ends then.
    pub fn close(&mut self) {
        self.input = None;
        self.closed.get_or_insert_with(Instant::now);
    }

    /// Ends it after `fault` and reports how it ended.
    pub fn end(mut self, fault: Fault) -> End {
        self.close();
        // From outside, it is impossible to tell whether a silent process hangs on the text or the machine is busy.
        let cause = match fault {
            Fault::Silent(_) => Cause::Transport,
            Fault::Ended | Fault::Broken(_) => Cause::Mechanism,
        };
        let what = match fault {
            Fault::Ended => Error::failed(match self.finish() {
                Some(status) => format!("ended ({status})"),
                None => "closed its standard output".to_owned(),
            }),
            Fault::Silent(time) => Error::failed(format!("gave no answer for {time:?}")),
            Fault::Broken(what) => what,
        };
        self.kill();
        let stderr = self.stderr.text(Instant::now() + GRACE);
        End {
            what,
            cause,
            stderr,
        }
    }

    /// Ends it, and everything it started, after its grace period. Returns its exit status, if it ended by itself.
    fn finish(&mut self) -> Option<ExitStatus> {
        let until = self.closed.unwrap_or_else(Instant::now) + GRACE;
        let mut by_itself = false;
        wait_until(until, || {
            by_itself = self.is_over || platform::has_ended(&mut self.child);
            by_itself
        });
        let status = self.kill();
        status.filter(|_| by_itself)
    }

    /// Kills it now, with everything it started; processes that it forked away before it ended are left behind.
    fn kill(&mut self) -> Option<ExitStatus> {
        if !self.is_over {
            self.is_over = true;
            platform::kill(self.child.id());
            self.children.ended(self.child.id());
        }
        self.child.wait().ok()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.close();
        self.finish();
    }
}
