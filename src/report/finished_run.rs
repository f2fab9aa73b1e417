//! A finished run, as stored in its directory.

use std::path::{Path, PathBuf};

use teda_core::estimator::{Needs, named};
use teda_core::{Error, Result};
use teda_results::{Cell, CellPlan, Document, Manifest, Row, Status, guesses, texts, trials};

use crate::audit::choices::EstimatorChoice;
use crate::audit::config::{Config, Keep};
use crate::audit::counting::{self, Count, Counted};
use crate::audit::plan::refuse_ungaussian;
use crate::audit::series::latent_of;
use crate::audit::stopping::ANYTIME;
use crate::report::finish;
use crate::report::judge::judge;
use crate::report::witness::Texts;

/// A finished run.
pub struct FinishedRun {
    /// Its directory.
    pub directory: PathBuf,
    /// What it was asked to do, and its results.
    pub manifest: Manifest,
    /// The configuration in the manifest.
    pub config: Config,
}

/// Opens the complete run in `directory`.
///
/// # Errors
/// Usage, if there is no run or it is not complete; failed, if its rows are not those that the run wrote.
pub fn open(directory: &Path) -> Result<FinishedRun> {
    let manifest = Manifest::load(directory)?;
    if manifest.status != Status::Complete {
        return Err(Error::usage(format!(
            "{}: this run is not complete: finish it with teda audit --resume {}",
            directory.display(),
            directory.display()
        )));
    }
    let run = read(manifest, directory)?;
    let manifest = &run.manifest;
    if run.config.keep == Keep::Rows {
        trials::verify(directory, manifest.trials_sha256.as_deref())?;
    }
    if let Some(sha256) = &manifest.texts_sha256 {
        texts::verify(directory, sha256)?;
    }
    Ok(run)
}

/// Opens the run in `directory` as far as it has got: one that is complete like [`open`], another one to look at alone, since
/// its trials are not all there.
///
/// # Errors
/// Usage, if there is no run; failed, if it is not what was written.
pub fn look(directory: &Path) -> Result<FinishedRun> {
    let manifest = Manifest::load(directory)?;
    match manifest.status {
        Status::Complete => open(directory),
        Status::Running | Status::Interrupted => read(manifest, directory),
    }
}

fn read(mut manifest: Manifest, directory: &Path) -> Result<FinishedRun> {
    let config = Config::of_run(&manifest, directory)?;
    // In runs made before attacks could differ by series, all series have the same ones.
    for (place, cell) in manifest.cells.iter_mut().enumerate() {
        let series = place / config.attacks.named().len().max(1);
        cell.series.get_or_insert(series as u32);
    }
    fits(&config, &manifest.cells).map_err(|e| e.context(directory.display()))?;
    Ok(FinishedRun {
        directory: directory.to_owned(),
        manifest,
        config,
    })
}

/// Refuses cells that do not match this configuration.
fn fits(config: &Config, cells: &[CellPlan]) -> Result<()> {
    let names = config.names();
    for (place, cell) in cells.iter().enumerate() {
        let wrong = |what: &str, value: &dyn std::fmt::Display| {
            Err(Error::failed(format!(
                "cell {place} in manifest.json has {what} {value}, which the configuration there does not: it was changed"
            )))
        };
        let is_latent = |name: &String| latent_of(name) == cell.mechanism;
        if !names.contains(&cell.mechanism) && !names.iter().any(is_latent) {
            return wrong("mechanism", &cell.mechanism);
        }
        if !config.ks.contains(&(cell.k as usize)) {
            return wrong("k", &cell.k);
        }
        if !config.lambdas.contains(&cell.lambda) {
            return wrong("lambda", &cell.lambda);
        }
        if cell.alpha != config.alpha {
            return wrong("alpha", &cell.alpha);
        }
        let own = || cell.delta == 0.0 || cell.claimed_delta == Some(cell.delta);
        if !config.delta.map_or_else(own, |delta| cell.delta == delta) {
            return wrong("delta", &cell.delta);
        }
        if let (Some(epsilons), Some(epsilon)) = (&config.epsilons, cell.epsilon)
            && !epsilons.contains(&epsilon)
        {
            return wrong("epsilon", &epsilon);
        }
    }
    Ok(())
}

impl FinishedRun {
    /// Judges the rows by another estimator than the run's.
    ///
    /// # Errors
    /// Usage, if its bound would not hold for these rows.
    pub fn judge_by(&mut self, estimator: EstimatorChoice) -> Result<()> {
        let until = self.config.until;
        if let EstimatorChoice::Named(estimator) = estimator
            && !until.allows(estimator.name)
        {
            return Err(Error::usage(format!(
                "{}: this run stopped by what it saw (--until {until}), which estimator '{}' does not allow; only {ANYTIME} does",
                self.directory.display(),
                estimator.name
            )));
        }
        for cell in &mut self.manifest.cells {
            let fitting = estimator.of(until, cell.is_deferred());
            refuse_ungaussian(&cell.mechanism, cell.gaussian, fitting)?;
            if cell.is_deferred() && named(fitting)?.needs == Needs::Likelihoods {
                return Err(Error::usage(format!(
                    "the estimator '{fitting}' reads the mechanism's likelihoods, which the attack '{}' does not use: take one that counts guesses",
                    cell.attack
                )));
            }
            fitting.clone_into(&mut cell.estimator);
        }
        Ok(())
    }

    /// The texts that candidates are indices of.
    #[must_use]
    pub fn texts(&self) -> Texts<'_> {
        Texts::Stored(&self.directory, &self.manifest)
    }

    /// Refuses a run that kept no rows to count again.
    ///
    /// # Errors
    /// Usage.
    pub fn needs_rows(&self) -> Result<()> {
        if self.config.keep == Keep::Rows {
            return Ok(());
        }
        Err(Error::usage(format!(
            "{}: this run kept its counts alone (--keep counts): there are no rows to be judged by other settings than its own",
            self.directory.display()
        )))
    }

    /// The cells' results as the run itself has them, recounted from its rows.
    ///
    /// # Errors
    /// Same as [`Self::judge`].
    pub fn judge_as_it_was(&self) -> Result<Vec<Cell>> {
        self.judge(&counting::choices(&self.manifest.cells))
    }

    /// The cells' results, recounted from the rows, or as stored if the run kept no rows. `choices` gives for each
    /// cell among how many of its mechanism it is shown.
    ///
    /// # Errors
    /// Failed, if rows or results cannot be read or do not fit the manifest.
    pub fn judge(&self, choices: &[u64]) -> Result<Vec<Cell>> {
        if self.config.keep == Keep::Counts {
            let path = self.directory.join(finish::RESULT);
            // Older runs did not store this digest.
            if let Some(known) = &self.manifest.cells_sha256
                && Document::cells_sha256(&path)? != *known
            {
                return Err(Error::failed(format!(
                    "{}: its cells are not those that the run wrote (another sha256): it was changed, and this run kept no rows to count again",
                    path.display()
                )));
            }
            return Ok(Document::read(&path)?.cells);
        }
        let counted: Vec<Counted> = self.counted(choices)?.into_iter().flatten().collect();
        judge(&counted, self.texts())
    }

    /// The cells, recounted from the rows; in a part of a run, attacks that learn have no guesses yet.
    ///
    /// # Errors
    /// Failed, if rows cannot be read or do not fit the manifest.
    pub fn counted(&self, choices: &[u64]) -> Result<Vec<Option<Counted>>> {
        let trials = self.config.trial_range();
        let cells = &self.manifest.cells;
        let is_deferred = |row: &Row| {
            cells
                .get(row.cell as usize)
                .is_some_and(CellPlan::is_deferred)
        };
        let mut counts = counting::begin(cells, choices, trials.end - trials.start)?;
        let mut add = |row: Row| {
            counting::add(&mut counts, &row).map_err(|e| e.context(self.directory.display()))
        };
        for row in trials::rows(&self.directory)? {
            let row = row?;
            // If only attacks that learn judge, the first one's rows hold the trials and random guesses.
            if !is_deferred(&row) {
                add(row)?;
            }
        }
        if let Some(sha256) = &self.manifest.guesses_sha256 {
            guesses::rows(&self.directory, sha256)?.try_for_each(|row| add(row?))?;
        }
        let counted = |((plan, count), seconds): ((&CellPlan, Count), Option<f64>)| {
            let plan = plan.clone();
            (!self.waits(&plan)).then_some(Counted {
                plan,
                count,
                seconds,
            })
        };
        let known = cells.iter().zip(counts).zip(self.seconds());
        Ok(known.map(counted).collect())
    }

    /// Whether a cell's attack waits for the whole run, because this is only a part of it.
    fn waits(&self, cell: &CellPlan) -> bool {
        self.manifest.shard.is_some() && cell.is_deferred()
    }

    /// The seconds that each cell took, from the run's result (rows do not hold them); one entry per cell.
    pub fn seconds(&self) -> Vec<Option<f64>> {
        let document = Document::read(&self.directory.join(finish::RESULT));
        let mut known = document
            .map_or_else(|_| Vec::new(), |document| document.cells)
            .into_iter();
        let seconds = |plan: &CellPlan| match self.waits(plan) {
            true => None,
            false => known.next().and_then(|cell| cell.seconds),
        };
        self.manifest.cells.iter().map(seconds).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::Audit;

    fn finished(folder: &Path, attacks: &[&str]) -> PathBuf {
        let out = folder.join("run");
        let audit = Audit::of("krr").dataset("categories:3").epsilons([2.0]);
        let audit = audit.lambda(0.0).trials(700).attacks(attacks);
        audit.out(&out).run().unwrap();
        out
    }

    #[test]
    fn a_run_is_judged_from_its_rows_by_other_levels_and_estimators() {
        let folder = tempfile::tempdir().unwrap();
        let out = finished(folder.path(), &["overlap", "learned"]);
        let mut run = open(&out).unwrap();
        let own = run.judge_as_it_was().unwrap();
        assert_eq!((own[0].trials, own[1].trials), (700, 490));
        run.judge_by(EstimatorChoice::parse("baseline").unwrap())
            .unwrap();
        let other = run.judge_as_it_was().unwrap();
        assert_eq!(other[0].hits, own[0].hits);
        assert_eq!(other[0].estimator, "baseline");
        assert!(
            run.judge_by(EstimatorChoice::parse("gdp").unwrap())
                .is_err()
        );
    }

    #[test]
    fn what_is_no_finished_run_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(open(folder.path()).is_err());
        let out = finished(folder.path(), &["overlap"]);
        let rows = out.join("trials.parquet");
        let mut bytes = std::fs::read(&rows).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&rows, bytes).unwrap();
        let error = open(&out).err().unwrap().to_string();
        assert!(error.contains("another sha256"), "{error}");
    }
}
