//! The progress of a run on standard error: a bar on a terminal, plain lines elsewhere.

use std::fmt::Write;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use teda::audit::progress::Progress;
use teda_core::plain;

use super::interrupt::interrupt;
use super::output::say;

/// Plain lines are this far apart at least.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows how far a run is, with a running estimate.
pub struct Terminal {
    quiet: bool,
    /// What is counted.
    what: &'static str,
    shown: Mutex<Option<Shown>>,
}

/// A run that is shown.
struct Shown {
    bar: ProgressBar,
    what: &'static str,
    /// When the last plain line was printed; `None` on a terminal or when quiet.
    lines: Option<Instant>,
    started: Instant,
    already_done: u64,
}

impl Terminal {
    /// Nothing to show yet, and never if `quiet`.
    pub fn new(quiet: bool) -> Self {
        Self::counting(quiet, "trials")
    }

    /// Like [`Self::new`], for something else than trials.
    pub fn counting(quiet: bool, what: &'static str) -> Self {
        Self {
            quiet,
            what,
            shown: Mutex::new(None),
        }
    }

    /// What `read` makes of the run that is shown.
    fn with<T>(&self, read: impl FnOnce(&mut Shown) -> T) -> Option<T> {
        let shown = self.shown.lock();
        let mut shown = shown.unwrap_or_else(std::sync::PoisonError::into_inner);
        shown.as_mut().map(read)
    }
}

impl Progress for Terminal {
    fn kept(&self, directory: &Path) {
        interrupt().keep(directory);
    }

    fn begin(&self, total: u64, done: u64) {
        interrupt().set_at_work(true);
        let terminal = std::io::stderr().is_terminal();
        let target = if self.quiet || !terminal {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let what = self.what;
        let style = ProgressStyle::with_template(&format!(
            "{{bar:24}} {{human_pos}}/{{human_len}} {what}  {{elapsed}} gone, {{left}} left  {{msg}}",
        ))
        .expect("the template is well-formed")
        .with_key("left", move |state: &ProgressState, out: &mut dyn Write| {
            let left = left(state.elapsed(), state.pos(), total, done);
            // A line on a terminal that cannot be written is not shown.
            let _ = out.write_str(&left);
        });
        let bar = ProgressBar::with_draw_target(Some(total), target).with_style(style);
        bar.set_position(done);
        bar.reset_eta();
        let shown = self.shown.lock();
        *shown.unwrap_or_else(std::sync::PoisonError::into_inner) = Some(Shown {
            bar,
            what,
            lines: (!self.quiet && !terminal).then(Instant::now),
            started: Instant::now(),
            already_done: done,
        });
    }

    fn advance(&self, trials: u64) {
        self.with(|shown| {
            shown.bar.inc(trials);
            if let Some(last) = &mut shown.lines
                && last.elapsed() >= LINE_EVERY
            {
                *last = Instant::now();
                shown.line();
            }
        });
    }

    fn is_shown(&self) -> bool {
        self.with(|shown| shown.lines.is_some() || !shown.bar.is_hidden())
            .unwrap_or(false)
    }

    fn describe(&self, message: String) {
        let message = plain(&message).into_owned();
        self.with(|shown| shown.bar.set_message(message));
    }

    fn end(&self) {
        interrupt().set_at_work(false);
        self.with(|shown| {
            if shown.lines.is_some() {
                shown.line();
            }
            shown.bar.finish_and_clear();
        });
    }

    fn note(&self, line: &str) {
        if !self.quiet {
            say(line);
        }
    }
}

/// How long the rest takes, if it goes on as it went on average; the first trials take longer than others, since models and tables are
/// prepared with them.
fn left(elapsed: Duration, done: u64, total: u64, already_done: u64) -> String {
    match done.saturating_sub(already_done) {
        0 => "unknown".to_owned(),
        made => {
            let rest = total.saturating_sub(done) as f64;
            let seconds = elapsed.as_secs_f64() * rest / made as f64;
            HumanDuration(Duration::from_secs_f64(seconds)).to_string()
        }
    }
}

impl Shown {
    fn line(&self) {
        let (done, total) = (self.bar.position(), self.bar.length().unwrap_or(0));
        let elapsed = self.started.elapsed();
        let left = left(elapsed, done, total, self.already_done);
        say(format_args!(
            "{done}/{total} {}, {} gone, {left} left  {}",
            self.what,
            HumanDuration(elapsed),
            self.bar.message()
        ));
    }
}
