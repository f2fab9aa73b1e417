//! Workers: processes that run inputs under limits, and are watched.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::kinds::Kind;

/// An input that takes longer hangs: ten seconds, or as many as the variable LONGEST says, where a machine is busy.
pub fn longest() -> Duration {
    let said = std::env::var("LONGEST")
        .ok()
        .and_then(|said| said.parse().ok());
    Duration::from_secs(said.unwrap_or(10))
}

/// What a worker takes to start: models are loaded and sound inputs made.
const START: Duration = Duration::from_secs(60);

/// KiB of address space of a worker, of which code, stacks and models are a part.
const ADDRESSES: u64 = 3 << 20;

/// What came of a campaign.
pub struct Found {
    /// Inputs that were no error.
    pub taken: u64,
    /// Inputs that failed, and how.
    pub failed: Vec<(u64, String)>,
    pub seconds: f64,
    /// Bytes that a worker held at most.
    pub peak: u64,
}

/// Runs inputs 0 to `inputs`, in workers one after the other: each ends with its first failure.
pub fn run(kind: &Kind, seed: u64, inputs: u64) -> Result<Found, String> {
    let started = Instant::now();
    let mut found = Found {
        taken: 0,
        failed: Vec::new(),
        seconds: 0.0,
        peak: 0,
    };
    let mut first = 0;
    while first < inputs {
        let numbers = [seed, first, inputs].map(|number| number.to_string());
        let worker = ["worker", kind.name, &numbers[0], &numbers[1], &numbers[2]];
        let mut watched = Watched::start(&worker)?;
        let mut at = first;
        let why = loop {
            match watched.line() {
                Line::Said(line) => match line.strip_prefix("taken ") {
                    None => {
                        at = line
                            .parse()
                            .map_err(|_| format!("a worker said '{line}'"))?
                    }
                    Some(end) => {
                        let mut words = end.split(' ');
                        found.taken += words.next().and_then(|w| w.parse().ok()).unwrap_or(0);
                        let peak = words.nth(1).and_then(|w| w.parse().ok()).unwrap_or(0);
                        found.peak = found.peak.max(peak);
                    }
                },
                Line::Silent => break Some(format!("longer than {:?}", longest())),
                Line::Ended => break watched.failure(),
            }
        };
        let Some(why) = why else { break };
        found.failed.push((at, why));
        first = at + 1;
    }
    found.seconds = started.elapsed().as_secs_f64();
    Ok(found)
}

/// Why one input fails by itself, if it does.
pub fn alone(kind: &Kind, file: &Path) -> Result<Option<String>, String> {
    let file = file.display().to_string();
    let mut watched = Watched::start(&["one", kind.name, &file])?;
    loop {
        match watched.line() {
            Line::Said(_) => {}
            Line::Silent => return Ok(Some(format!("longer than {:?}", longest()))),
            Line::Ended => return Ok(watched.failure()),
        }
    }
}

/// A worker at work; it ends with this value.
struct Watched {
    child: Child,
    lines: Receiver<String>,
    errors: Receiver<String>,
    has_begun: bool,
}

enum Line {
    Said(String),
    Silent,
    Ended,
}

impl Watched {
    fn start(arguments: &[&str]) -> Result<Self, String> {
        let failed = |e: std::io::Error| format!("cannot start a worker: {e}");
        let program = std::env::current_exe().map_err(failed)?;
        let limited = format!("ulimit -v {ADDRESSES}; exec \"$0\" \"$@\"");
        let mut child = Command::new("sh")
            .args(["-c", &limited])
            .arg(program)
            .args(arguments)
            .env("RUST_BACKTRACE", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let lines = lines_of(child.stdout.take().expect("it is piped"));
        let errors = lines_of(child.stderr.take().expect("it is piped"));
        Ok(Self {
            child,
            lines,
            errors,
            has_begun: false,
        })
    }

    fn line(&mut self) -> Line {
        let patience = if self.has_begun {
            longest()
        } else {
            START.max(longest())
        };
        self.has_begun = true;
        match self.lines.recv_timeout(patience) {
            Ok(line) => Line::Said(line),
            Err(RecvTimeoutError::Timeout) => Line::Silent,
            Err(RecvTimeoutError::Disconnected) => Line::Ended,
        }
    }

    /// How it ended, if not well.
    fn failure(&mut self) -> Option<String> {
        let status = self.child.wait().ok();
        if status.is_some_and(|status| status.success()) {
            return None;
        }
        let said: Vec<String> = self.errors.iter().collect();
        let last: Vec<&str> = said
            .iter()
            .rev()
            .take(6)
            .rev()
            .map(String::as_str)
            .collect();
        let status = status.map_or("unknown".to_owned(), |status| status.to_string());
        Some(format!("{status}: {}", last.join(" | ")))
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // One that has ended is as it should be.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines_of(pipe: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Bytes that this process held at most, where the system says so.
pub fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}
