//! Merges shards into the run that one process would have made: the same rows in the same order.

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use teda_core::{Error, Result};
use teda_results::{Cell, Row, RunDir, Status, run_name, texts, trials};

use crate::audit::counting;
use crate::audit::run::{Made, Trials};
use crate::models::Access;
use crate::report::finish;
use crate::report::finished_run::{self, FinishedRun};
use crate::report::rejudge::contexts;

/// Merges the shards in `runs` into a new run directory.
///
/// # Errors
/// Usage, if the runs are not all the shards of one run; failed, if files cannot be read or
/// written.
pub fn merge(
    runs: &[PathBuf],
    out: Option<&Path>,
    access: &Access,
) -> Result<(PathBuf, Vec<Cell>)> {
    let shards = in_order(runs)?;
    let first = &shards[0].manifest;
    let config = shards[0].config.unsharded();
    let data = first.datasets.first().map_or("", |d| d.name.as_str());
    let directory = RunDir::create(out, &run_name(&first.created, &config.names(), data))?;
    let mut manifest = first.clone();
    manifest.shard = None;
    manifest.status = Status::Running;
    manifest.trials_sha256 = None;
    manifest.config = config.to_json()?;
    manifest.save(directory.path())?;
    if let Some(sha256) = &manifest.texts_sha256 {
        texts::write(
            directory.path(),
            &texts::read(&shards[0].directory, sha256)?,
        )?;
    }
    // No journal: what a kill takes away is in the shards.
    let mut readings = shards.iter().map(|shard| trials::reads(&shard.directory));
    let reads = readings.try_fold(false, |any, reads| reads.map(|reads| any | reads))?;
    let mut writer = trials::create(directory.path(), reads)?;
    let choices = counting::choices(&manifest.cells);
    let mut counts = counting::begin(&manifest.cells, &choices, config.trials)?;
    let mut offset = 0;
    let mut streams = shards
        .iter()
        .map(|shard| Ok(trials::rows(&shard.directory)?.peekable()))
        .collect::<Result<Vec<_>>>()?;
    // A series' cells are adjacent, and its rows follow each other shard by shard.
    for cells in manifest.cells.chunk_by(|a, b| a.series == b.series) {
        let first = offset;
        offset += cells.len();
        for stream in &mut streams {
            while let Some(row) = next_of(stream, first..offset)? {
                counting::add(&mut counts, &row)?;
                writer.push(row)?;
            }
        }
    }
    for (place, cell) in manifest.cells.iter().enumerate() {
        let trials = counts[finish::rows_of(&manifest.cells, place)].rows;
        if trials != cell.trials {
            return Err(Error::failed(format!(
                "{} of {} trials of '{}' are in the shards: their rows were changed",
                trials, cell.trials, cell.mechanism
            )));
        }
    }
    writer.finish()?;
    manifest.trials_sha256 = Some(trials::sha256(directory.path())?);
    manifest.save(directory.path())?;
    let attacks = manifest
        .cells
        .iter()
        .map(|cell| config.attacks.called(&cell.attack));
    let attacks = attacks.collect::<Result<_>>()?;
    let seconds = total_seconds(&shards, counts.len());
    // Only attacks that learn judge again.
    let contexts = match manifest.cells.iter().any(|cell| cell.is_deferred()) {
        true => contexts(&shards[0], access)?,
        false => Vec::new(),
    };
    let made = Made {
        directory,
        journal: None,
        trials: Trials {
            counts,
            seconds,
            attacks,
            contexts,
        },
        manifest,
    };
    finish::write(made, &access.watch)
}

/// The next row of a stream, if it belongs to one of `cells`.
fn next_of(
    stream: &mut Peekable<Box<dyn Iterator<Item = Result<Row>>>>,
    cells: std::ops::Range<usize>,
) -> Result<Option<Row>> {
    stream
        .next_if(|row| {
            row.as_ref()
                .map_or(true, |row| cells.contains(&(row.cell as usize)))
        })
        .transpose()
}

/// The shards in order, checked to be complete, without repeats, and all of one run.
fn in_order(runs: &[PathBuf]) -> Result<Vec<FinishedRun>> {
    let mut shards = runs
        .iter()
        .map(|run| finished_run::open(run))
        .collect::<Result<Vec<_>>>()?;
    shards.sort_by_key(|shard| shard.manifest.shard);
    refuse_missing(&shards)?;
    for (index, shard) in shards.iter().enumerate() {
        let name = shard.directory.display();
        let Some((part, parts)) = shard.manifest.shard else {
            return Err(Error::usage(format!("{name}: not a shard but a whole run")));
        };
        if parts as usize != shards.len() || part as usize != index + 1 {
            return Err(Error::usage(format!(
                "{name} is shard {part}/{parts}: name each of the {parts} shards of one run once ({} were named)",
                shards.len()
            )));
        }
        let differing = difference(&shards[0], shard)?;
        if !differing.is_empty() {
            return Err(Error::usage(format!(
                "{name} and {} are not shards of one run: they differ in {}",
                shards[0].directory.display(),
                differing.join(", ")
            )));
        }
    }
    Ok(shards)
}

/// What two runs differ in that shards of one run have in common: fields of the configuration and of the manifest.
fn difference(one: &FinishedRun, other: &FinishedRun) -> Result<Vec<String>> {
    let [first, second] = [one, other].map(|run| run.config.unsharded().to_json());
    let (first, second) = (first?, second?);
    let names = [&first, &second].into_iter().filter_map(Value::as_object);
    let fields: BTreeSet<&String> = names.flat_map(Map::keys).collect();
    let configured = fields
        .into_iter()
        .filter(|field| first.get(field) != second.get(field))
        .cloned();
    let (one, other) = (&one.manifest, &other.manifest);
    let recorded = [
        ("version", one.version == other.version),
        ("models", one.models == other.models),
        ("texts", one.texts_sha256 == other.texts_sha256),
        ("data", one.datasets == other.datasets),
    ];
    let recorded = recorded.into_iter().filter(|(_, same)| !same);
    let recorded = recorded.map(|(what, _)| what.to_owned());
    Ok(configured.chain(recorded).collect())
}

/// Names the missing shards.
fn refuse_missing(shards: &[FinishedRun]) -> Result<()> {
    let there: Vec<(u32, u32)> = shards.iter().filter_map(|s| s.manifest.shard).collect();
    let Some((_, parts)) = there.first().copied() else {
        return Ok(());
    };
    let is_missing = |part: &u32| !there.contains(&(*part, parts));
    let missing: Vec<String> = (1..=parts)
        .filter(is_missing)
        .map(|part| format!("{part}/{parts}"))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let shown = missing.iter().take(20).cloned().collect::<Vec<_>>();
    let more = match missing.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Err(Error::usage(format!(
        "of {parts} shards these are missing: {}{more}",
        shown.join(", ")
    )))
}

/// The seconds of each cell over all shards; `None` if they are not known for one shard.
fn total_seconds(shards: &[FinishedRun], cells: usize) -> Vec<Option<f64>> {
    let known: Vec<Vec<Option<f64>>> = shards.iter().map(FinishedRun::seconds).collect();
    (0..cells)
        .map(|cell| known.iter().map(|shard| shard[cell]).sum())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::Audit;

    #[test]
    fn whole_runs_are_no_shards() {
        let folder = tempfile::tempdir().unwrap();
        let runs = ["a", "b"].map(|name| folder.path().join(name));
        for run in &runs {
            let audit = Audit::of("krr").dataset("categories:3").epsilons([2.0]);
            let audit = audit.lambda(0.0).trials(20).attacks(["overlap"]);
            audit.out(run).run().unwrap();
        }
        let out = folder.path().join("whole");
        let refused = merge(&runs, Some(&out), &Access::default()).unwrap_err();
        assert!(refused.to_string().contains("not a shard"), "{refused}");
        assert!(!out.exists());
    }
}
