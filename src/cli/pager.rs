//! Standard output page by page, as git does it: on a terminal that cannot hold it all, through `$PAGER`, or `less`.
//!
//! What is written goes on at once, so the first page is there before the last one is made; where the reader leaves, [`Output::write`]
//! says so. A pager obeys control characters as a terminal does, so none of a text's own reach it.

use std::io::{ErrorKind, IsTerminal, Write};
use std::process::{Child, Command, Stdio};

use teda_core::{Error, Result, plain_lines};
use terminal_size::{Height, terminal_size_of};

use super::interrupt::interrupt;

/// The pager of a user who has none in `$PAGER` …
const PAGER: &str = "less";
/// … and its options for one who has none in `$LESS`: ends if all fits, passes colours on, leaves the screen as it is.
const LESS: &str = "FRX";

/// Standard output, perhaps through a pager.
pub enum Output {
    /// As it comes.
    Straight,
    /// On a terminal, as long as it may all fit.
    Held {
        /// What was written.
        text: String,
        /// Lines of the terminal.
        room: usize,
    },
    /// Through a pager.
    Paged(Child),
}

impl Output {
    /// Standard output; through a pager where one is `wanted` and there is a terminal.
    #[must_use]
    pub fn new(wanted: bool) -> Self {
        let terminal = terminal_size_of(std::io::stdout());
        match terminal.filter(|_| wanted) {
            Some((_, Height(room))) if !matches!(pager().as_deref(), Some("" | "cat")) => {
                Self::Held {
                    text: String::new(),
                    room: room.into(),
                }
            }
            _ => Self::Straight,
        }
    }

    /// Writes whole lines; `false` if nobody reads them any more.
    ///
    /// # Errors
    /// Failed, if they cannot be written.
    pub fn write(&mut self, lines: &str) -> Result<bool> {
        match self {
            Self::Straight => straight(lines),
            Self::Paged(child) => paged(child, lines),
            Self::Held { text, room } => {
                text.push_str(lines);
                // A line is left for the prompt of the shell.
                if text.lines().count() < *room {
                    return Ok(true);
                }
                let text = std::mem::take(text);
                let Some(mut child) = started() else {
                    *self = Self::Straight;
                    return straight(&text);
                };
                let is_read = paged(&mut child, &text);
                *self = Self::Paged(child);
                is_read
            }
        }
    }

    /// Whether what was asked for is no longer wanted: the user pressed Ctrl-C in the pager.
    #[must_use]
    pub fn is_left(&self) -> bool {
        matches!(self, Self::Paged(_)) && interrupt().is_set()
    }

    /// Writes what was held back, and waits for the user to leave the pager.
    ///
    /// # Errors
    /// Failed, if it cannot be written; usage, if `$PAGER` is no command.
    pub fn finish(self) -> Result<()> {
        match self {
            Self::Straight => Ok(()),
            Self::Held { text, .. } => straight(&text).map(|_| ()),
            Self::Paged(mut child) => {
                drop(child.stdin.take());
                let status = child.wait();
                interrupt().set_paging(false);
                let status =
                    status.map_err(|e| Error::failed(format!("cannot wait for the pager: {e}")))?;
                match (status.code(), pager()) {
                    (Some(126 | 127), Some(pager)) => Err(Error::usage(format!(
                        "PAGER='{pager}' cannot be run: name another command, or add --no-pager"
                    ))),
                    _ => Ok(()),
                }
            }
        }
    }
}

/// The user's own pager.
fn pager() -> Option<String> {
    std::env::var("PAGER")
        .ok()
        .map(|pager| pager.trim().to_owned())
}

/// A running pager; `None` if there is none.
fn started() -> Option<Child> {
    let mut command = match pager() {
        // It may have arguments.
        Some(pager) => {
            let (shell, flag) = if cfg!(windows) {
                ("cmd", "/C")
            } else {
                ("sh", "-c")
            };
            let mut command = Command::new(shell);
            command.args([flag, &pager]);
            command
        }
        None => Command::new(PAGER),
    };
    if std::env::var_os("LESS").is_none() {
        command.env("LESS", LESS);
    }
    let child = command.stdin(Stdio::piped()).spawn().ok()?;
    // Ctrl-C is for the pager as well, which the user ends by its own means.
    interrupt().set_paging(true);
    Some(child)
}

fn paged(child: &mut Child, lines: &str) -> Result<bool> {
    match &mut child.stdin {
        Some(pipe) => is_read(pipe.write_all(plain_lines(lines).as_bytes()), "the pager"),
        None => Ok(false),
    }
}

fn straight(lines: &str) -> Result<bool> {
    let mut out = std::io::stdout().lock();
    let lines = match out.is_terminal() {
        true => plain_lines(lines),
        false => lines.into(),
    };
    let written = out.write_all(lines.as_bytes()).and_then(|()| out.flush());
    is_read(written, "standard output")
}

/// Whether something was written to somebody. A reader that has gone away is no error.
fn is_read(written: std::io::Result<()>, place: &str) -> Result<bool> {
    match written {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(Error::failed(format!("cannot write to {place}: {e}"))),
    }
}
