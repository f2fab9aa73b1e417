//! The sample of trials to browse.

use std::borrow::Cow;
use std::collections::HashMap;

use teda_core::{Error, Result, plain};

use super::html::{self, Td};
use super::run::{Run, TEXT, cut};
use super::sample::Trial;

/// Trials that stand in the page without its script.
const WITHOUT_SCRIPT: usize = 10;

/// The sample of trials of run `number`: a table of its first ones, and the data of all for the script.
///
/// # Errors
/// Failed, if the sample cannot be written as JSON.
pub fn trials(number: usize, run: &Run<'_>, sample: &[&Trial]) -> Result<String> {
    if sample.is_empty() {
        return Ok(
            "<p>No trials to browse: the run kept its counts alone, or none has room here.</p>"
                .to_owned(),
        );
    }
    // Texts are stored once each.
    let mut places: HashMap<(u32, u32), u32> = HashMap::new();
    let mut texts: Vec<String> = Vec::new();
    let mut numbered: Vec<Trial> = Vec::new();
    for trial in sample {
        let k = trial.k.iter().map(|text| {
            *places.entry((trial.series, *text)).or_insert_with(|| {
                texts.push(cut(&plain(run.text(trial.series, *text))));
                texts.len() as u32 - 1
            })
        });
        let k = k.collect();
        let r = cut(&plain(&trial.r));
        let e = trial.e.as_deref().map(|error| cut(&plain(error)));
        numbered.push(Trial {
            k,
            r,
            e,
            ..(*trial).clone()
        });
    }
    let plans = &run.stored.manifest.cells;
    let names: Vec<String> = plans
        .iter()
        .map(|plan| {
            let epsilon = plan.epsilon.map_or(String::new(), |e| format!(", ε = {e}"));
            format!(
                "{}{epsilon}, {}, k = {}, λ = {}, {}",
                plan.mechanism, plan.attack, plan.k, plan.lambda, plan.dataset
            )
        })
        .collect();
    let json = serde_json::json!({ "cells": names, "texts": texts, "trials": numbered });
    let json = serde_json::to_string(&json)
        .map_err(|e| Error::failed(format!("sample of trials: {e}")))?;
    let head = [
        "cell",
        "trial",
        "source",
        "release",
        "other candidates",
        "guess",
        "margin",
    ];
    let first = numbered
        .iter()
        .flat_map(|trial| trial.g.iter().map(move |guess| (trial, guess)));
    let rows: Vec<Vec<Td<'_>>> = first
        .take(WITHOUT_SCRIPT)
        .map(|(trial, (cell, guess, margin))| {
            let text = |place: usize| &texts[trial.k[place] as usize][..];
            let others = (0..trial.k.len()).filter(|place| *place != trial.s as usize);
            let others: Vec<&str> = others.map(text).collect();
            let said = match (&trial.e, *guess == trial.s) {
                (Some(_), _) => "failed".to_owned(),
                (None, true) => "right".to_owned(),
                (None, false) => format!("wrong: {}", text(*guess as usize)),
            };
            vec![
                Td::Words(Cow::Borrowed(&names[*cell as usize])),
                Td::Number(trial.t as f64, trial.t.to_string()),
                Td::Foreign(text(trial.s as usize)),
                Td::Foreign(trial.e.as_deref().unwrap_or(&trial.r)),
                Td::Words(Cow::Owned(others.join(" ⏐ "))),
                Td::Words(Cow::Owned(said)),
                margin.map_or(Td::Empty, |margin| {
                    Td::Number(margin, format!("{margin:.3}"))
                }),
            ]
        })
        .collect();
    let caption = format!(
        "A sample of {} of {} trials, drawn by the run's seed, as many of each series; texts are cut after {TEXT} characters",
        numbered.len(),
        run.sample.of
    );
    let heading = format!("<h3>{}</h3>", html::text(&run.name()));
    Ok(format!(
        "{heading}<div data-trials=\"trials-{number}\">{}</div><script type=\"application/json\" id=\"trials-{number}\">{}</script>",
        html::table(&caption, false, &head, &rows),
        html::json(&json)
    ))
}
