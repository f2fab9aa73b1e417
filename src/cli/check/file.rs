//! The check file: `[defaults]` and `[[audit]]`, whose fields are the flags of `teda audit`.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use clap::Parser;
use clap::error::{ContextKind, ContextValue};
use teda_core::{Error, Result, plain, shown};
use teda_datasets::Limits;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::audit::Audit;
use super::compare::{FORMERLY, REFERENCE, Recorded};
use super::fields::{Fields, Source};
use super::limits;
use crate::cli::audit;
use teda::audit::config::Config;

/// Flags of `teda audit` that determine what is computed. Flags for speed are given to `teda check`.
const FLAGS: [&str; 27] = [
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
];
/// The limits that the cells of an audit must keep.
const LIMITS: [&str; 6] = [
    "at-most",
    "at-least",
    "expect",
    REFERENCE,
    FORMERLY,
    "tolerance",
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

/// The audits of the check file at `path`.
///
/// # Errors
/// Usage, with the line: for a file that is too large or not TOML, an unknown key or a value that is invalid for its
/// key.
pub fn read(path: &Path, limits: Limits) -> Result<Vec<Audit>> {
    let name = plain(&path.display().to_string()).into_owned();
    let text = text_of(path, &name, limits.text)?;
    let source = Source { name, text: &text };
    let table = DeTable::parse(&text).map_err(|e| {
        let start = e.span().map_or(0, |span| span.start);
        source.at(
            start,
            Error::usage(format!("invalid TOML: {}", e.message())),
        )
    })?;
    let (mut defaults, mut tables) = (None, None);
    for (key, value) in table.get_ref() {
        match &**key.get_ref() {
            "defaults" => defaults = Some(value),
            "audit" => tables = Some(value),
            other => {
                let unknown = Error::unknown("table", other, &["audit", "defaults"]);
                return Err(source.at(key.span().start, unknown));
            }
        }
    }
    let defaults = defaults.map_or_else(
        || Fields::read(&source, &DeTable::new(), 0, &[]),
        |value| fields(&source, value, &[&FLAGS[..], &LIMITS].concat()),
    )?;
    let audits = audits(&source, tables, &defaults, limits)?;
    no_repeated_name(&source, &audits)?;
    Ok(audits)
}

/// The text of a check file of `limit` bytes at most.
fn text_of(path: &Path, name: &str, limit: u64) -> Result<String> {
    let cannot = |e: &dyn std::fmt::Display| Error::usage(format!("{name}: cannot read: {e}"));
    let file = File::open(path).map_err(|e| cannot(&e))?;
    let mut bytes = Vec::new();
    let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes);
    read.map_err(|e| cannot(&e))?;
    if bytes.len() as u64 > limit {
        return Err(Error::usage(format!(
            "{name}: it has more than {limit} bytes, the most that a check file may have: divide it, or raise --max-text-bytes"
        )));
    }
    String::from_utf8(bytes).map_err(|e| cannot(&e.utf8_error()))
}

fn audits(
    source: &Source<'_>,
    tables: Option<&Spanned<DeValue<'_>>>,
    defaults: &Fields,
    limits: Limits,
) -> Result<Vec<Audit>> {
    let known = [&["name"], &FLAGS[..], &LIMITS].concat();
    let tables = tables.and_then(|value| value.get_ref().as_array());
    let tables = tables.filter(|tables| !tables.is_empty()).ok_or_else(|| {
        Error::usage(format!(
            "{}: nothing to check: write one [[audit]] table for each audit",
            source.name
        ))
    })?;
    tables
        .iter()
        .map(|value| audit_of(fields(source, value, &known)?, defaults, limits))
        .collect()
}

fn fields(source: &Source<'_>, value: &Spanned<DeValue<'_>>, known: &[&str]) -> Result<Fields> {
    let start = value.span().start;
    let table = value.get_ref().as_table().ok_or_else(|| {
        let found = value.get_ref().type_str();
        source.at(
            start,
            Error::usage(format!("a value of type {found}, where a table is meant")),
        )
    })?;
    Fields::read(source, table, start, known)
}

fn audit_of(own: Fields, defaults: &Fields, limits: Limits) -> Result<Audit> {
    let refers = |fields: &Fields| fields.has(REFERENCE) || fields.has(FORMERLY);
    if own.has("tolerance") && !refers(&own) && !refers(defaults) {
        return Err(own.at(
            "tolerance",
            Error::usage("tolerance without reference: there is nothing to compare with"),
        ));
    }
    let fields = own.or(defaults);
    let name = name(&fields)?;
    let config = config(&fields, limits)?;
    let recorded = Recorded::read_field(&fields, &config)?;
    Ok(Audit {
        limits: limits::Limits::read(&fields)?,
        has_old_key: fields.has(FORMERLY),
        recorded,
        config,
        name,
    })
}

/// The audit's name, which can name a directory on every system.
fn name(fields: &Fields) -> Result<String> {
    let name = fields
        .word("name")?
        .ok_or_else(|| fields.at("name", Error::usage("an [[audit]] without a name")))?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if name.chars().all(plain) && name.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return Ok(name.to_owned());
    }
    Err(fields.at(
        "name",
        Error::usage(format!(
            "name = '{}': it names a directory; begin with a letter or digit and go on with these, '-', '_' and '.'",
            shown(name)
        )),
    ))
}

fn no_repeated_name(source: &Source<'_>, audits: &[Audit]) -> Result<()> {
    for (index, audit) in audits.iter().enumerate() {
        // Some file systems do not tell capitals apart.
        let same = |other: &Audit| other.name.eq_ignore_ascii_case(&audit.name);
        if audits[..index].iter().any(same) {
            return Err(Error::usage(format!(
                "{}: two audits are named '{}': names tell results apart",
                source.name, audit.name
            )));
        }
    }
    Ok(())
}

/// The configuration that `teda audit` would have with these flags.
fn config(fields: &Fields, limits: Limits) -> Result<Config> {
    let flags = Flags::try_parse_from(fields.arguments(&FLAGS)).map_err(|e| refused(fields, &e))?;
    let config = flags
        .audit
        .config(limits)
        .map_err(|e| fields.at("name", e))?;
    config.validate().map_err(|e| fields.at("name", e))?;
    Ok(config)
}

/// The command line's message about the flags, without its advice on usage and with the line of the key.
fn refused(fields: &Fields, error: &clap::Error) -> Error {
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
    fn every_key_is_a_flag_of_audit() {
        let command = Flags::command();
        let flags: Vec<_> = command
            .get_arguments()
            .filter_map(|a| a.get_long())
            .collect();
        for key in FLAGS {
            assert!(flags.contains(&key), "{key}");
        }
        for limit in LIMITS {
            assert!(!flags.contains(&limit), "{limit} is both");
        }
    }
}
