//! The progress of a run on standard error: a bar on a terminal, plain lines elsewhere.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Plain lines are this far apart at least.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Shows how far a run is, with a running estimate.
pub struct Progress {
    bar: ProgressBar,
    /// When the last plain line was printed; `None` on a terminal or when quiet.
    lines: Option<Mutex<Instant>>,
    started: Instant,
    already_done: u64,
}

impl Progress {
    /// Progress over `total` trials, `done` of which an earlier process made.
    pub fn new(total: u64, done: u64, quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let target = if quiet || !terminal {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let style = ProgressStyle::with_template(
            "{bar:24} {human_pos}/{human_len} trials  {elapsed} gone, {eta} left  {msg}",
        )
        .expect("the template is well-formed");
        let bar = ProgressBar::with_draw_target(Some(total), target).with_style(style);
        bar.set_position(done);
        bar.reset_eta();
        Self {
            bar,
            lines: (!quiet && !terminal).then(|| Mutex::new(Instant::now())),
            started: Instant::now(),
            already_done: done,
        }
    }

    /// `trials` more are done.
    pub fn advance(&self, trials: u64) {
        self.bar.inc(trials);
        let Some(last) = &self.lines else { return };
        let mut last = last
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if last.elapsed() >= LINE_EVERY {
            *last = Instant::now();
            self.line();
        }
    }

    /// Whether anybody sees it: what is said would be computed for nobody else.
    pub fn is_shown(&self) -> bool {
        self.lines.is_some() || !self.bar.is_hidden()
    }

    /// What is being computed and its estimate so far.
    pub fn describe(&self, message: String) {
        self.bar.set_message(message);
    }

    /// Removes the bar; on plain output says where the run stands.
    pub fn finish(&self) {
        if self.lines.is_some() {
            self.line();
        }
        self.bar.finish_and_clear();
    }

    fn line(&self) {
        let (done, total) = (self.bar.position(), self.bar.length().unwrap_or(0));
        let elapsed = self.started.elapsed();
        let made = done.saturating_sub(self.already_done);
        let left = if made == 0 {
            "unknown".to_owned()
        } else {
            let seconds = elapsed.as_secs_f64() * (total.saturating_sub(done)) as f64 / made as f64;
            HumanDuration(Duration::from_secs_f64(seconds)).to_string()
        };
        eprintln!(
            "{done}/{total} trials, {} gone, {left} left  {}",
            HumanDuration(elapsed),
            self.bar.message()
        );
    }
}
