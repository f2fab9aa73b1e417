//! `teda audit --config FILE`: flags from a file, where the command line has none.
//!
//! The fields are those of an audit of a check file. A field becomes a flag behind those of the command line, unless the command line
//! has it; so whatever holds for flags holds for fields.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use teda_core::{Error, Result, plain};
use teda_datasets::Limits;

use super::audit_fields::{FLAGS, refused, text_of};
use super::fields::{Fields, Source};

/// Tables of a check file.
const TABLES: [&str; 2] = ["audit", "defaults"];

/// What a configuration file says.
pub struct Given {
    fields: Fields,
    /// The flags for which it is asked.
    flags: Vec<&'static str>,
}

impl Given {
    /// Reads the file that the flags of `teda audit` name, if they name one.
    ///
    /// # Errors
    /// Usage, with the line: for a file that cannot be read or is no TOML, and an unknown key or value.
    pub fn read(audit: &ArgMatches) -> Result<Option<Self>> {
        let Some(path) = audit.get_one::<PathBuf>("config") else {
            return Ok(None);
        };
        let name = plain(&path.display().to_string()).into_owned();
        let text = text_of(path, &name, Limits::default().text)?;
        let source = Source { name, text: &text };
        let table = source.table()?;
        let table = table.get_ref();
        if let Some((key, _)) = table
            .iter()
            .find(|(key, _)| TABLES.contains(&&**key.get_ref()))
        {
            return Err(source.at(
                key.span().start,
                Error::usage(format!(
                    "[{}] is of a file of several audits: run it with teda check; here the fields of one audit stand at the top",
                    key.get_ref()
                )),
            ));
        }
        let known = known();
        let fields = Fields::read(&source, table, 0, &known, &[])?;
        let is_given = |flag: &&str| {
            audit.value_source(&flag.replace('-', "_")) == Some(ValueSource::CommandLine)
        };
        let flags = known.into_iter().filter(|flag| !is_given(flag)).collect();
        Ok(Some(Self { fields, flags }))
    }

    /// The command line with the file's fields behind it.
    ///
    /// # Errors
    /// Usage, with the line of a field that cannot be satisfied.
    pub fn complete(&self, arguments: &[OsString], cli: Command) -> Result<ArgMatches> {
        let more = self.fields.arguments(&self.flags);
        let all = arguments
            .iter()
            .cloned()
            .chain(more.into_iter().map(OsString::from));
        cli.try_get_matches_from(all)
            .map_err(|e| refused(&self.fields, &e))
    }
}

/// The keys: the flags that determine what is computed.
fn known() -> Vec<&'static str> {
    [&FLAGS[..], &["utility"]].concat()
}
