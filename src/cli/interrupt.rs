//! Ends a command early: Ctrl-C, a request to terminate, a hang-up, a reader that went away.
//!
//! While no trials are running the process ends at once: all files are complete or absent, and a run directory can be
//! resumed. While trials are running the first signal sets the flag that ends an audit in order; whatever takes longer
//! than [`GRACE`] is given up, since its trials can be made again. The second signal ends the process at once.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use teda_core::{Error, Result, plain_lines};
use teda_mechanisms::Children;
use teda_results::Manifest;

/// How long running batches may take to end.
const GRACE: Duration = Duration::from_millis(800);

/// The status of a command that was stopped.
const STATUS: i32 = 130;

/// Signals concern the whole process, so there is one instance.
static INTERRUPT: OnceLock<Interrupt> = OnceLock::new();

/// Whether the user wants the command to end, and what to do then.
pub struct Interrupt {
    stop: AtomicBool,
    at_work: AtomicBool,
    paging: AtomicBool,
    ends: Mutex<Ends>,
}

/// Everything that ends with the process.
#[derive(Default)]
struct Ends {
    /// The directory of the current run.
    run: Option<PathBuf>,
    /// The message for the user.
    farewell: Option<String>,
    /// Programs that answer queries.
    children: Children,
}

/// The instance of this process.
pub fn interrupt() -> &'static Interrupt {
    INTERRUPT.get_or_init(|| Interrupt {
        stop: AtomicBool::new(false),
        at_work: AtomicBool::new(false),
        paging: AtomicBool::new(false),
        ends: Mutex::default(),
    })
}

/// Watches for signals from now on.
///
/// # Errors
/// Failed, if they cannot be caught or no thread can be started.
pub fn watch() -> Result<()> {
    let failed = |e: &dyn std::fmt::Display| Error::failed(format!("cannot catch signals: {e}"));
    let (signals, seen) = channel();
    listen(signals).map_err(|e| failed(&e))?;
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || interrupt().attend(&seen))
        .map_err(|e| failed(&e))?;
    Ok(())
}

impl Interrupt {
    /// Set once the user wants to stop.
    pub fn flag(&self) -> &AtomicBool {
        &self.stop
    }

    /// Sets whether trials are running.
    pub fn set_at_work(&self, at_work: bool) {
        self.at_work.store(at_work, Ordering::SeqCst);
    }

    /// Whether the user wants to stop.
    pub fn is_set(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Sets whether a pager has the terminal: signals then set the flag alone, and the user ends the pager.
    pub fn set_paging(&self, paging: bool) {
        self.paging.store(paging, Ordering::SeqCst);
    }

    /// Sets the directory in which the current run is kept.
    pub fn keep(&self, run: &Path) {
        let resume = format!(
            "interrupted; go on with: teda audit --resume {}",
            run.display()
        );
        let mut ends = self.ends();
        ends.run = Some(run.to_owned());
        ends.farewell = Some(resume);
    }

    /// Sets the message for the user if the command is given up.
    pub fn set_farewell(&self, farewell: &str) {
        self.ends().farewell = Some(farewell.to_owned());
    }

    /// The programs that end with the process.
    pub fn children(&self) -> Children {
        self.ends().children.clone()
    }

    /// Nobody reads the output any more: this counts as an interrupt.
    pub fn reader_left(&self) {
        self.stop.store(true, Ordering::SeqCst);
    }

    fn attend(&self, seen: &Receiver<()>) {
        loop {
            if seen.recv().is_err() {
                return;
            }
            self.stop.store(true, Ordering::SeqCst);
            if !self.paging.load(Ordering::SeqCst) {
                break;
            }
        }
        if self.at_work.load(Ordering::SeqCst) {
            tell("\nstopping");
            // In order, unless it takes too long or the user is in a hurry. The main thread then ends the process.
            if let Err(RecvTimeoutError::Disconnected) = seen.recv_timeout(GRACE) {
                return;
            }
        }
        self.end()
    }

    /// Ends the process, whatever is running.
    #[expect(clippy::disallowed_methods, reason = "the command line may end")]
    fn end(&self) -> ! {
        let ends = self.ends();
        ends.children.kill();
        if let Some(run) = &ends.run {
            // If it cannot be written the run is left as after a kill, and can still be resumed.
            let _ = Manifest::interrupt(run);
        }
        tell(ends.farewell.as_deref().unwrap_or("interrupted"));
        std::process::exit(STATUS)
    }

    fn ends(&self) -> MutexGuard<'_, Ends> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A last line on standard error. If nobody reads it, there is nobody to tell.
fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", plain_lines(line));
}

/// Sends a message for each signal that asks the process to end.
#[cfg(unix)]
fn listen(signals: Sender<()>) -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

    // A file beyond its size limit is an error of the write that hits it, which names the file.
    signal_hook::flag::register(SIGXFSZ, std::sync::Arc::default())?;
    let mut wanted = vec![SIGINT, SIGTERM];
    if !is_ignored(SIGHUP) {
        wanted.push(SIGHUP);
    }
    let mut caught = signal_hook::iterator::Signals::new(wanted)?;
    thread::Builder::new()
        .name("signal handler".into())
        .spawn(move || {
            for _ in caught.forever() {
                if signals.send(()).is_err() {
                    return;
                }
            }
        })?;
    Ok(())
}

/// Whether whoever started this process had a signal ignored, as `nohup` does: it stays ignored.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & (1 << (signal - 1)) != 0)
}

#[cfg(not(unix))]
fn listen(signals: Sender<()>) -> std::result::Result<(), ctrlc::Error> {
    ctrlc::set_handler(move || {
        // Without its receiver the process is already ending.
        let _ = signals.send(());
    })
}
