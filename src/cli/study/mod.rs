//! `teda study`: a paper's figures, tables and statements, run again.

mod file;
mod shipped;

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use teda::report::columns::table;
use teda::study::{self, Document, Outcome as Tested, Study};
use teda_core::{Error, Result, plain};

use self::shipped::SHIPPED;
use super::Outcome;
use super::flags::{AccessArguments, PaceArguments};
use super::output::{fitted, print, prose, say};
use super::progress::Terminal;

/// Runs a paper's audits, utilities and tasks again, and tests what the paper says.
///
/// A study is a TOML file of audits and tasks, with the paper's published numbers, figures and statements over them. Its
/// result is a page of Markdown with pictures and one JSON: published beside measured numbers, and for each printed
/// statement whether it holds, by a test of stated error. A study that was stopped goes on by the same command.
#[derive(Args)]
#[command(after_long_help = FILE)]
pub struct Arguments {
    /// A study that ships (`teda study list` names them), or a file
    #[arg(value_name = "NAME|FILE")]
    study: String,
    /// How much is run: smoke (a minute, to see that it runs), default (what ships, half an hour at most), or paper (the
    /// published models and sizes)
    #[arg(long, value_enum, default_value = "default")]
    scale: Scale,
    /// Data or a model that does not ship, under the study's name for it: NAME=PATH, of a file with columns
    /// NAME=FILE:COLUMN (repeatable)
    #[arg(long = "use", value_name = "NAME=PATH", value_parser = super::flags::parse_setting)]
    given: Vec<(String, String)>,
    /// Runs only these parts; what is said about others is not tested
    #[arg(long, value_name = "PART,…", value_delimiter = ',')]
    only: Vec<String>,
    /// Directory of the result and of all runs; results/studies/NAME-SCALE when left out
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    access: AccessArguments,
    #[command(flatten)]
    pace: PaceArguments,
    /// How the result is printed
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// No progress and no notes on standard error
    #[arg(long)]
    quiet: bool,
    /// Reads the study, shows its parts, and stops
    #[arg(long)]
    dry_run: bool,
}

/// How much of a study is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scale {
    Smoke,
    Default,
    Paper,
}

impl Scale {
    fn name(self) -> &'static str {
        match self {
            Self::Smoke => "smoke",
            Self::Default => "default",
            Self::Paper => "paper",
        }
    }
}

/// How a study's result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// The statements, for people
    Table,
    /// The page, which is also written
    Markdown,
    /// One document (schema `teda.study/1`)
    Json,
}

const FILE: &str = "Examples:
  teda study list
  teda study teda --scale smoke
  teda study privrewrite --out privrewrite
  teda study dp-gtr --scale paper --use csqa=csqa.jsonl:question
  teda study mine.toml --only figure-2

docs/studies.md describes the file.";

/// The argument that lists what ships.
const LIST: &str = "list";

impl Arguments {
    pub fn run(self) -> Result<Outcome> {
        if self.study == LIST {
            return list();
        }
        let pool = self.pace.speed.pool()?;
        pool.install(|| self.run_here())
    }

    fn run_here(&self) -> Result<Outcome> {
        let study = self.study()?;
        study.check()?;
        if self.dry_run {
            let parts = study.parts.iter().map(|part| format!("{}\n", part.folder));
            print(&parts.collect::<String>())?;
            return Ok(Outcome::Done);
        }
        let out = self.out.clone().unwrap_or_else(|| {
            PathBuf::from("results/studies").join(format!("{}-{}", study.name, study.scale))
        });
        let terminal = Terminal::new(self.quiet);
        let access = self.access.access(self.quiet);
        let begins = |line: &str| {
            if !self.quiet {
                say(line);
            }
        };
        let control = self.pace.control(&terminal);
        let Some(mut document) = study::run(&study, &out, &access, &control, &begins)? else {
            say("interrupted: the same command goes on");
            return Ok(Outcome::Interrupted);
        };
        study::write(&study, &mut document, &out)?;
        print(&match self.format {
            Format::Table => statements(&document),
            Format::Markdown => study::page(&document),
            Format::Json => document.to_line()? + "\n",
        })?;
        if !self.quiet {
            let page = out.join(study::MARKDOWN);
            say(format_args!(
                "the page with numbers and figures: {}",
                page.display()
            ));
        }
        Ok(Outcome::Done)
    }

    /// The study that was named, with the parts that were asked for.
    fn study(&self) -> Result<Study> {
        let given: BTreeMap<&str, &str> = self
            .given
            .iter()
            .map(|(name, file)| (&name[..], &file[..]))
            .collect();
        let limits = self.access.limits();
        let shipped = SHIPPED.iter().find(|one| one.name == self.study);
        let mut study = match shipped {
            Some(one) => {
                let name = format!("studies/{}.toml", one.name);
                file::parse(one.name, &name, one.text, self.scale.name(), &given, limits)?
            }
            None => file::read(&self.study, self.scale.name(), &given, limits)?,
        };
        if !self.only.is_empty() {
            let names: Vec<&str> = study.parts.iter().map(|part| &part.name[..]).collect();
            for wanted in &self.only {
                if !names.contains(&&wanted[..]) {
                    return Err(Error::unknown("part", wanted, &names));
                }
            }
            study.parts.retain(|part| self.only.contains(&part.name));
        }
        Ok(study)
    }
}

/// The statements and what became of them.
fn statements(document: &Document) -> String {
    let mut found = table(["", "where", "statement"]);
    for one in &document.statements {
        found.add_row([
            one.outcome.words().to_owned(),
            plain(&one.place).into_owned(),
            plain(&one.text).into_owned(),
        ]);
    }
    let mut text = format!("{}\n\n", plain(&document.title));
    if !document.statements.is_empty() {
        let summary = prose(&format!("{}.", study::summary(document)));
        text += &format!("{}\n{summary}", fitted(found));
    }
    let refuted = document
        .statements
        .iter()
        .filter(|one| one.outcome == Tested::Refuted);
    for one in refuted {
        let why = plain(&one.why.join("; ")).into_owned();
        text += &prose(&format!("\nrefuted ({}): {why}\n", plain(&one.place)));
    }
    text
}

fn list() -> Result<Outcome> {
    let mut found = table(["study", "what", "source"]);
    for one in SHIPPED {
        let views = file::views(&format!("studies/{}.toml", one.name), one.text)?;
        found.add_row([one.name.to_owned(), views.title, views.source]);
    }
    print(&fitted(found))?;
    Ok(Outcome::Done)
}
