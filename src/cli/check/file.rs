//! The check file: `[defaults]` and `[[audit]]`, whose fields are the flags of `teda audit`.

use std::path::Path;

use teda_core::{Error, Result, plain, shown};
use teda_datasets::Limits;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::audit::Audit;
use super::compare::{FORMERLY, REFERENCE, Recorded};
use super::limits;
use crate::cli::audit_fields::{self, FLAGS};
use crate::cli::fields::{Fields, Source};

/// The limits that the cells of an audit must keep.
const LIMITS: [&str; 6] = [
    "at-most",
    "at-least",
    "expect",
    REFERENCE,
    FORMERLY,
    "tolerance",
];

/// The audits of the check file at `path`.
///
/// # Errors
/// Usage, with the line: for a file that is too large or not TOML, an unknown key or a value that is invalid for its
/// key.
pub fn read(path: &Path, limits: Limits) -> Result<Vec<Audit>> {
    let name = plain(&path.display().to_string()).into_owned();
    let text = audit_fields::text_of(path, &name, limits.text)?;
    let source = Source { name, text: &text };
    let table = source.table()?;
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
        || Fields::read(&source, &DeTable::new(), 0, &[], &[]),
        |value| fields(&source, value, &[&FLAGS[..], &LIMITS].concat()),
    )?;
    let audits = audits(&source, tables, &defaults, limits)?;
    no_repeated_name(&source, &audits)?;
    Ok(audits)
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
    Fields::read(source, table, start, known, &[])
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
    let config = audit_fields::config(&fields, &FLAGS, limits)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_limit_is_a_flag_of_audit() {
        for limit in LIMITS {
            assert!(!FLAGS.contains(&limit), "{limit} is both");
        }
    }
}
