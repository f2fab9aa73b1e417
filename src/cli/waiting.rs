//! What a command does before and after its trials, as soon as that takes longer than one likes to wait for nothing.

use std::io::IsTerminal;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use teda::models::Watch;

use super::output::say;

/// Nothing is shown of what is over sooner.
const PATIENCE: Duration = Duration::from_secs(2);
/// Plain lines are this far apart at least.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Something that is being done.
struct Doing {
    what: String,
    since: Instant,
    /// The bar, on a terminal, once there is one.
    bar: Option<ProgressBar>,
    /// When the last plain line was said.
    said: Option<Instant>,
}

/// Shows how far things are on standard error: a bar on a terminal, plain lines elsewhere; nothing if `quiet`.
pub fn watch(quiet: bool) -> Watch {
    if quiet {
        return Arc::new(|_, _, _| ());
    }
    let terminal = std::io::stderr().is_terminal();
    let doing: Mutex<Option<Doing>> = Mutex::new(None);
    Arc::new(move |what, done, total| {
        let mut doing = doing.lock().unwrap_or_else(PoisonError::into_inner);
        if done >= total {
            if let Some(Doing { bar: Some(bar), .. }) = doing.take() {
                bar.finish_and_clear();
            }
            return;
        }
        let same = doing.as_ref().is_some_and(|doing| doing.what == what);
        if !same {
            *doing = Some(Doing {
                what: what.to_owned(),
                since: Instant::now(),
                bar: None,
                said: None,
            });
        }
        if let Some(doing) = doing
            .as_mut()
            .filter(|doing| doing.since.elapsed() >= PATIENCE)
        {
            doing.show(done, total, terminal);
        }
    })
}

impl Doing {
    fn show(&mut self, done: u64, total: u64, terminal: bool) {
        if terminal {
            let bar = self.bar.get_or_insert_with(|| bar(&self.what, total));
            bar.set_position(done);
            return;
        }
        let waited = self.said.unwrap_or(self.since).elapsed();
        if self.said.is_none() || waited >= LINE_EVERY {
            self.said = Some(Instant::now());
            say(format_args!("{}: {done} of {total}", self.what));
        }
    }
}

fn bar(what: &str, total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{bar:24} {human_pos}/{human_len}  {msg}")
        .expect("the template is well-formed");
    ProgressBar::new(total)
        .with_style(style)
        .with_message(what.to_owned())
}
