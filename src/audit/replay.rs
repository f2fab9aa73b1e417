//! Checks rows of an earlier process against the seed: they must match what follows from it.

use teda_core::sampling::TransitionSampler;
use teda_core::{Result, Role};
use teda_results::{CellPlan, Row};

use crate::audit::corpus::Corpus;
use crate::audit::counting::foreign;
use crate::audit::plan::Plan;
use crate::audit::series::{Series, Sets, given};

impl Plan {
    /// Refuses a row that these series would not have made: a different secret, or different candidates where they are
    /// drawn without a pass over all texts.
    ///
    /// # Errors
    /// Failed, naming the trial.
    pub fn check(&self, row: &Row) -> Result<()> {
        let Some(series) = self.series_of(row) else {
            return Err(foreign(row));
        };
        let fits = row.candidates.len() == series.k
            && row.secret as usize == secret(series, row.trial)
            && row.hit == (row.guess == row.secret)
            && are_drawn(series, &self.corpora[series.corpus], row)?;
        if fits { Ok(()) } else { Err(foreign(row)) }
    }
}

fn secret(series: &Series, trial: u64) -> usize {
    let seed = series.seed.role(trial, Role::Secret);
    seed.stream().below(series.k)
}

/// Whether a row's candidates are those that its trial draws, as far as that is cheap to check.
fn are_drawn(series: &Series, corpus: &Corpus, row: &Row) -> Result<bool> {
    let seed = series.seed.role(row.trial, Role::Candidates);
    let texts = corpus.texts.len();
    let drawn = match &series.sets {
        Sets::Given => given(texts, series.k, &[seed]),
        Sets::Recorded(layout) => layout.candidates(row.trial).to_vec(),
        Sets::Sampled => {
            let sampler = TransitionSampler::new(corpus.vectors.view(), series.k, series.lambda)?;
            match sampler.is_uniform() {
                true => sampler.draw(&[seed]),
                false => vec![seed.stream().below(texts)],
            }
        }
        // Which set it is depends on earlier trials.
        Sets::Hunted(_) => return Ok(row.candidates.iter().all(|text| (*text as usize) < texts)),
    };
    let stored = row.candidates.iter().map(|text| *text as usize);
    Ok(stored.zip(&drawn).all(|(stored, drawn)| stored == *drawn))
}

/// Whether a stored cell is the one that the configuration now gives. Fields missing from older runs are not compared.
pub fn is_same_cell(stored: &CellPlan, now: &CellPlan) -> bool {
    let stored = CellPlan {
        texts: stored.texts.or(now.texts),
        series: stored.series.or(now.series),
        seed: stored.seed.clone().or_else(|| now.seed.clone()),
        mean_units: stored.mean_units.or(now.mean_units),
        composition: stored.composition.or(now.composition),
        ..stored.clone()
    };
    stored == *now
}
