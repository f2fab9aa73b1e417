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

/// Renames, in the plans of these runs, every mechanism that another run has under the same name with other settings. Returns
/// the names by run.
///
/// # Errors
/// Failed, if a configuration cannot be written.
pub fn tell_apart(runs: &mut [FinishedRun]) -> Result<Vec<Names>> {
    let told: Vec<BTreeMap<String, String>> = runs.iter().map(told).collect::<Result<_>>()?;
    let has =
        |run: &FinishedRun, name: &str| run.manifest.cells.iter().any(|c| c.mechanism == name);
    let mut all = Vec::with_capacity(runs.len());
    for (own, run) in told.iter().zip(&*runs) {
        let mechanisms: BTreeSet<&String> =
            run.manifest.cells.iter().map(|c| &c.mechanism).collect();
        let renamed = mechanisms.into_iter().map(|name| {
            let others = told.iter().zip(&*runs);
            let others: Vec<_> = others.filter(|(_, run)| has(run, name)).collect();
            let differs = |field: &String| {
                others
                    .iter()
                    .any(|(other, _)| other.get(field) != own.get(field))
            };
            let parts = own.iter().filter(|(field, _)| differs(field));
            let parts: Vec<String> = parts
                .map(|(field, value)| format!("{field}={value}"))
                .collect();
            let words = [name.clone(), parts.join(",")];
            (name.clone(), words.join(" ").trim_end().to_owned())
        });
        all.push(renamed.collect::<Names>());
    }
    for (names, run) in all.iter().zip(runs) {
        for cell in &mut run.manifest.cells {
            cell.mechanism.clone_from(&names[&cell.mechanism]);
        }
    }
    Ok(all)
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
    fn names(changes: &[fn(&mut Config)]) -> Vec<String> {
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
        let told = tell_apart(&mut runs).unwrap();
        let name = |run: &FinishedRun| run.manifest.cells[0].mechanism.clone();
        let names: Vec<String> = runs.iter().map(name).collect();
        for (names, name) in told.iter().zip(&names) {
            assert_eq!(&names["em"], name);
        }
        names
    }

    #[test]
    fn only_what_differs_and_no_table_shows_is_told() {
        let other_epsilon = |config: &mut Config| config.epsilons = Some(vec![4.0]);
        assert_eq!(names(&[|_| (), other_epsilon]), ["em", "em"]);
        let half = |config: &mut Config| config.set.push(("share".to_owned(), "0.5".to_owned()));
        let [first, second]: [fn(&mut Config); 2] = [
            |config| config.datasets[0].limit = Some(20),
            |config| config.seed = 3,
        ];
        assert_eq!(names(&[|_| (), half]), ["em", "em share=0.5"]);
        let told = names(&[|_| (), first, second]);
        assert_eq!(told, ["em seed=0", "em limit=20,seed=0", "em seed=3"]);
    }
}
