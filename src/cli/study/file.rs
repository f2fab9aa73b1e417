//! The study file: parts whose fields are the flags of `teda audit` and `teda task`, and what is said about them.
//!
//! A field stands in the part's own table for one scale, in the part's own table, in `[mechanism.NAME]` (for one scale, then for
//! all), in the table of the scale, or in `[all]`; the first of these that has it counts. A part of several mechanisms is run
//! as several where some have fields of their own.

use std::collections::BTreeMap;
use std::path::Path;

use teda::audit::choices::EstimatorChoice;
use teda::study::{Part, Samples, Study, Views, What};
use teda_core::{Error, Result, plain};
use teda_datasets::Limits;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::cli::audit_fields::{self, FLAGS, TASK_FLAGS};
use crate::cli::fields::{Fields, Source};

/// The tables of scales.
const SCALES: [&str; 3] = ["smoke", "default", "paper"];
/// Fields of every part.
const OWN: [&str; 3] = ["name", "method", "skip"];
/// What a name begins with for which the user gives a path: of data and models that do not ship.
const NAMED: char = '$';

/// A kind of part: its table, and its own fields besides those of every part.
struct Kind {
    table: &'static str,
    fields: &'static [&'static str],
    flags: &'static [&'static str],
}

const KINDS: [Kind; 4] = [
    Kind {
        table: "audit",
        fields: &["utility", "compare-attacks", "of"],
        flags: &FLAGS,
    },
    Kind {
        table: "task",
        fields: &[],
        flags: &TASK_FLAGS,
    },
    Kind {
        table: "samples",
        fields: &["text", "seeds"],
        flags: &FLAGS,
    },
    Kind {
        table: "snr",
        fields: &[],
        flags: &FLAGS,
    },
];

/// The study in the file at `path`, at one scale, with paths for what it names.
///
/// # Errors
/// Usage, with the place, for a file that cannot be read, a field that is unknown or a value that cannot be satisfied.
pub fn read(
    path: &str,
    scale: &str,
    given: &BTreeMap<&str, &str>,
    limits: Limits,
) -> Result<Study> {
    let name = plain(path).into_owned();
    let file = Path::new(path);
    let text = audit_fields::text_of(file, &name, limits.text).map_err(|e| {
        e.context("no study of that name ships (see `teda study list`), and as a file")
    })?;
    let stem = file
        .file_stem()
        .map_or_else(|| name.clone(), |stem| stem.to_string_lossy().into_owned());
    parse(&stem, &name, &text, scale, given, limits)
}

/// What the study says besides its parts.
///
/// # Errors
/// Usage, with the line, for what cannot be read.
pub fn views(name: &str, text: &str) -> Result<Views> {
    toml::from_str(text).map_err(|e| Error::usage(format!("{name}: {e}")))
}

/// The study in `text`, whose file is called `name`.
///
/// # Errors
/// See [`read`].
pub fn parse(
    study: &str,
    name: &str,
    text: &str,
    scale: &str,
    given: &BTreeMap<&str, &str>,
    limits: Limits,
) -> Result<Study> {
    let views = views(name, text)?;
    let source = Source {
        name: name.to_owned(),
        text,
    };
    let table =
        DeTable::parse(text).map_err(|e| Error::usage(format!("{name}: {}", e.message())))?;
    let table = table.get_ref();
    known(&source, table)?;
    let shared = [scale, "all"]
        .into_iter()
        .filter_map(|key| Some((key, table.get(key)?)))
        .map(|(_, value)| Table::of(&source, value))
        .collect::<Result<Vec<_>>>()?;
    let own = Mechanisms::of(&source, table, scale)?;
    let mut parts: Vec<(usize, Part)> = Vec::new();
    for kind in &KINDS {
        let Some(value) = table.get(kind.table) else {
            continue;
        };
        let list = value.get_ref().as_array().ok_or_else(|| {
            source.at(
                value.span().start,
                Error::usage(format!("write [[{}]], a table for each", kind.table)),
            )
        })?;
        for value in list {
            let place = value.span().start;
            let written = Written {
                source: &source,
                table: Table::of(&source, value)?,
                kind,
                scale,
                shared: &shared,
            };
            for (mechanism, fields) in written.by_mechanism(&own)? {
                if let Some(part) = part(&fields, kind, mechanism, given, limits)? {
                    parts.push((place, part));
                }
            }
        }
    }
    // Parts run in the order in which they are written.
    parts.sort_by_key(|(place, _)| *place);
    Ok(Study {
        name: study.to_owned(),
        scale: scale.to_owned(),
        views,
        parts: parts.into_iter().map(|(_, part)| part).collect(),
    })
}

/// The fields of mechanisms, at one scale: the first of its tables that has a field counts.
struct Mechanisms<'a>(BTreeMap<String, Vec<Table<'a>>>);

impl<'a> Mechanisms<'a> {
    fn of(source: &Source<'_>, table: &'a DeTable<'a>, scale: &str) -> Result<Self> {
        let Some(value) = table.get("mechanism") else {
            return Ok(Self(BTreeMap::new()));
        };
        let all = Table::of(source, value)?.table.iter();
        let mut mechanisms = BTreeMap::new();
        for (name, value) in all {
            let own = Table::of(source, value)?;
            let at_scale = own
                .table
                .get(scale)
                .map(|value| Table::of(source, value))
                .transpose()?;
            let tables: Vec<Table<'_>> = at_scale.into_iter().chain([own]).collect();
            // One with fields for other scales alone is run together with others at this one.
            let is_field = |key: &str| !SCALES.contains(&key);
            if tables
                .iter()
                .any(|own| own.table.keys().any(|key| is_field(key.get_ref())))
            {
                mechanisms.insert(name.get_ref().to_string(), tables);
            }
        }
        Ok(Self(mechanisms))
    }
}

/// Refuses a table that a study does not have.
fn known(source: &Source<'_>, table: &DeTable<'_>) -> Result<()> {
    let said = [
        "title",
        "source",
        "about",
        "error",
        "statement",
        "published",
        "figure",
        "mechanism",
        "all",
    ];
    let kinds = KINDS.iter().map(|kind| kind.table);
    let names: Vec<&str> = said.into_iter().chain(SCALES).chain(kinds).collect();
    for key in table.keys() {
        let name: &str = key.get_ref();
        if !names.contains(&name) {
            return Err(source.at(key.span().start, Error::unknown("key", name, &names)));
        }
    }
    Ok(())
}

/// A table and where it begins.
struct Table<'a> {
    table: &'a DeTable<'a>,
    start: usize,
}

impl<'a> Table<'a> {
    fn of(source: &Source<'_>, value: &'a Spanned<DeValue<'a>>) -> Result<Self> {
        let start = value.span().start;
        let found = value.get_ref().as_table();
        let table = found.ok_or_else(|| source.at(start, Error::usage("a table is meant here")))?;
        Ok(Self { table, start })
    }
}

/// A part as it is written.
struct Written<'a> {
    source: &'a Source<'a>,
    table: Table<'a>,
    kind: &'a Kind,
    scale: &'a str,
    shared: &'a [Table<'a>],
}

impl Written<'_> {
    /// The fields of each part that this is run as: one for each mechanism that has fields of its own, with its name, and
    /// one for the others.
    fn by_mechanism(&self, own: &Mechanisms<'_>) -> Result<Vec<(Option<String>, Fields)>> {
        let written = self.written()?;
        let (apart, together): (Vec<String>, Vec<String>) = self
            .with_shared(written.clone())?
            .words("mech")
            .into_iter()
            .partition(|name| own.0.contains_key(name));
        if apart.is_empty() {
            return Ok(vec![(None, self.with_shared(written)?)]);
        }
        let mut parts = Vec::new();
        for name in apart {
            let mut fields = written.clone();
            for table in &own.0[&name] {
                fields = fields.or(&self.of_kind(table)?);
            }
            let fields = self
                .with_shared(fields)?
                .with("mech", std::slice::from_ref(&name));
            parts.push((Some(name), fields));
        }
        if !together.is_empty() {
            parts.push((
                Some("others".to_owned()),
                self.with_shared(written)?.with("mech", &together),
            ));
        }
        Ok(parts)
    }

    /// The fields in the part's own tables.
    fn written(&self) -> Result<Fields> {
        let known = self.known();
        let Table { table, start } = &self.table;
        let fields = Fields::read(self.source, table, *start, &known, &SCALES)?;
        match table.get(self.scale) {
            None => Ok(fields),
            Some(value) => {
                let Table { table, start } = Table::of(self.source, value)?;
                Ok(Fields::read(self.source, table, start, &known, &[])?.or(&fields))
            }
        }
    }

    fn with_shared(&self, mut fields: Fields) -> Result<Fields> {
        for table in self.shared {
            fields = fields.or(&self.of_kind(table)?);
        }
        Ok(fields)
    }

    /// Those of a table's fields that this kind of part has: what several parts share may be a field of some kinds alone.
    fn of_kind(&self, table: &Table<'_>) -> Result<Fields> {
        let all = KINDS
            .iter()
            .flat_map(|kind| kind.fields.iter().chain(kind.flags));
        let mut all: Vec<&str> = OWN.iter().chain(all).copied().collect();
        all.sort_unstable();
        all.dedup();
        let fields = Fields::read(self.source, table.table, table.start, &all, &SCALES)?;
        Ok(fields.only(&self.known()))
    }

    fn known(&self) -> Vec<&'static str> {
        [&OWN[..], self.kind.fields, self.kind.flags].concat()
    }
}

/// The part that these fields describe; none if it is skipped at this scale.
fn part(
    fields: &Fields,
    kind: &Kind,
    mechanism: Option<String>,
    given: &BTreeMap<&str, &str>,
    limits: Limits,
) -> Result<Option<Part>> {
    if fields.word("skip")? == Some("true") {
        return Ok(None);
    }
    let none = || {
        fields.at(
            "name",
            Error::usage(format!("a [[{}]] without a name", kind.table)),
        )
    };
    let name = fields.word("name")?.ok_or_else(none)?.to_owned();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if !name.chars().all(plain) || name.is_empty() {
        return Err(fields.at(
            "name",
            Error::usage(format!(
                "name = '{name}': it names a folder: letters, digits and '-'"
            )),
        ));
    }
    let method = fields.word("method")?.map(ToOwned::to_owned);
    let what = match found(fields, given) {
        Err(needs) => What::Left(needs),
        Ok(fields) => what(&fields, kind, limits)?,
    };
    let folder = mechanism.map_or_else(|| name.clone(), |mechanism| format!("{name}-{mechanism}"));
    Ok(Some(Part {
        name,
        folder,
        method,
        what,
    }))
}

/// The fields with what was given for the names in them, or what they would need.
fn found(fields: &Fields, given: &BTreeMap<&str, &str>) -> std::result::Result<Fields, String> {
    let mut found = fields.clone();
    for key in ["dataset", "then"] {
        let words = fields.words(key);
        let Some(name) = words.first().and_then(|word| word.strip_prefix(NAMED)) else {
            continue;
        };
        let path = given.get(name);
        let path = path.ok_or_else(|| format!("what does not ship: give --use {name}=PATH"))?;
        found = found.with(key, &[(*path).to_owned()]);
    }
    Ok(found)
}

fn what(fields: &Fields, kind: &Kind, limits: Limits) -> Result<What> {
    let audit = |flags: &[&str]| audit_fields::config(fields, flags, limits);
    Ok(match kind.table {
        "task" => What::Task(Box::new(audit_fields::task(fields)?)),
        "samples" => What::Samples(Box::new(Samples {
            texts: fields.words("text"),
            seeds: whole(fields, "seeds")?.unwrap_or(1),
            config: audit(&FLAGS)?,
        })),
        "snr" => What::Snr(Box::new(audit(&FLAGS)?)),
        _ => match fields.word("of")? {
            Some(part) => {
                let estimator = fields.word("estimator")?.ok_or_else(|| {
                    fields.at(
                        "of",
                        Error::usage("an audit of another's trials names its own estimator"),
                    )
                })?;
                What::Again {
                    part: part.to_owned(),
                    estimator: EstimatorChoice::parse(estimator)
                        .map_err(|e| fields.at("estimator", e))?,
                }
            }
            None => {
                let flags = [&FLAGS[..], &["utility"]].concat();
                let compared = fields.word("compare-attacks")? == Some("true");
                What::Audit(Box::new(audit(&flags)?), compared)
            }
        },
    })
}

/// A number of repetitions.
fn whole(fields: &Fields, key: &str) -> Result<Option<u32>> {
    let Some(word) = fields.word(key)? else {
        return Ok(None);
    };
    let number = word
        .parse()
        .ok()
        .filter(|number| (1..=10_000).contains(number));
    let wrong = || {
        Error::usage(format!(
            "{key} = {word}: write a whole number from 1 to 10000"
        ))
    };
    number.ok_or_else(|| fields.at(key, wrong())).map(Some)
}
