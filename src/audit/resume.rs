//! Resumes a run where it stopped, and finds out whether there is one.

use std::path::Path;

use teda_core::{Error, Result};
use teda_results::{Manifest, RunDir, Status, trials};

use crate::audit::config::{Config, Keep};
use crate::audit::driver::State;
use crate::audit::replay::is_same_cell;
use crate::audit::run::{Control, Ended, Prepared};
use crate::models::{Access, shared};

/// How far the run of a configuration has got in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// There is no run yet.
    New,
    /// It was begun and can be resumed.
    Begun,
    /// All trials are done.
    Complete,
}

/// How far the run of `config` has got in `directory`.
///
/// # Errors
/// Usage, if the directory holds a run of another configuration or version; failed, if its manifest cannot be read.
pub fn standing(directory: &Path, config: &Config) -> Result<Standing> {
    if !RunDir::holds_run(directory) {
        return Ok(Standing::New);
    }
    let manifest = Manifest::load(directory)?;
    if manifest.config != config.to_json()? {
        return Err(Error::usage(format!(
            "{}: the run here has another configuration: name another --out, or continue this run with --resume",
            directory.display()
        )));
    }
    Ok(match manifest.status {
        Status::Complete => Standing::Complete,
        Status::Running | Status::Interrupted => Standing::Begun,
    })
}

/// Resumes the run in `directory` where it stopped.
///
/// # Errors
/// Usage, if there is no run, or it is complete; failed, if data or models have changed since.
pub fn resume(directory: &Path, access: &Access, control: &Control<'_>) -> Result<Ended> {
    resume_with(directory, control, |config| Prepared::new(config, access))
}

/// Like [`resume`], for a run that only the program that made it can prepare.
///
/// # Errors
/// Same as [`resume`]; those of `prepare`.
pub fn resume_with(
    directory: &Path,
    control: &Control<'_>,
    prepare: impl FnOnce(Config) -> Result<Prepared>,
) -> Result<Ended> {
    // Before the lock, so that no lock file is left in a foreign folder.
    Manifest::load(directory)?;
    let locked = RunDir::resume(directory)?;
    shared::said(locked.path(), &|note| control.progress.note(note));
    let directory = &locked.path().to_owned();
    let manifest = Manifest::load(directory)?;
    if manifest.status == Status::Complete {
        return Err(Error::usage(format!(
            "{}: this run is complete; `teda report {}` shows it",
            directory.display(),
            directory.display()
        )));
    }
    let changed = |what: &str, detail: String| {
        Error::failed(format!(
            "{}: {what} changed since the run began ({detail}), so its trials cannot be continued: begin a new run",
            directory.display()
        ))
    };
    if manifest.version != env!("CARGO_PKG_VERSION") {
        let versions = format!(
            "{} then, {} now",
            manifest.version,
            env!("CARGO_PKG_VERSION")
        );
        return Err(changed("teda", versions));
    }
    let prepared = prepare(Config::of_run(&manifest, directory)?)?;
    if manifest.models != *prepared.model_records() {
        return Err(changed("the models", "other weights".to_owned()));
    }
    for (then, now) in manifest.datasets.iter().zip(prepared.dataset_records()) {
        if then.sha256 != now.sha256 {
            return Err(changed(
                &format!("data set '{}'", then.name),
                format!("{} texts then, {} now", then.texts, now.texts),
            ));
        }
    }
    let now = prepared.cells()?;
    let are_same = manifest.cells.len() == now.len()
        && manifest
            .cells
            .iter()
            .zip(&now)
            .all(|(then, now)| is_same_cell(then, now));
    if !are_same {
        return Err(changed(
            "the manifest",
            "its cells are not those of its configuration".to_owned(),
        ));
    }
    control.progress.kept(directory);
    let mut state = State::new(&manifest.cells, prepared.config().trial_range())?;
    let journal = match prepared.config().keep {
        Keep::Rows => Some(trials::resume(directory, &manifest, |row| {
            prepared.plan.check(&row)?;
            prepared.plan.observe(&row);
            state.replay(&row)
        })?),
        Keep::Counts => None,
    };
    prepared.go_on(locked, manifest, journal, state, control)
}
