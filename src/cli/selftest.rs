//! `teda selftest`: whether the statistics hold on this machine.

use clap::Args;
use teda_core::{Error, Result};

use super::flags::SpeedArguments;
use super::output::{fitted, print};
use super::waiting::watch;
use teda::report::columns::table;
use teda::selftest::{Check, Outcome, Size, run};

/// Audits mechanisms of known epsilon thousands of times and counts how often each estimator is wrong.
///
/// A bound at level alpha may exceed the true epsilon in a share of alpha/2 of all audits; the table shows
/// how often it did, with the exact p-value of more than that. Planted bugs must be seen. Exit status 1 where a
/// check fails.
#[derive(Args)]
pub struct Arguments {
    /// 20,000 audits of 1,000 trials instead of 2,000 of 300
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    speed: SpeedArguments,
}

impl Arguments {
    pub fn run(self) -> Result<super::Outcome> {
        let size = if self.full { Size::FULL } else { Size::QUICK };
        let watch = watch(false);
        let tell = |done, total| watch("checking mechanisms", done, total);
        let checks = self.speed.pool()?.install(|| run(size, &tell))?;
        print(&render(&checks))?;
        let failed = checks
            .iter()
            .filter(|c| c.outcome == Outcome::Failed)
            .count();
        if failed == 0 {
            return Ok(super::Outcome::Done);
        }
        Err(Error::failed(format!(
            "{failed} of {} checks failed: do not trust this build's bounds",
            checks.len()
        )))
    }
}

fn render(checks: &[Check]) -> String {
    let mut rows = table([
        "check",
        "audits",
        "above the truth",
        "may be",
        "p",
        "outcome",
    ]);
    for check in checks {
        let share = check.exceeded as f64 / check.audits as f64;
        rows.add_row([
            check.what.clone(),
            check.audits.to_string(),
            format!("{} ({share:.4})", check.exceeded),
            check.allowed.to_string(),
            format!("{:.4}", check.p),
            match check.outcome {
                Outcome::Passed => "ok".to_owned(),
                Outcome::Failed => "FAILED".to_owned(),
                Outcome::Shown => "credible, no promise".to_owned(),
            },
        ]);
    }
    fitted(rows)
}
