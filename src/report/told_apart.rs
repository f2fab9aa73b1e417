//! Mechanisms of one name in runs that were configured differently.
//!
//! A report on several runs would show a mechanism with two models, or with two settings, as one. There it is called by its
//! name and what it was told differently: `dp-prompt precision=bf16`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use teda_core::Result;

use crate::report::finished_run::FinishedRun;

/// Fields of a configuration that results depend on and tables do not show.
const HIDDEN: [&str; 9] = [
    "llm",
    "precision",
    "preset",
    "then",
    "encoder",
    "scorer",
    "judge",
    "pairs",
    "seed",
];
/// Fields of a data set that its name does not show.
const OF_DATASETS: [&str; 4] = ["split", "limit", "min_words", "max_words"];

/// What a run calls a mechanism, and what a report on several runs calls it.
pub type Names = BTreeMap<String, String>;

/// The names of each run's mechanisms: of one that another run has under the same name with other settings, with what differs.
///
/// They are for readers alone. A mechanism remains one where choices among its cells are counted, whatever it was told: of ten
/// seeds, the one that shows most was chosen among ten.
///
/// # Errors
/// Failed, if a configuration cannot be written.
pub fn names(runs: &[&FinishedRun]) -> Result<Vec<Names>> {
    let told: Vec<BTreeMap<String, String>> =
        runs.iter().map(|run| told(run)).collect::<Result<_>>()?;
    let mechanisms = |run: &FinishedRun| -> BTreeSet<String> {
        let cells = run.manifest.cells.iter();
        cells.map(|cell| cell.mechanism.clone()).collect()
    };
    let mechanisms: Vec<BTreeSet<String>> = runs.iter().map(|run| mechanisms(run)).collect();
    let name = |name: &String, own: &BTreeMap<String, String>| {
        let is_namesake = |(_, mechanisms): &(_, &BTreeSet<String>)| mechanisms.contains(name);
        let namesakes: Vec<_> = told.iter().zip(&mechanisms).filter(is_namesake).collect();
        let differs = |(field, value): &(&String, &String)| {
            let same = |other: &BTreeMap<String, String>| other.get(*field) == Some(value);
            !namesakes.iter().all(|(other, _)| same(other))
        };
        let parts = own.iter().filter(differs);
        let parts: Vec<String> = parts
            .map(|(field, value)| format!("{field}={value}"))
            .collect();
        match parts.is_empty() {
            true => name.clone(),
            false => format!("{name} {}", parts.join(",")),
        }
    };
    let of_run = |(own, mechanisms): (_, &BTreeSet<String>)| {
        let pairs = mechanisms.iter().map(|old| (old.clone(), name(old, own)));
        pairs.collect()
    };
    Ok(told.iter().zip(&mechanisms).map(of_run).collect())
}

/// Calls mechanisms by the names that a report has for them.
pub fn rename<'a>(names: &Names, mechanisms: impl IntoIterator<Item = &'a mut String>) {
    for mechanism in mechanisms {
        if let Some(name) = names.get(mechanism) {
            mechanism.clone_from(name);
        }
    }
}

/// What a run was told, field by field.
fn told(run: &FinishedRun) -> Result<BTreeMap<String, String>> {
    let config = run.config.to_json()?;
    let mut told = BTreeMap::new();
    let mut tell = |field: &str, value: Option<&Value>| match value {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) => drop(told.insert(field.to_owned(), text.clone())),
        Some(value) => drop(told.insert(field.to_owned(), value.to_string())),
    };
    for field in HIDDEN {
        tell(field, config.get(field));
    }
    for dataset in config["datasets"].as_array().into_iter().flatten() {
        for field in OF_DATASETS {
            tell(field, dataset.get(field));
        }
    }
    for (parameter, value) in &run.config.set {
        told.insert(parameter.clone(), value.clone());
    }
    Ok(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::choices::Attacks;
    use crate::audit::config::Config;
    use crate::audit::source::Source;
    use crate::builder::Audit;
    use crate::report::finished_run;

    /// What runs with these changes call their only mechanism.
    fn called(changes: &[fn(&mut Config)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let mut runs = Vec::new();
        for (place, change) in changes.iter().enumerate() {
            let mut config = Config::new(vec![Source::parse("em").unwrap()]);
            config.epsilons = Some(vec![2.0]);
            config.lambdas = vec![0.0];
            config.trials = 2;
            config.attacks = Attacks::parse(&["overlap".to_owned()]).unwrap();
            change(&mut config);
            let out = folder.path().join(place.to_string());
            Audit::configured(config).out(&out).run().unwrap();
            runs.push(finished_run::open(&out).unwrap());
        }
        let names = names(&runs.iter().collect::<Vec<_>>()).unwrap();
        for (run, names) in runs.iter_mut().zip(&names) {
            rename(
                names,
                run.manifest.cells.iter_mut().map(|c| &mut c.mechanism),
            );
        }
        let name = |run: &FinishedRun| run.manifest.cells[0].mechanism.clone();
        runs.iter().map(name).collect()
    }

    #[test]
    fn only_what_differs_and_no_table_shows_is_told() {
        let other_epsilon = |config: &mut Config| config.epsilons = Some(vec![4.0]);
        assert_eq!(called(&[|_| (), other_epsilon]), ["em", "em"]);
        let half = |config: &mut Config| config.set.push(("share".to_owned(), "0.5".to_owned()));
        let [first, second]: [fn(&mut Config); 2] = [
            |config| config.datasets[0].limit = Some(20),
            |config| config.seed = 3,
        ];
        assert_eq!(called(&[|_| (), half]), ["em", "em share=0.5"]);
        let told = called(&[|_| (), first, second]);
        assert_eq!(told, ["em seed=0", "em limit=20,seed=0", "em seed=3"]);
    }
}
