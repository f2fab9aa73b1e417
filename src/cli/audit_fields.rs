//! What files of audits share: the fields of a table as the flags of a command line.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use clap::Parser;
use clap::error::{ContextKind, ContextValue};
use teda::audit::config::Config;
use teda::task::Task;
use teda_core::{Error, Result};
use teda_datasets::Limits;

use super::fields::Fields;
use super::{audit, task};

/// Flags of `teda audit` that determine what is computed. Flags for speed are given to the command that reads the file.
pub const FLAGS: [&str; 28] = [
    "mech",
    "releases",
    "epsilon",
    "dataset",
    "limit",
    "min-words",
    "max-words",
    "split",
    "attack",
    "k",
    "lambda",
    "neighbours",
    "pairs",
    "trials",
    "alpha",
    "delta",
    "estimator",
    "until",
    "seed",
    "set",
    "preset",
    "claim",
    "llm",
    "then",
    "encoder",
    "scorer",
    "judge",
    "precision",
];
/// Flags of `teda task` that determine what is computed.
pub const TASK_FLAGS: [&str; 21] = [
    "mech",
    "epsilon",
    "dataset",
    "label",
    "split",
    "limit",
    "min-words",
    "max-words",
    "seeds",
    "seed",
    "set",
    "preset",
    "llm",
    "then",
    "encoder",
    "scorer",
    "precision",
    "classifier",
    "epochs",
    "learning-rate",
    "train-batch",
];

/// Most characters of a command-line message that are repeated.
const MESSAGE: usize = 2000;

/// The flags of `teda audit`, given by the fields of a file.
#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Flags {
    #[command(flatten)]
    audit: audit::Arguments,
}

/// The flags of `teda task`, given by the fields of a file.
#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct TaskFlags {
    #[command(flatten)]
    task: task::Arguments,
}

/// The text of a file of `limit` bytes at most.
///
/// # Errors
/// Usage, if it cannot be read, is larger, or is no UTF-8.
pub fn text_of(path: &Path, name: &str, limit: u64) -> Result<String> {
    let cannot = |e: &dyn std::fmt::Display| Error::usage(format!("{name}: cannot read: {e}"));
    let file = File::open(path).map_err(|e| cannot(&e))?;
    let mut bytes = Vec::new();
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|e| cannot(&e))?;
    if bytes.len() as u64 > limit {
        return Err(Error::usage(format!(
            "{name}: it has more than {limit} bytes, the most that such a file may have: divide it, or raise --max-text-bytes"
        )));
    }
    String::from_utf8(bytes).map_err(|e| cannot(&e.utf8_error()))
}

/// The configuration that `teda audit` would have with these of the fields.
///
/// # Errors
/// Usage, with the place of the field that cannot be satisfied.
pub fn config(fields: &Fields, flags: &[&str], limits: Limits) -> Result<Config> {
    let flags = Flags::try_parse_from(fields.arguments(flags)).map_err(|e| refused(fields, &e))?;
    let config = flags
        .audit
        .config(limits)
        .map_err(|e| fields.at("name", e))?;
    config.validate().map_err(|e| fields.at("name", e))?;
    Ok(config)
}

/// The task that `teda task` would have with these fields.
///
/// # Errors
/// Usage, with the place of the field that cannot be satisfied.
pub fn task(fields: &Fields) -> Result<Task> {
    let flags = TaskFlags::try_parse_from(fields.arguments(&TASK_FLAGS));
    let flags = flags.map_err(|e| refused(fields, &e))?;
    flags.task.task().map_err(|e| fields.at("name", e))
}

/// The command line's message about the flags, without its advice on usage and with the line of the key.
pub fn refused(fields: &Fields, error: &clap::Error) -> Error {
    let text = error.to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = first.split_whitespace().collect();
    let words = words.join(" ");
    let message = words.strip_prefix("error: ").unwrap_or(&words);
    // It contains a value of the file, which may be long.
    let message: String = message.chars().take(MESSAGE).collect();
    let flag = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(flag)) => flag.as_str(),
        _ => "",
    };
    let key = flag.trim_start_matches('-').split(' ').next();
    fields.at(key.unwrap_or_default(), Error::usage(message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_key_is_a_flag() {
        let has = |command: &clap::Command, keys: &[&str]| {
            let flags: Vec<_> = command
                .get_arguments()
                .filter_map(|a| a.get_long())
                .collect();
            keys.iter()
                .find(|key| !flags.contains(key))
                .map(ToString::to_string)
        };
        assert_eq!(has(&Flags::command(), &FLAGS), None);
        assert_eq!(has(&TaskFlags::command(), &TASK_FLAGS), None);
    }
}
