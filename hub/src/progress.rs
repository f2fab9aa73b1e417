//! Messages of the store on standard error during slow operations.

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
    /// Silent if `quiet`; bars also need a terminal.
    pub(super) fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Prints one line.
    pub(super) fn note(self, text: &str) {
        if !self.quiet {
            // If nobody reads it, that is no reason to stop.
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

    /// A sign of life with the elapsed time, for work without known progress.
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

/// The part of a file's name that is shown before a bar.
fn ending(file: &str) -> &str {
    const LONGEST: usize = 32;
    let start = file.char_indices().rev().take(LONGEST).last();
    start.map_or(file, |(start, _)| &file[start..])
}
