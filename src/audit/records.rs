//! Records of data sets and cells that go into a manifest before any trial is made.

use teda_attacks::Choice;
use teda_core::Result;
use teda_datasets::Dataset;
use teda_results::{CellPlan, DatasetRecord};

use crate::audit::config::Config;
use crate::audit::plan::Plan;
use crate::audit::series::Series;

/// The record of a data set as loaded.
pub fn dataset_record(dataset: &Dataset) -> DatasetRecord {
    DatasetRecord {
        name: dataset.name.clone(),
        sha256: dataset.sha256.clone(),
        texts: dataset.texts.len() as u64,
        rows: dataset.rows as u64,
        merged: dataset.merged as u64,
        empty: dataset.empty as u64,
        licence: dataset.licence.unwrap_or("the user's own data").to_owned(),
    }
}

/// The cells of a plan as the manifest stores them, in order.
pub fn cell_plans(config: &Config, plan: &Plan) -> Result<Vec<CellPlan>> {
    let plans = |(number, series): (u32, &Series)| {
        let cell = |attack: &Choice| {
            Ok(CellPlan {
                dataset: plan.corpora[series.corpus].dataset.name.clone(),
                mechanism: series.name.clone(),
                epsilon: series.epsilon,
                epsilon_unit: series.unit,
                neighbours: config.neighbours,
                k: series.k as u32,
                lambda: series.lambda,
                attack: attack.to_string(),
                trials: config.trials,
                alpha: config.alpha,
                delta: series.delta,
                estimator: config
                    .estimator
                    .of(config.until, attack.learns())
                    .to_owned(),
                guarantee: series.mechanism.guarantee(),
                claimed_epsilon: series.claim.map(|claim| claim.epsilon),
                claimed_delta: series.claim.map(|claim| claim.delta),
                gaussian: series.is_gaussian(),
                texts: Some(series.corpus as u32),
                series: Some(number),
                seed: Some(series.seed.to_text()),
                trained: config.learnable(attack)?,
                explored: config.pairs.explores(config.trials)?,
                signs: Vec::new(),
                diameter: series.diameter,
                mean_units: series.mean_units,
                composition: series.composition,
            })
        };
        series.attacks.iter().map(cell).collect::<Result<Vec<_>>>()
    };
    let cells: Vec<Vec<CellPlan>> = (0..).zip(&plan.series).map(plans).collect::<Result<_>>()?;
    Ok(cells.into_iter().flatten().collect())
}
