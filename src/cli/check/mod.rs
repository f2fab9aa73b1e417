//! `teda check`: audits of a file, with limits that they must keep.

mod audit;
mod compare;
mod file;
mod junit;
mod limits;
mod report;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::{Args, ValueEnum};
use teda::audit::progress::Silent;
use teda::models::Access;
use teda_core::{Error, Result};
use teda_results::{rfc3339_utc, unused};

use self::audit::{Audit, Checked, share_error};
use super::Outcome;
use super::flags::{AccessArguments, PaceArguments};
use super::interrupt::interrupt;
use super::output::{print, say};

/// Where checks go by default, under the working directory.
const CHECKS: &str = "results/checks";

/// Runs the audits of a file and fails where nominal and empirical epsilon have come apart.
///
/// For continuous integration. Prints one line a cell; ends with status 3 where a limit is violated or a
/// success rate is no longer the recorded one.
#[derive(Args)]
#[command(after_long_help = FILE)]
pub struct Arguments {
    /// Check file (TOML; see below)
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Directory of the run directories, one an audit; results/checks/TIME when left out
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Writes a JUnit report, too: a suite an audit, a case a cell
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    access: AccessArguments,
    #[command(flatten)]
    pace: PaceArguments,
    /// How the result is printed
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// No notes on standard error
    #[arg(long)]
    quiet: bool,
    /// Reads everything, recorded runs included, shows the cells to compute, and stops
    #[arg(long)]
    dry_run: bool,
}

/// How checks are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Table,
    /// One document (schema `teda.check/1`)
    Json,
}

const FILE: &str = "The file:
  [defaults]                  # fields of all audits, where they have none of their own
  trials = 20000

  [[audit]]
  name = \"krr\"                # also the name of its run directory
  mech = \"krr\"                # flags of `teda audit`, each a value or a list of values: mech,
  epsilon = [1, 2]            # epsilon, releases, dataset, limit, min-words, max-words, split,
  dataset = \"categories:2\"    # attack, k, lambda, neighbours, pairs, trials, alpha, delta, estimator,
                              # until, seed, set, preset, claim, llm, encoder, judge
  at-most = \"claim\"           # of every cell's bound: a number, or \"claim\": no violation. When left
                              # out \"claim\", unless at-least or expect is given
  at-least = 0.5              # some attack's bound reaches this at every ε: a control that must be caught
  expect = \"consistent\"       # every verdict: consistent, saturated, no-claim or inconclusive (which
                                # fails where it is not expected); violation is one attack's, at every ε
  reference = \"results/…\"     # any run directory, or its result.json: the success rate of every
                              # cell is still that one, by Fisher's exact test
  tolerance = 0.01            # probability of a false alarm of that test, over the audit's cells

Each of the m cells of the file is judged at alpha/m: a file of sound mechanisms exceeds a limit by chance
no more often than alpha/2. Paths start from the working directory. The same seed and the same program give the same counts.
--max-requests and --max-tokens hold for each audit.

Examples:
  teda check examples/check.toml --junit report.xml
  teda check examples/check.toml --dry-run";

impl Arguments {
    pub fn run(self) -> Result<Outcome> {
        let pool = self.pace.speed.pool()?;
        pool.install(|| self.run_here())
    }

    fn run_here(&self) -> Result<Outcome> {
        let mut audits = file::read(&self.file, self.access.limits())?;
        if audits.iter().any(|audit| audit.has_old_key) {
            self.say(format_args!(
                "note: recorded is called reference now; the old key is still read"
            ));
        }
        let access = self.access.access(true);
        if self.dry_run {
            return dry_run(&audits, &access);
        }
        let stake = share_error(&mut audits, &access)?;
        let out = self.directory()?;
        let Some(checked) = self.check(&audits, &out, &access)? else {
            say(FAREWELL);
            return Ok(Outcome::Interrupted);
        };
        if let Some(path) = &self.junit {
            junit::write(path, &checked)?;
        }
        print(&match self.format {
            Format::Table => report::render(stake, &checked),
            Format::Json => report::document(&self.file, stake, &checked)?,
        })?;
        self.say(format_args!("run directories: {}", out.display()));
        let ok = checked.iter().all(|audit| audit.failed() == 0);
        Ok(if ok {
            Outcome::Done
        } else {
            Outcome::CheckFailed
        })
    }

    /// Runs all audits, one after the other; `None` after an interrupt.
    fn check(&self, audits: &[Audit], out: &Path, access: &Access) -> Result<Option<Vec<Checked>>> {
        // Checks are never resumed, so nothing is lost if a check ends at once.
        interrupt().set_farewell(FAREWELL);
        let control = self.pace.control(&Silent);
        let run = |(index, audit): (usize, &Audit)| {
            self.say(format_args!(
                "audit {} of {}: {}",
                index + 1,
                audits.len(),
                audit.name
            ));
            audit
                .run(out, access, &control)
                .map_err(|e| in_audit(audit, e))
        };
        audits.iter().enumerate().map(run).collect::<Result<_>>()
    }

    /// The directory of this check's runs.
    fn directory(&self) -> Result<PathBuf> {
        if let Some(out) = &self.out {
            return Ok(out.clone());
        }
        let mut time = rfc3339_utc(SystemTime::now());
        time.retain(|c| c.is_ascii_alphanumeric());
        unused(Path::new(CHECKS), &time)
    }

    fn say(&self, what: std::fmt::Arguments<'_>) {
        if !self.quiet {
            say(what);
        }
    }
}

/// The message for a check that was stopped.
const FAREWELL: &str = "interrupted: a check begins anew each time";

fn dry_run(audits: &[Audit], access: &Access) -> Result<Outcome> {
    let plan = |audit| -> Result<_> {
        let audit: &Audit = audit;
        let cells = audit.plan(access).map_err(|e| in_audit(audit, e))?;
        Ok((audit.name.as_str(), cells))
    };
    let plans: Vec<_> = audits.iter().map(plan).collect::<Result<_>>()?;
    print(&report::plan(&plans))?;
    Ok(Outcome::Done)
}

fn in_audit(audit: &Audit, error: Error) -> Error {
    error.context(format!("audit '{}'", audit.name))
}
