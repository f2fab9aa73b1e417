//! `teda list`: lists what can be named on the command line.

use clap::{Args, ValueEnum};
use teda_core::{Result, estimator};
use teda_mechanisms::registry as mechanisms;
use teda_utilities::Needs;

use super::Outcome;
use super::output::{fitted, print, prose};
use teda::report::columns::table;

/// Lists mechanisms, attacks, estimators or utilities, with parameters, defaults and sources.
#[derive(Args)]
pub struct Arguments {
    /// What to list; everything when left out.
    what: Option<What>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    Mechanisms,
    Attacks,
    Estimators,
    Utilities,
}

impl Arguments {
    pub fn run(self) -> Result<Outcome> {
        let sections = [
            (What::Mechanisms, list_mechanisms as fn() -> String),
            (What::Attacks, list_attacks),
            (What::Estimators, list_estimators),
            (What::Utilities, list_utilities),
        ];
        let texts: Vec<String> = sections
            .iter()
            .filter(|(what, _)| self.what.is_none_or(|wanted| wanted == *what))
            .map(|(_, list)| list())
            .collect();
        print(&texts.join("\n"))?;
        Ok(Outcome::Done)
    }
}

fn list_mechanisms() -> String {
    let mut overview = table(["mechanism", "kind", "epsilon per", "own epsilon grid"]);
    let mut details = String::new();
    for entry in mechanisms::ALL {
        let grid: Vec<String> = entry.grid.iter().map(f64::to_string).collect();
        overview.add_row([
            entry.name.to_owned(),
            entry.kind.name().to_owned(),
            entry.unit.map_or("(none)", |unit| unit.name()).to_owned(),
            grid.join(","),
        ]);
        let (name, summary, source) = (entry.name, entry.summary, entry.source);
        details += &format!("\n{name}: {summary}\n  source   {source}\n");
        if let Some(what) = entry.rewriter.describe() {
            details += &format!("  --llm    {what}\n");
        }
        for p in entry.parameters {
            let (name, default, meaning) = (p.name, p.default(), p.meaning);
            details += &format!("  --set {name}={default}   {meaning} ({})\n", p.takes());
        }
        for (preset, values) in entry.presets {
            let values: Vec<String> = values.iter().map(|(n, v)| format!("{n}={v}")).collect();
            details += &format!("  --preset {preset}   {}\n", values.join(" "));
        }
    }
    fitted(overview) + &prose(&details)
}

fn list_utilities() -> String {
    let mut overview = table(["utility", "needs", "what it says", "source"]);
    for entry in teda_utilities::registry::ALL {
        let needs = match entry.needs {
            Needs::Nothing => "-",
            Needs::Encoder => "--encoder",
            Needs::Scorer => "--scorer",
        };
        overview.add_row([entry.name, needs, entry.summary, entry.source]);
    }
    fitted(overview)
}

fn list_attacks() -> String {
    let mut overview = table(["attack", "needs", "what it does", "source"]);
    for entry in teda_attacks::registry::ALL {
        let needs = match (entry.judge, entry.likelihoods, entry.learns()) {
            _ if entry.latent => "a latent",
            (true, ..) => "--judge",
            (_, true, _) => "likelihoods",
            (.., true) => "first trials",
            _ => "-",
        };
        overview.add_row([entry.name, needs, entry.summary, entry.source]);
    }
    fitted(overview)
}

fn list_estimators() -> String {
    let mut overview = table(["estimator", "what it bounds epsilon by", "spends"]);
    for entry in estimator::ALL {
        overview.add_row([entry.name, entry.summary, entry.spends]);
    }
    fitted(overview)
}
