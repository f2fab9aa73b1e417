//! One running process: queries in, answers out, and its end.

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
    /// It wrote something that is no answer to what it was asked: what, as in "the process …".
    Broken(Error),
}

/// How a process ended.
pub struct End {
    /// As in "the process …".
    pub what: Error,
    /// Whose failure it is where one query is to blame.
    pub cause: Cause,
    /// The end of its standard error.
    pub stderr: String,
}

/// What one question's answer tells, with the question's place in its group.
type Placed<Q> = (usize, Answer<<Q as Question>::Told>);

/// A process that answers queries.
pub struct Process {
    child: Child,
    children: Children,
    /// What is to be written to it; `None` once its standard input is closed.
    input: Option<Sender<Vec<u8>>>,
    output: Receiver<Vec<u8>>,
    stderr: Tail,
    /// Since when its standard input is closed.
    closed: Option<Instant>,
    /// The id of the first query of the group that it has now.
    first: u64,
    /// Which queries of this group have no answer yet.
    pending: Vec<bool>,
    /// How many these are.
    left: usize,
    answered: bool,
    /// Whether it was ended and waited for.
    is_over: bool,
}

impl Process {
    /// Starts `command`, as one of `children`.
    ///
    /// # Errors
    /// Where the platform's shell cannot be started.
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

    /// Whether it ever answered anything.
    pub fn has_answered(&self) -> bool {
        self.answered
    }

    /// Whether it owes no answer.
    pub fn is_idle(&self) -> bool {
        self.left == 0
    }

    /// Gives it a group of queries, once it owes no answer. Ids go on from one group to the next: were
    /// they used again, a second answer that comes late would be taken for another query's first.
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
            // Where nobody reads any more, the process has ended: its output says so.
            let _ = input.send(lines);
        }
    }

    /// The next answer and its place in the group, which was of this kind of questions; `None` once all are
    /// answered.
    ///
    /// # Errors
    /// Where there will be no more answers.
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

    /// Takes an answer for the query that it names.
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

    /// Lets it read no more: a well-behaved process ends then.
    pub fn close(&mut self) {
        self.input = None;
        self.closed.get_or_insert_with(Instant::now);
    }

    /// Ends it after `fault` and tells how it went.
    pub fn end(mut self, fault: Fault) -> End {
        self.close();
        // Whether a silent process hangs on the text or the machine is busy, nobody can tell from outside.
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

    /// Ends it, and whatever it started, after its time of grace. Its exit status, if it ended by itself.
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

    /// Ends it now, with whatever it started: a process that forked others away and ended leaves them behind.
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
