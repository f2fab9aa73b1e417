//! What the store says on standard error while something takes long.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use teda_core::{plain, plain_lines};

/// Notes and bars, or silence.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    quiet: bool,
}

impl Progress {
    /// Says nothing when `quiet`; bars need a terminal besides.
    pub(super) fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// One line.
    pub(super) fn note(self, text: &str) {
        if !self.quiet {
            // Nobody who reads it is no reason to stop.
            let _ = writeln!(std::io::stderr(), "{}", plain_lines(text));
        }
    }

    /// A bar for the download of `file`.
    pub(super) fn bar(self, file: &str) -> ProgressBar {
        let style = ProgressStyle::with_template(
            "{msg} [{elapsed_precise}] [{wide_bar}] {bytes}/{total_bytes} {bytes_per_sec} ({eta})",
        )
        .expect("the template is well-formed");
        ProgressBar::with_draw_target(Some(0), self.target())
            .with_style(style)
            .with_message(plain(ending(file)).into_owned())
    }

    /// A sign of life with the time gone, for work that does not say how far it is.
    pub(super) fn spinner(self, message: String) -> ProgressBar {
        let style = ProgressStyle::with_template("{spinner} {msg}  {elapsed}")
            .expect("the template is well-formed");
        let spinner = ProgressBar::with_draw_target(None, self.target())
            .with_style(style)
            .with_message(message);
        spinner.enable_steady_tick(Duration::from_millis(200));
        spinner
    }

    fn target(self) -> ProgressDrawTarget {
        if self.quiet || !std::io::stderr().is_terminal() {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        }
    }
}

/// As much of a file's name as stands before a bar.
fn ending(file: &str) -> &str {
    const LONGEST: usize = 32;
    let start = file.char_indices().rev().take(LONGEST).last();
    start.map_or(file, |(start, _)| &file[start..])
}
