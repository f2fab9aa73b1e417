//! Audits of releases that a mechanism made earlier: a file's rows by ε, with a series for each.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use teda_core::{Error, Result, Seed};
use teda_datasets::{Dataset, Limits, RecordedRelease};

use super::layout::Group;
use super::lineup::Lineup;
use super::{Plan, between, white_box};
use crate::audit::config::Config;
use crate::audit::corpus::Corpus;
use crate::audit::series::{Series, Sets};
use crate::models::Models;

/// Most ε shown of a long list.
const SHOWN: usize = 12;

/// The plan of an audit of the releases in the file at `path`.
///
/// # Errors
/// Usage, for a file that cannot be read, an ε that is not in it, or more trials than it has releases for.
pub fn plan(config: &Config, path: &Path, models: &Models) -> Result<Plan> {
    let file = File::read(path, models.limits())?;
    let rows: Arc<[RecordedRelease]> = file.rows.into();
    let corpus = Corpus::new(file.dataset, &models.corpus_encoder())?;
    let source = &config.mechanisms[0];
    let mut series = Vec::new();
    let mut notes = Vec::new();
    for (epsilon, group) in chosen(file.groups, config.epsilons.as_deref())? {
        for k in &config.ks {
            let most = group.trials(*k);
            let what = format!(
                "{} of {}{}",
                counted(group.rows(), "release"),
                counted(group.sources.len(), "text"),
                epsilon.map_or(String::new(), |e| format!(" at ε = {e}")),
            );
            if most == 0 {
                return Err(Error::usage(format!(
                    "k = {k}: {what} make no trial, which needs one release of each of {k} texts: take a smaller --k, or record more"
                )));
            }
            if config.trials > most {
                return Err(Error::usage(format!(
                    "trials = {}: {what} are good for {most} trials of k = {k}, of which each uses up {k}: take at most that many, or record more",
                    config.trials
                )));
            }
            notes.push(format!(
                "{what}: good for {most} trials of k = {k}, of which {} are made; no release is in two{}",
                config.trials,
                group.said(&rows),
            ));
            let mechanism = source.instance(
                &models.context(corpus.texts.clone()),
                epsilon,
                &config.settings(source)?,
                config.claim.as_ref(),
                models.programs(),
            )?;
            let lineup = Lineup::new(config, source, &*mechanism)?;
            notes.extend(lineup.note.filter(|note| !notes.contains(note)));
            // The file's content and what is drawn, not its name or the rest of the grid.
            let seed = Seed::root(config.seed)
                .named(&corpus.dataset.sha256)
                .named("recorded")
                .named(&epsilon.map_or(String::new(), |e| e.to_string()))
                .named(&format!("k={k}"));
            let mut made = Series {
                corpus: 0,
                name: source.name(),
                unit: source.unit(epsilon.is_some()),
                claim: between(config, &*mechanism, None, None),
                diameter: None,
                composition: None,
                mean_units: None,
                mechanism,
                epsilon,
                k: *k,
                lambda: 0.0,
                sets: Sets::Recorded(group.layout(&rows, *k, seed.named("sets"))),
                attacks: lineup.attacks,
                latent: false,
                white_box: false,
                delta: config.delta.unwrap_or(0.0),
                seed,
            };
            made.white_box = white_box(config, &made)?;
            series.push(made);
        }
    }
    Ok(Plan {
        corpora: vec![corpus],
        series,
        notes,
    })
}

/// The most trials that the file at `path` allows at every ε asked for and every k.
///
/// # Errors
/// Usage, for a file that cannot be read, an ε that is not in it, or one that makes no trial.
pub fn most_trials(
    path: &Path,
    limits: Limits,
    epsilons: Option<&[f64]>,
    ks: &[usize],
) -> Result<u64> {
    let file = File::read(path, limits)?;
    let groups = chosen(file.groups, epsilons)?;
    let each = groups
        .iter()
        .flat_map(|(_, group)| ks.iter().map(|k| group.trials(*k)));
    // That there are no trials at all is reported when they are planned, with the numbers.
    Ok(each.min().unwrap_or(0).max(1))
}

/// A file's rows by ε.
struct File {
    dataset: Dataset,
    rows: Vec<RecordedRelease>,
    groups: Vec<(Option<f64>, Group)>,
}

impl File {
    fn read(path: &Path, limits: Limits) -> Result<Self> {
        let recorded = teda_datasets::recorded(path, limits)?;
        let mut texts: Vec<String> = Vec::new();
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut groups: Vec<(Option<f64>, Group)> = Vec::new();
        let mut by_epsilon: HashMap<Option<u64>, usize> = HashMap::new();
        // For each group and text, the text's index among the group's sources.
        let mut places: HashMap<(usize, usize), usize> = HashMap::new();
        for (row, release) in recorded.releases.iter().enumerate() {
            let text = *numbers.entry(&release.source).or_insert_with(|| {
                texts.push(release.source.clone());
                texts.len() - 1
            });
            let key = release.epsilon.map(f64::to_bits);
            let group = *by_epsilon.entry(key).or_insert_with(|| {
                groups.push((release.epsilon, Group::default()));
                groups.len() - 1
            });
            let sources = &mut groups[group].1.sources;
            let place = *places.entry((group, text)).or_insert_with(|| {
                sources.push((text, Vec::new()));
                sources.len() - 1
            });
            sources[place].1.push(row);
        }
        groups.sort_by(|(a, _), (b, _)| a.partial_cmp(b).expect("no epsilon is NaN"));
        Ok(Self {
            dataset: Dataset {
                name: recorded.name,
                rows: recorded.rows,
                merged: recorded.rows - texts.len(),
                texts,
                empty: 0,
                outside_length: 0,
                beyond_limit: 0,
                sha256: recorded.sha256,
                licence: None,
                split: None,
            },
            rows: recorded.releases,
            groups,
        })
    }
}

/// The groups asked for; all of them if none are.
fn chosen(
    mut groups: Vec<(Option<f64>, Group)>,
    epsilons: Option<&[f64]>,
) -> Result<Vec<(Option<f64>, Group)>> {
    let Some(epsilons) = epsilons else {
        return Ok(groups);
    };
    let stated: Vec<String> = groups
        .iter()
        .filter_map(|(e, _)| e.map(|e| e.to_string()))
        .take(SHOWN)
        .collect();
    let take = |epsilon: &f64| {
        let place = groups.iter().position(|(e, _)| *e == Some(*epsilon));
        let place = place.ok_or_else(|| {
            let stated = match stated.is_empty() {
                true => "it states none".to_owned(),
                false => format!("it has {}", stated.join(", ")),
            };
            Error::usage(format!(
                "epsilon = {epsilon}: the file has no releases at it; {stated}"
            ))
        })?;
        Ok(groups.swap_remove(place))
    };
    epsilons.iter().map(take).collect()
}

/// A count of things, in words.
fn counted(number: usize, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        _ => format!("{number} {thing}s"),
    }
}
