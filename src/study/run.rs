//! Runs the parts of a study, each into its own folder, and goes on where a study was stopped.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use teda_core::{Error, Result};
use teda_mechanisms::NOISES;
use teda_results::{Cell, UtilityCell};

use super::definition::{Part, Study, What};
use super::document::{Document, PartRecord};
use super::interval::Spread;
use super::point::{self, Coordinate, Point, coordinates};
use super::samples;
use super::snr::{self, Latents};
use crate::audit::choices::EstimatorChoice;
use crate::audit::config::Config;
use crate::audit::resume::{Standing, resume, standing};
use crate::audit::run::{Control, Ended, Prepared};
use crate::models::Access;
use crate::report::agreement::{self, agreements};
use crate::report::columns::WIDTH;
use crate::report::{complete, finished_run, utilities};
use crate::task::{self, Task};

/// The folder of the parts' folders.
const PARTS: &str = "parts";
/// The file of a part that is no audit.
const PART: &str = "part.json";

/// What a part gave.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct Given {
    points: Vec<Point>,
    /// Tables to read as they are.
    #[serde(default)]
    text: String,
}

/// A part that is no audit, as it is kept: it is not run again as long as it is asked for in the same way.
#[derive(Serialize, Deserialize)]
struct Kept {
    asked: serde_json::Value,
    given: Given,
}

/// Runs a study in `out`, or goes on with it there. `None` after an interrupt. `said` is told which part begins.
///
/// # Errors
/// Usage, for anything in a part that cannot be satisfied, before the first part is run; failed, if running fails.
pub fn run(
    study: &Study,
    out: &Path,
    access: &Access,
    control: &Control<'_>,
    said: &dyn Fn(&str),
) -> Result<Option<Document>> {
    study.check()?;
    for part in &study.parts {
        part.prepare(out, access).map_err(|e| part.context(e))?;
    }
    let mut points = Vec::new();
    let mut records = Vec::new();
    for (index, part) in study.parts.iter().enumerate() {
        said(&format!(
            "part {} of {}: {}",
            index + 1,
            study.parts.len(),
            part.name
        ));
        let given = part
            .run(study, out, access, control)
            .map_err(|e| part.context(e))?;
        let Some(given) = given else {
            return Ok(None);
        };
        records.push(PartRecord {
            name: part.name.clone(),
            folder: part.folder.clone(),
            kind: part.what.kind(),
            needs: part.what.needs(),
            points: given.points.len(),
            text: given.text,
        });
        points.extend(given.points);
    }
    Document::new(study, records, points).map(Some)
}

impl What {
    fn kind(&self) -> &'static str {
        match self {
            Self::Audit(..) => "audit",
            Self::Again { .. } => "judged again",
            Self::Task(_) => "task",
            Self::Samples(_) => "samples",
            Self::Snr(_) => "snr",
            Self::Left(_) => "not run",
        }
    }

    fn needs(&self) -> Option<String> {
        match self {
            Self::Left(needs) => Some(needs.clone()),
            _ => None,
        }
    }
}

impl Part {
    fn context(&self, error: Error) -> Error {
        error.context(format!("part '{}'", self.name))
    }

    fn directory(&self, out: &Path) -> PathBuf {
        out.join(PARTS).join(&self.folder)
    }

    /// Finds out before the first part is run whether this one can be.
    fn prepare(&self, out: &Path, access: &Access) -> Result<()> {
        match &self.what {
            What::Audit(config, _) => match standing(&self.directory(out), config)? {
                Standing::New => Prepared::new((**config).clone(), access)?
                    .cells()
                    .map(|_| ()),
                Standing::Begun | Standing::Complete => Ok(()),
            },
            What::Task(task) => task::Prepared::new((**task).clone(), access).map(|_| ()),
            What::Samples(samples) => samples.config.validate(),
            What::Snr(config) => config.validate(),
            What::Again { .. } | What::Left(_) => Ok(()),
        }
    }

    fn run(
        &self,
        study: &Study,
        out: &Path,
        access: &Access,
        control: &Control<'_>,
    ) -> Result<Option<Given>> {
        let method = self.method.as_deref();
        match &self.what {
            What::Audit(config, compared) => self.audit(config, *compared, out, access, control),
            What::Again { part, estimator } => {
                let mut given = Given::default();
                for audit in study.parts.iter().filter(|other| other.name == *part) {
                    if matches!(audit.what, What::Audit(..)) {
                        given
                            .points
                            .extend(self.again(&audit.directory(out), *estimator)?);
                    }
                }
                Ok(Some(given))
            }
            What::Task(task) => {
                let asked = serde_json::json!({
                    "config": task.config.to_json()?, "label": task.label, "seeds": task.seeds,
                    "classifier": task.classifier,
                });
                self.kept(out, asked, || self.task(task, access, control))
            }
            What::Samples(asked) => {
                let key = serde_json::json!({
                    "config": asked.config.to_json()?, "texts": asked.texts, "seeds": asked.seeds,
                });
                self.kept(out, key, || {
                    let (text, points) = samples::run(&self.name, method, asked, access)?;
                    Ok(Some(Given { points, text }))
                })
            }
            What::Snr(config) => {
                let key = serde_json::json!({ "config": config.to_json()? });
                self.kept(out, key, || self.snr(config, access).map(Some))
            }
            What::Left(_) => Ok(Some(Given::default())),
        }
    }

    fn audit(
        &self,
        config: &Config,
        compared: bool,
        out: &Path,
        access: &Access,
        control: &Control<'_>,
    ) -> Result<Option<Given>> {
        let directory = self.directory(out);
        let ended = match standing(&directory, config)? {
            Standing::New => {
                Prepared::new(config.clone(), access)?.begin(Some(&directory), control)?
            }
            Standing::Begun => resume(&directory, access, control)?,
            Standing::Complete => {
                let cells = finished_run::open(&directory)?.judge_as_it_was()?;
                let measured = utilities::stored_or_measured(&directory, &cells, access)?;
                return self
                    .given(&directory, &cells, &measured, compared, access)
                    .map(Some);
            }
        };
        match ended {
            Ended::Interrupted(..) => Ok(None),
            Ended::Made(made) => {
                let done = complete::write(*made, access)?;
                self.given(
                    &done.directory,
                    &done.cells,
                    &done.utilities,
                    compared,
                    access,
                )
                .map(Some)
            }
        }
    }

    fn given(
        &self,
        directory: &Path,
        cells: &[Cell],
        measured: &[UtilityCell],
        compared: bool,
        access: &Access,
    ) -> Result<Given> {
        let text = match compared {
            true => agreement::render(
                &agreements(&finished_run::open(directory)?, access.limits)?,
                WIDTH,
            ),
            false => String::new(),
        };
        let points = point::of_audit(&self.name, self.method.as_deref(), cells, measured)?;
        Ok(Given { points, text })
    }

    /// The points of an audit's trials, judged by another estimator.
    fn again(&self, directory: &Path, estimator: EstimatorChoice) -> Result<Vec<Point>> {
        let mut stored = finished_run::open(directory)?;
        stored.judge_by(estimator)?;
        let cells = stored.judge_as_it_was()?;
        point::of_audit(&self.name, self.method.as_deref(), &cells, &[])
    }

    fn task(&self, asked: &Task, access: &Access, control: &Control<'_>) -> Result<Option<Given>> {
        let prepared = task::Prepared::new(asked.clone(), access)?;
        let Some(document) = prepared.run(control, &mut |_| Ok(()))? else {
            return Ok(None);
        };
        let method = self.method.as_deref();
        let points = point::of_task(&self.name, method, asked.config.alpha, &document)?;
        Ok(Some(Given {
            points,
            text: String::new(),
        }))
    }

    fn snr(&self, config: &Config, access: &Access) -> Result<Given> {
        let latents = Latents::measured(config, access)?;
        let mut points = Vec::new();
        let method = self.method.as_deref().unwrap_or(snr::MECHANISM);
        let at = |law: &str, epsilon: String, of: &str| {
            coordinates([
                (Coordinate::Part, self.name.clone()),
                (Coordinate::Method, method.to_owned()),
                (Coordinate::Attack, law.to_owned()),
                (Coordinate::Epsilon, epsilon),
                (Coordinate::Of, of.to_owned()),
            ])
        };
        let exact = |at, value| Point::at_level(at, Spread::Exact { value }, config.alpha);
        points.push(exact(at("", String::new(), "norm"), latents.norm)?);
        for epsilon in config.epsilons.as_deref().unwrap_or_default() {
            let ratios = latents.ratios(&config.set, *epsilon)?;
            for (law, ratio) in NOISES.iter().zip(ratios) {
                points.push(exact(at(law, epsilon.to_string(), "snr"), ratio)?);
            }
        }
        let text = format!(
            "{}: {} numbers, norm {:.4}\n",
            latents.of, latents.numbers, latents.norm
        );
        Ok(Given { points, text })
    }

    /// What was kept of the part if it was asked for in the same way, or what `make` gives, which is kept.
    fn kept(
        &self,
        out: &Path,
        asked: serde_json::Value,
        make: impl FnOnce() -> Result<Option<Given>>,
    ) -> Result<Option<Given>> {
        let directory = self.directory(out);
        let path = directory.join(PART);
        let failed = |e: &dyn std::fmt::Display| Error::failed(format!("{}: {e}", path.display()));
        if path.exists() {
            let text = fs::read_to_string(&path).map_err(|e| failed(&e))?;
            let kept: Kept = serde_json::from_str(&text).map_err(|e| failed(&e))?;
            if kept.asked != asked {
                return Err(Error::usage(format!(
                    "{}: the part here was asked for in another way: name another --out, or remove it",
                    path.display()
                )));
            }
            return Ok(Some(kept.given));
        }
        let Some(given) = make()? else {
            return Ok(None);
        };
        fs::create_dir_all(&directory).map_err(|e| failed(&e))?;
        let kept = Kept { asked, given };
        let text = serde_json::to_string(&kept).map_err(|e| failed(&e))?;
        teda_results::atomic_write(&path, text.as_bytes())?;
        Ok(Some(kept.given))
    }
}
