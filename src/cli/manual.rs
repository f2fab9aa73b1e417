//! `teda completions` and `teda man`: what a shell and `man` know of the command line, made of the command line itself.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;
use teda_attacks::registry as attacks;
use teda_core::{Error, Result, estimator};
use teda_mechanisms::registry as mechanisms;
use teda_results::atomic_write;
use teda_utilities::registry as utilities;

use super::Outcome;
use super::output::{print, say};

/// Prints what a shell completes commands and flags with.
#[derive(Args)]
#[command(after_long_help = INSTALL)]
pub struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

const INSTALL: &str = "Where shells look for it:
  teda completions bash > ~/.local/share/bash-completion/completions/teda
  teda completions zsh > ~/.zfunc/_teda            # with fpath+=~/.zfunc before compinit in ~/.zshrc
  teda completions fish > ~/.config/fish/completions/teda.fish";

/// Prints a manual page, or writes those of all commands.
#[derive(Args)]
#[command(after_long_help = READ)]
pub struct Pages {
    /// The command, such as `audit` or `models pull`; `teda` itself when left out
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    command: Vec<String>,
    /// Writes the pages of all commands into this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const READ: &str = "Examples:
  teda man audit | man -l -
  teda man --out ~/.local/share/man/man1";

impl Completions {
    /// Prints them for the command line `cli`.
    pub fn run(self, cli: &Command) -> Result<Outcome> {
        let mut script = Vec::new();
        let name = cli.get_name().to_owned();
        clap_complete::generate(self.shell, &mut naming(cli.clone()), name, &mut script);
        print(&String::from_utf8_lossy(&script))?;
        Ok(Outcome::Done)
    }
}

/// The command line with the names that its flags can have, for a shell: what a flag takes besides, such as `exec:…`, is not
/// completed.
fn naming(mut command: Command) -> Command {
    let with_summary = |(name, summary): (&'static str, &'static str)| {
        // Shells end a summary at a line, and some at a quote.
        PossibleValue::new(name).help(summary.replace(['\n', '\'', '"', '`'], " "))
    };
    let names: [(&str, Vec<PossibleValue>); 4] = [
        (
            "mech",
            mechanisms::ALL
                .iter()
                .map(|e| (e.name, e.summary))
                .map(with_summary)
                .collect(),
        ),
        (
            "attack",
            attacks::ALL
                .iter()
                .map(|e| (e.name, e.summary))
                .map(with_summary)
                .collect(),
        ),
        (
            "utility",
            utilities::ALL
                .iter()
                .map(|e| (e.name, e.summary))
                .map(with_summary)
                .collect(),
        ),
        (
            "estimator",
            estimator::ALL
                .iter()
                .map(|e| (e.name, e.summary))
                .map(with_summary)
                .collect(),
        ),
    ];
    for (flag, names) in names {
        if command
            .get_arguments()
            .any(|argument| argument.get_id() == flag)
        {
            let names = PossibleValuesParser::new(names);
            command = command.mut_arg(flag, |argument| argument.value_parser(names));
        }
    }
    command.mut_subcommands(naming)
}

impl Pages {
    /// Prints or writes those of the command line `cli`.
    pub fn run(self, cli: &Command) -> Result<Outcome> {
        let mut cli = cli.clone().disable_help_subcommand(true);
        // Gives every command its full name.
        cli.build();
        if let Some(out) = &self.out {
            std::fs::create_dir_all(out)
                .map_err(|e| Error::failed(format!("{}: cannot create: {e}", out.display())))?;
            let pages = write(&cli, out)?;
            say(format_args!("{pages} pages written to {}", out.display()));
            return Ok(Outcome::Done);
        }
        let mut command = &cli;
        for name in &self.command {
            let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            let found = command.find_subcommand(name);
            command = found.ok_or_else(|| Error::unknown("command", name, &known))?;
        }
        print(&page(command)?.1)?;
        Ok(Outcome::Done)
    }
}

/// Writes the pages of a command and all below it; how many these are.
fn write(command: &Command, out: &Path) -> Result<u64> {
    let (name, page) = page(command)?;
    atomic_write(&out.join(name), page.as_bytes())?;
    let below = command.get_subcommands().map(|command| write(command, out));
    below.sum::<Result<u64>>().map(|below| below + 1)
}

/// A page with the name of its file.
fn page(command: &Command) -> Result<(String, String)> {
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page)
        .map_err(|e| Error::failed(format!("cannot make a manual page: {e}")))?;
    Ok((
        man.get_filename(),
        String::from_utf8_lossy(&page).into_owned(),
    ))
}
