//! The three pipes of a process, each with a thread of its own, so that none can fill up while another is waited for.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{ChildStderr, ChildStdin, ChildStdout};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::protocol;

/// Most answers waiting to be taken; a process that writes more has to wait, too.
const WAITING: usize = 16;
/// Bytes of standard error that are kept.
const KEPT: usize = 4096;
/// Polling interval for things that cannot be waited for.
const POLL: Duration = Duration::from_millis(5);

/// Whether `done` came true before `until`.
pub fn wait_until(until: Instant, mut done: impl FnMut() -> bool) -> bool {
    loop {
        if done() {
            return true;
        }
        if Instant::now() >= until {
            return false;
        }
        thread::sleep(POLL);
    }
}

/// Writes whatever is sent; after the sender is dropped and everything is written, the pipe is closed.
pub fn writer(mut pipe: ChildStdin) -> Sender<Vec<u8>> {
    let (sender, receiver) = mpsc::channel::<Vec<u8>>();
    thread::spawn(move || {
        for bytes in receiver {
            // A process that reads no more has ended or will be found silent: it shows there.
            if pipe.write_all(&bytes).and_then(|()| pipe.flush()).is_err() {
                break;
            }
        }
    });
    sender
}

/// The non-blank lines of a process. A line that is too long is cut after [`protocol::LONGEST`] and one byte, and is
/// the last; a line without its end was never finished and is ignored.
pub fn lines(pipe: ChildStdout) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::sync_channel(WAITING);
    thread::spawn(move || {
        let mut pipe = BufReader::new(pipe);
        loop {
            let mut line = Vec::new();
            let mut limited = (&mut pipe).take(protocol::LONGEST as u64 + 1);
            let read = limited.read_until(b'\n', &mut line);
            let too_long = line.len() > protocol::LONGEST;
            if read.is_err() || !(too_long || line.ends_with(b"\n")) {
                break;
            }
            let blank = line.trim_ascii().is_empty() && !too_long;
            if !blank && sender.send(line).is_err() || too_long {
                break;
            }
        }
    });
    receiver
}

/// The end of what a process writes on standard error.
pub struct Tail {
    kept: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Tail {
    /// Starts to read `pipe`.
    pub fn of(mut pipe: ChildStderr) -> Self {
        let kept = Arc::new(Mutex::new(Vec::new()));
        let shared = kept.clone();
        let reader = thread::spawn(move || {
            let mut part = [0; KEPT];
            while let Ok(read @ 1..) = pipe.read(&mut part) {
                let mut kept = shared.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&part[..read]);
                let surplus = kept.len().saturating_sub(KEPT);
                kept.drain(..surplus);
            }
        });
        Self { kept, reader }
    }

    /// What was read, once everything was read or at `until`: another process may hold the pipe open.
    pub fn text(&self, until: Instant) -> String {
        wait_until(until, || self.reader.is_finished());
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let text = protocol::presentable(&kept);
        text.trim().to_owned()
    }
}
