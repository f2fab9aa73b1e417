//! Runs an audit: prepared, begun or gone on with, finished.

use std::path::Path;
use std::sync::atomic::Ordering;

use teda_core::{Error, Result};

use super::{Audit, Report};
use crate::audit::progress::Progress;
use crate::audit::resume::{Standing, resume_with, standing};
use crate::audit::run::{Control, Ended, Prepared};
use crate::models::{Access, Models};
use crate::report::{complete, finish};

impl Audit {
    /// Runs the audit.
    ///
    /// # Errors
    /// Usage, for an invalid name or combination; failed, if a mechanism, an attack or a model fails, a file cannot be
    /// written, or the flag is set before the last trial.
    pub fn run(self) -> Result<Report> {
        match self.pool.clone() {
            Some(pool) => pool.install(|| self.run_here()),
            None => self.run_here(),
        }
    }

    /// Loads and builds everything without making any trial: the starting point for simulating many audits.
    ///
    /// # Errors
    /// Usage, for an invalid name or combination; failed, if a model cannot be loaded.
    pub fn prepare(self) -> Result<Prepared> {
        let mut config = self.config?;
        config.validate()?;
        let mut models = Models::load(&config.wanted(), &self.access)?;
        if let Some(encoder) = self.encoder {
            models.use_encoder(encoder);
        }
        let datasets = match self.texts {
            Some(texts) => {
                config.datasets = Vec::new();
                vec![texts]
            }
            None => config.load(self.access.limits)?,
        };
        Prepared::of(config, models, datasets)
    }

    fn run_here(mut self) -> Result<Report> {
        let (out, stop, progress) = (self.out.take(), self.stop.clone(), self.progress.clone());
        let (go_on, twice) = (self.go_on, self.twice);
        let access = self.access.clone();
        if self.batch == 0 {
            return Err(Error::usage("batch = 0: a batch has at least 1 trial"));
        }
        let control = Control {
            batch: self.batch,
            stop: &stop,
            progress: &*progress,
        };
        let Some(out) = &out else {
            if go_on {
                return Err(Error::usage(
                    "to go on with a run, name its directory: Audit::out",
                ));
            }
            let (prepared, notes) = self.ready(twice, &*progress)?;
            let Some(made) = prepared.in_memory(&control)? else {
                return Err(Error::failed(
                    "the audit was stopped before its last trial: nothing was kept",
                ));
            };
            return Ok(Report {
                directory: None,
                notes,
                cells: finish::in_memory(made, &Access::default().watch)?,
                utilities: Vec::new(),
            });
        };
        let mut notes = Vec::new();
        let ended = match self.standing(out)? {
            Standing::Complete => return Report::open(out),
            Standing::Begun => resume_with(out, &control, |_| self.prepare())?,
            Standing::New => {
                let (prepared, said) = self.ready(twice, &*progress)?;
                notes = said;
                if stop.load(Ordering::Relaxed) {
                    return Err(Error::failed(
                        "the audit was stopped before its first trial: nothing was begun",
                    ));
                }
                prepared.begin(Some(out), &control)?
            }
        };
        match ended {
            Ended::Made(made) => {
                let done = complete::write(*made, &access)?;
                Ok(Report {
                    directory: Some(done.directory),
                    notes,
                    cells: done.cells,
                    utilities: done.utilities,
                })
            }
            Ended::Interrupted(directory, _) => Err(Error::failed(format!(
                "{}: the audit was stopped before its last trial",
                directory.display()
            ))),
        }
    }

    /// How far the run in `out` is, if it is to be gone on with.
    fn standing(&self, out: &Path) -> Result<Standing> {
        match (&self.config, self.go_on) {
            (Ok(config), true) => {
                let mut config = config.clone();
                if self.texts.is_some() {
                    config.datasets = Vec::new();
                }
                standing(out, &config)
            }
            (Err(error), true) => Err(error.clone()),
            (_, false) => Ok(Standing::New),
        }
    }

    /// Everything for the first trial, and what the user should know before it.
    fn ready(self, twice: u64, progress: &dyn Progress) -> Result<(Prepared, Vec<String>)> {
        let mut prepared = self.prepare()?;
        let mut notes = prepared.notes();
        if twice > 0 {
            notes.extend(prepared.make_twice(twice)?);
        }
        for note in &notes {
            progress.note(note);
        }
        Ok((prepared, notes))
    }
}
