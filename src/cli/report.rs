//! `teda report`: results and curves from stored rows alone.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use teda_attacks::Choice;
use teda_core::{Error, Result};
use teda_results::{CellPlan, Manifest, UtilityCell, Writer, guesses};

use super::Outcome;
use super::flags::{AccessArguments, SpeedArguments};
use super::output::{self, Format, print, say, warn, width};
use teda::audit::choices::{Attacks, EstimatorChoice};
use teda::audit::counting;
use teda::models::Access;
use teda::report::agreement;
use teda::report::complete;
use teda::report::curves::{Axis, View};
use teda::report::finish;
use teda::report::finished_run::{self, FinishedRun};
use teda::report::rejudge::{Asked, Request};
use teda::report::{told_apart, utilities};

/// Judges and draws stored runs again, from their rows alone; several runs go into one picture.
#[derive(Args)]
pub struct Arguments {
    /// Run directories
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,
    /// Two-sided confidence level, if another than the run's
    #[arg(long, value_name = "A", allow_hyphen_values = true)]
    alpha: Option<f64>,
    /// Delta, if another than the run's
    #[arg(long, value_name = "D", allow_hyphen_values = true)]
    delta: Option<f64>,
    /// Estimator, if another than the run's
    #[arg(long, value_name = "NAME")]
    estimator: Option<String>,
    /// Attacks to put to the stored rows, nothing being rewritten: those of the runs are shown as they are, others
    /// judge now (see `teda list attacks`); auto for those that an audit has by default
    #[arg(long, value_name = "NAME,…")]
    attack: Option<String>,
    /// Shows in how many trials two attacks of a run disagree, with examples, instead of its cells
    #[arg(long, conflicts_with_all = ["attack", "alpha", "delta", "estimator", "utility", "out", "x", "success"])]
    agreement: bool,
    /// Language model that the attack `llm` judges with and `reconstruct` writes with, if another than the run's
    #[arg(long, value_name = "MODEL", requires = "attack")]
    judge: Option<String>,
    /// What the releases are still good for: cosine, bertscore, rouge1, rougeL, bleu, perplexity, length, copied, or all
    /// (see `teda list utilities`)
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    utility: Vec<String>,
    /// Encoder of cosine and bertscore, if another than the run's
    #[arg(long, value_name = "MODEL", requires = "utility")]
    encoder: Option<String>,
    /// Language model of the perplexity, if another than the run's
    #[arg(long, value_name = "MODEL", requires = "utility")]
    scorer: Option<String>,
    #[command(flatten)]
    access: AccessArguments,
    #[command(flatten)]
    speed: SpeedArguments,
    /// Where curve.svg, curve.png, cells.csv and result.json go; needed for several runs or other
    /// settings, the run's own directory when left out
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// What the x axis of the curve shows
    #[arg(long, value_name = "AXIS", value_enum, default_value = "nominal")]
    x: X,
    /// Shows the success rate that each epsilon stands for beside it on the y axis of the curve
    #[arg(long)]
    success: bool,
    /// Writes report.html, too: one page with verdicts, curve, pairs and trials to browse, of all these runs
    #[arg(long)]
    page: bool,
    /// How the result is printed
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
}

/// What the x axis of a curve can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum X {
    /// The nominal epsilon as published, whatever it is spent on
    Nominal,
    /// The nominal epsilon of a text of mean length: times its tokens or triples where it is spent on these (TeDA, Figure 7)
    Text,
}

impl From<X> for Axis {
    fn from(x: X) -> Self {
        match x {
            X::Nominal => Self::Nominal,
            X::Text => Self::PerText,
        }
    }
}

impl Arguments {
    pub fn run(self) -> Result<Outcome> {
        let pool = self.speed.pool()?;
        pool.install(|| self.run_here())
    }

    /// How the curve is drawn.
    fn view(&self) -> View {
        View {
            x: self.x.into(),
            success: self.success,
        }
    }

    /// How the attacks of the runs agree, on standard output.
    fn show_agreement(&self) -> Result<Outcome> {
        let mut agreements = Vec::new();
        let opened = self.runs.iter().map(|run| finished_run::open(run));
        let mut opened = opened.collect::<Result<Vec<_>>>()?;
        let names = told_apart::names(&opened.iter().collect::<Vec<_>>())?;
        for (stored, names) in opened.iter_mut().zip(&names) {
            let cells = stored.manifest.cells.iter_mut();
            told_apart::rename(names, cells.map(|cell| &mut cell.mechanism));
            agreements.extend(agreement::agreements(stored, self.access.limits())?);
        }
        print(&match self.format {
            Format::Table => agreement::render(&agreements, width()),
            Format::Markdown => agreement::markdown(&agreements),
            Format::Latex => agreement::latex(&agreements),
            Format::Json => {
                let document =
                    serde_json::json!({"schema": "teda.agreement/1", "agreements": agreements});
                format!("{document}\n")
            }
            Format::Csv => {
                return Err(Error::usage(
                    "agreement has no CSV: its examples are texts; take --format json",
                ));
            }
        })?;
        Ok(Outcome::Done)
    }

    fn run_here(&self) -> Result<Outcome> {
        if self.agreement {
            return self.show_agreement();
        }
        let other = self.alpha.is_some()
            || self.delta.is_some()
            || self.estimator.is_some()
            || self.attack.is_some();
        let redrawn = other || self.view() != View::default();
        let out = match (&self.out, &self.runs[..]) {
            (Some(out), _) => out.clone(),
            (None, [run]) if !redrawn => run.clone(),
            (None, _) => {
                return Err(Error::usage(
                    "several runs, or other settings than a run's own, need --out DIR: a run's own results are not overwritten",
                ));
            }
        };
        let access = self.access.access(false);
        let estimator = self.estimator.as_deref().map(EstimatorChoice::parse);
        let estimator = estimator.transpose()?;
        let attacks = self.attack.as_deref().map(Choice::split);
        let request = Request {
            attacks: attacks.as_deref().map(Attacks::parse).transpose()?,
            judge: self.judge.clone(),
            estimator,
        };
        let place = |path: &Path| std::fs::canonicalize(path).ok();
        let own = !redrawn && matches!(&self.runs[..], [run] if place(run) == place(&out));
        if !own && Manifest::load(&out).is_ok() {
            return Err(Error::usage(format!(
                "--out {}: this is a run, and its own results are not overwritten",
                out.display()
            )));
        }
        let mut runs: Vec<(FinishedRun, Vec<Asked>)> = Vec::new();
        for run in &self.runs {
            let mut stored = finished_run::open(run)?;
            if other {
                stored.needs_rows()?;
            }
            for plan in &mut stored.manifest.cells {
                plan.alpha = self.alpha.unwrap_or(plan.alpha);
                plan.delta = self.delta.unwrap_or(plan.delta);
            }
            if let Some(estimator) = estimator {
                stored.judge_by(estimator)?;
            }
            let asked = request.cells(&stored)?;
            runs.push((stored, asked));
        }
        std::fs::create_dir_all(&out)
            .map_err(|e| Error::failed(format!("{}: cannot create: {e}", out.display())))?;
        let is_kept = !(self.out.is_none() && is_read_only(&out));
        let shown = runs.iter().flat_map(|(_, asked)| asked);
        let shown: Vec<CellPlan> = shown.map(|asked| asked.plan.clone()).collect();
        let choices = counting::choices(&shown);
        let stored: Vec<&FinishedRun> = runs.iter().map(|(stored, _)| stored).collect();
        let names = told_apart::names(&stored)?;
        for ((stored, asked), names) in runs.iter_mut().zip(&names) {
            let planned = stored.manifest.cells.iter_mut();
            let asked = asked.iter_mut().map(|asked| &mut asked.plan);
            let cells = planned.chain(asked);
            told_apart::rename(names, cells.map(|cell| &mut cell.mechanism));
        }
        let is_new =
            |(_, asked): &(FinishedRun, Vec<Asked>)| asked.iter().any(|a| a.new_attack().is_some());
        let reads = |(_, asked): &(FinishedRun, Vec<Asked>)| {
            asked
                .iter()
                .filter_map(Asked::new_attack)
                .any(Choice::reads)
        };
        let reads = runs.iter().any(reads);
        let sink = runs
            .iter()
            .any(is_new)
            .then(|| guesses::create(&out, reads));
        let mut sink = sink.transpose()?;
        let mut cells = Vec::new();
        for (stored, asked) in &runs {
            let first = cells.len();
            let choices = &choices[first..first + asked.len()];
            cells.extend(request.judge(stored, asked, choices, first, sink.as_mut(), &access)?);
        }
        sink.map_or(Ok(()), Writer::finish)?;
        let view = self.view();
        view.check(&cells)?;
        let mut by_run = self.measured(&runs, &access)?;
        for (measured, names) in by_run.iter_mut().zip(&names) {
            told_apart::rename(names, measured.iter_mut().map(|cell| &mut cell.mechanism));
        }
        let measured = by_run.concat();
        if is_kept {
            finish::write_results(&out, &cells, &measured, view)?;
            if self.page {
                let mut rest = &cells[..];
                let shown = runs
                    .iter()
                    .zip(&by_run)
                    .map(|((stored, asked), utilities)| {
                        let (own, others) = rest.split_at(asked.len());
                        rest = others;
                        (stored, own, &utilities[..])
                    });
                let shown: Vec<_> = shown.collect();
                complete::page(&out, &shown, self.access.limits())?;
            }
        }
        warn(&cells);
        print(&output::cells(self.format, &out, cells, measured)?)?;
        let place = out.display();
        match is_kept {
            true => say(format_args!("written to {place}")),
            false => say(format_args!("not written: {place} is read-only")),
        }
        Ok(Outcome::Done)
    }
}

impl Arguments {
    /// The utilities asked for, or those that the runs have, run by run.
    fn measured(
        &self,
        runs: &[(FinishedRun, Vec<Asked>)],
        access: &Access,
    ) -> Result<Vec<Vec<UtilityCell>>> {
        let asked = utilities::Asked {
            utilities: self.utility.clone(),
            encoder: self.encoder.clone(),
            scorer: self.scorer.clone(),
        };
        let of_run = |(stored, _): &(FinishedRun, Vec<Asked>)| match self.utility.is_empty() {
            true => utilities::stored(&stored.directory),
            false => utilities::measure(stored, &asked, access),
        };
        runs.iter().map(of_run).collect()
    }
}

/// Whether nothing can be written into a directory that is there.
fn is_read_only(directory: &Path) -> bool {
    let probe = directory.join(".writable");
    match std::fs::File::create_new(&probe) {
        Ok(_) => {
            // What was made a moment ago can be removed, and is empty if it cannot.
            let _ = std::fs::remove_file(&probe);
            false
        }
        Err(e) => matches!(
            e.kind(),
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
        ),
    }
}
