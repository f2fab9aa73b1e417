//! `teda show`: the trials of a run, to read.

mod cells;
mod records;
mod text;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use teda::audit::config::Keep;
use teda::report::browse::filter::{Filter, Matcher};
use teda::report::browse::texts::Texts;
use teda::report::browse::{Trial, Trials};
use teda::report::finished_run::{self, FinishedRun};
use teda_core::Result;
use teda_datasets::Limits;
use teda_results::{Cell, Status};

use self::cells::CellArguments;
use super::Outcome;
use super::output::{prose, say, width};
use super::pager::Output;

/// Shows the trials of a run: candidates, release, and what each attack guessed.
///
/// Without filters it begins with the cells. Nothing is made or judged anew. A run that was stopped can be looked at, too.
#[derive(Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Arguments {
    /// Run directory
    #[arg(value_name = "RUN")]
    run: PathBuf,
    #[command(flatten)]
    cells: CellArguments,
    /// Only trials in which one of these attacks was right
    #[arg(long)]
    hits: bool,
    /// Only trials in which one of these attacks was wrong
    #[arg(long)]
    misses: bool,
    /// Only trials without a release, or without the scores of one of these attacks
    #[arg(long)]
    failed: bool,
    /// Only trials in which a candidate, the release, or what an attack wrote back contains this, whatever its case
    #[arg(long, value_name = "WORDS")]
    text: Option<String>,
    /// Only the trial of this number
    #[arg(long, value_name = "N")]
    trial: Option<u64>,
    /// Most trials to show
    #[arg(long, value_name = "N", default_value_t = 20)]
    limit: u64,
    /// Trials to pass over: those that were shown before
    #[arg(long, value_name = "N", default_value_t = 0)]
    from: u64,
    /// How trials are printed
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Never through a pager; otherwise through $PAGER, or less, where a terminal cannot hold it all
    #[arg(long)]
    no_pager: bool,
}

/// How trials are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Table,
    /// One document (schema `teda.show/1`)
    Json,
    /// One line a trial
    Jsonl,
    /// One line a guess
    Csv,
}

const EXAMPLES: &str = "Examples:
  teda show results/runs/…
  teda show results/runs/… --cell 0 --misses
  teda show results/runs/… --mech em --epsilon 10 --text \"miles davis\"
  teda show results/runs/… --hits --limit 100 --from 100 --format jsonl";

impl Arguments {
    pub fn run(self) -> Result<Outcome> {
        let run = finished_run::look(&self.run)?;
        let wanted = self.cells.choose(&run.manifest.cells)?;
        let results = cells::results(&run);
        let mut sheet = Sheet {
            arguments: &self,
            run: &run,
            texts: Texts::of(&run, Limits::default()),
            width: width(),
            out: Output::new(self.format == Format::Table && !self.no_pager),
        };
        let shown = sheet.show(&results, wanted);
        // The pager is waited for whatever happened.
        sheet.out.finish().and(shown)?;
        Ok(Outcome::Done)
    }

    fn filter(&self) -> Filter {
        Filter {
            hits: self.hits,
            misses: self.misses,
            failed: self.failed,
            trial: self.trial,
            text: self.text.clone(),
        }
    }

    /// Whether the run is looked at for the first time, as it seems.
    fn is_unfiltered(&self) -> bool {
        let is_any = self.hits || self.misses || self.failed;
        self.cells.is_empty()
            && !is_any
            && self.text.is_none()
            && self.trial.is_none()
            && self.from == 0
    }
}

/// The trials of a run as they are printed.
struct Sheet<'a> {
    arguments: &'a Arguments,
    run: &'a FinishedRun,
    texts: Texts,
    width: usize,
    out: Output,
}

impl Sheet<'_> {
    fn show(&mut self, results: &[Option<Cell>], wanted: Vec<bool>) -> Result<()> {
        let arguments = self.arguments;
        let has_rows = self.run.config.keep == Keep::Rows;
        if !self.begin(results, &wanted)? {
            return Ok(());
        }
        let mut matching = 0;
        let mut shown = 0;
        if has_rows || !arguments.is_unfiltered() {
            let filter = arguments.filter();
            let matcher = Matcher::new(self.run, &filter, &self.texts);
            for trial in Trials::open(self.run, wanted)? {
                let trial = trial?;
                if !matcher.fits(&trial) {
                    continue;
                }
                if matching >= arguments.from && shown < arguments.limit {
                    if !self.trial(&trial, shown == 0)? {
                        return Ok(());
                    }
                    shown += 1;
                }
                matching += 1;
                if self.out.is_left() {
                    return Ok(());
                }
            }
        }
        self.end(matching, shown)
    }

    /// What comes before the trials; `false` if nobody reads it.
    fn begin(&mut self, results: &[Option<Cell>], wanted: &[bool]) -> Result<bool> {
        let arguments = self.arguments;
        match arguments.format {
            Format::Table => {
                let mut said = String::new();
                if arguments.is_unfiltered() {
                    said = cells::table(self.run, results, self.width) + "\n";
                }
                for note in self.notes() {
                    said += &(prose(&note) + "\n");
                }
                self.out.write(&said)
            }
            Format::Json => {
                let cells = records::cells(self.run, results, wanted)?;
                let directory = self.run.directory.display().to_string();
                self.out.write(&format!(
                    "{{\"schema\":\"{}\",\"run_dir\":{},\"cells\":{cells},\"from\":{},\"trials\":[",
                    records::SCHEMA,
                    records::written(&directory)?,
                    arguments.from
                ))
            }
            Format::Csv => {
                self.notes().iter().for_each(say);
                self.out.write(&records::line(&records::COLUMNS)?)
            }
            Format::Jsonl => {
                self.notes().iter().for_each(say);
                Ok(true)
            }
        }
    }

    /// What of the run is not there.
    fn notes(&self) -> Vec<String> {
        let place = self.run.directory.display();
        let mut notes = Vec::new();
        if self.run.manifest.status != Status::Complete {
            notes.push(format!(
                "note: this run is not complete, so its cells have no results and attacks that learn have no guesses; go on with: teda audit --resume {place}"
            ));
        } else if let Some((part, parts)) = self.run.manifest.shard
            && self
                .run
                .manifest
                .cells
                .iter()
                .any(|cell| cell.is_deferred())
        {
            notes.push(format!(
                "note: this is part {part} of {parts} of a run; attacks that learn guess once teda merge has joined them"
            ));
        }
        if self.run.config.keep == Keep::Counts {
            notes.push(
                "note: this run kept its counts alone (--keep counts): there are no trials to show"
                    .to_owned(),
            );
        } else if let Some(why) = &self.texts.missing {
            notes.push(format!(
                "note: candidates are shown by number, without their texts: {why}"
            ));
        }
        notes
    }

    /// One trial; `false` if nobody reads it.
    fn trial(&mut self, trial: &Trial, is_first: bool) -> Result<bool> {
        let (run, texts) = (self.run, &self.texts);
        let text = match self.arguments.format {
            Format::Table => text::trial(run, texts, trial, self.width),
            Format::Json if is_first => records::json(run, texts, trial)?,
            Format::Json => format!(",{}", records::json(run, texts, trial)?),
            Format::Jsonl => records::json(run, texts, trial)? + "\n",
            Format::Csv => records::csv(run, texts, trial)?,
        };
        self.out.write(&text)
    }

    /// What comes after the trials: how many there are in all, and how the next ones are seen.
    fn end(&mut self, matching: u64, shown: u64) -> Result<()> {
        let from = self.arguments.from;
        let rest = matching.saturating_sub(from.saturating_add(shown));
        let said = match (matching, shown, rest) {
            (0, ..) => "no trial matches".to_owned(),
            (_, 0, 0) => format!("{matching} trials match; --from {from} is beyond the last"),
            (1, ..) => "1 trial matches".to_owned(),
            (.., 0) => format!("{matching} trials match"),
            _ => format!(
                "{shown} of {matching} trials that match; the next: add --from {}",
                from + shown
            ),
        };
        match self.arguments.format {
            Format::Table if self.run.config.keep == Keep::Counts => {}
            Format::Table => {
                let legend = if shown > 0 { text::LEGEND } else { "" };
                for sentence in [legend, &said].into_iter().filter(|said| !said.is_empty()) {
                    self.out.write(&prose(sentence))?;
                }
            }
            Format::Json => {
                self.out.write(&format!("],\"matching\":{matching}}}\n"))?;
            }
            Format::Jsonl | Format::Csv => say(said),
        }
        Ok(())
    }
}
