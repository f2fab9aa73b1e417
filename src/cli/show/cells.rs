//! The cells of a run: which of them are meant, and what became of them.

use std::fmt::Display;

use clap::Args;
use teda::report::finish::RESULT;
use teda::report::finished_run::FinishedRun;
use teda::report::grid::{Grid, Role};
use teda_core::{Error, Neighbours, Result, Unit, plain};
use teda_results::{Cell, CellPlan, Document};

use crate::cli::key::Key;

/// Which cells are meant: all that are what is asked for, and all where nothing is.
#[derive(Args)]
pub struct CellArguments {
    /// Only the cells of these numbers (`teda show RUN` lists them)
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    cell: Vec<u32>,
    /// Only cells of these mechanisms, as the table names them (repeatable)
    #[arg(long, value_name = "NAME")]
    mech: Vec<String>,
    /// Only cells of these nominal epsilons
    #[arg(
        long,
        value_name = "E,…",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    epsilon: Vec<f64>,
    /// Only guesses of these attacks (repeatable)
    #[arg(long, value_name = "NAME")]
    attack: Vec<String>,
    /// Only cells of these data sets (repeatable)
    #[arg(long, value_name = "NAME")]
    dataset: Vec<String>,
    /// Only cells of so many candidates
    #[arg(long, value_name = "K,…", value_delimiter = ',')]
    k: Vec<u32>,
    /// Only cells of these lambdas
    #[arg(
        long,
        value_name = "L,…",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    lambda: Vec<f64>,
}

impl CellArguments {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        let names = [&self.mech, &self.attack, &self.dataset];
        let numbers = [&self.epsilon, &self.lambda];
        self.cell.is_empty()
            && self.k.is_empty()
            && names.iter().all(|names| names.is_empty())
            && numbers.iter().all(|numbers| numbers.is_empty())
    }

    /// For each cell whether it is meant.
    ///
    /// # Errors
    /// Usage, for a value that no cell has, and where no cell has all values.
    pub fn choose(&self, cells: &[CellPlan]) -> Result<Vec<bool>> {
        let mut wanted = vec![true; cells.len()];
        let numbers: Vec<u32> = (0..cells.len() as u32).collect();
        keep(&mut wanted, "cell", &self.cell, &numbers)?;
        let of = |field: fn(&CellPlan) -> &str| -> Vec<String> {
            cells
                .iter()
                .map(|cell| plain(field(cell)).into_owned())
                .collect()
        };
        let mechanisms = of(|cell| &cell.mechanism);
        keep(&mut wanted, "mechanism", &shown(&self.mech), &mechanisms)?;
        let attacks = of(|cell| &cell.attack);
        keep(&mut wanted, "attack", &shown(&self.attack), &attacks)?;
        let datasets = of(|cell| &cell.dataset);
        keep(&mut wanted, "data set", &shown(&self.dataset), &datasets)?;
        let epsilons: Vec<f64> = cells
            .iter()
            .map(|cell| cell.epsilon.unwrap_or(f64::NAN))
            .collect();
        keep(&mut wanted, "epsilon", &self.epsilon, &epsilons)?;
        let lambdas: Vec<f64> = cells.iter().map(|cell| cell.lambda).collect();
        keep(&mut wanted, "lambda", &self.lambda, &lambdas)?;
        let ks: Vec<u32> = cells.iter().map(|cell| cell.k).collect();
        keep(&mut wanted, "k", &self.k, &ks)?;
        match wanted.contains(&true) {
            true => Ok(wanted),
            false => Err(Error::usage(
                "no cell has all of this: `teda show RUN` without filters lists the cells",
            )),
        }
    }
}

/// Names as they are shown.
fn shown(names: &[String]) -> Vec<String> {
    names.iter().map(|name| plain(name).into_owned()).collect()
}

/// Keeps the cells whose value is among those asked for, if any are.
fn keep<T: PartialEq + Display>(
    wanted: &mut [bool],
    kind: &str,
    asked: &[T],
    values: &[T],
) -> Result<()> {
    if asked.is_empty() {
        return Ok(());
    }
    if let Some(unknown) = asked.iter().find(|value| !values.contains(value)) {
        let mut known: Vec<String> = Vec::new();
        for value in values
            .iter()
            .map(T::to_string)
            .filter(|value| value != "NaN")
        {
            if !known.contains(&value) {
                known.push(value);
            }
        }
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let kind = format!("{kind} of this run");
        return Err(Error::unknown_in_file(&kind, &unknown.to_string(), &known));
    }
    for (wanted, value) in wanted.iter_mut().zip(values) {
        *wanted &= asked.contains(value);
    }
    Ok(())
}

/// What the run made of each cell; `None` while it is not complete, and for an attack that waits for the other shards.
pub fn results(run: &FinishedRun) -> Vec<Option<Cell>> {
    let document = Document::read(&run.directory.join(RESULT));
    let known = document.map_or_else(|_| Vec::new(), |document| document.cells);
    let of = |plan: &CellPlan| {
        let same = |cell: &&Cell| Key::from(*cell) == Key::from(plan);
        known.iter().find(same).cloned()
    };
    run.manifest.cells.iter().map(of).collect()
}

/// What a series is, in words.
pub fn series(plan: &CellPlan) -> String {
    let unit = plan.epsilon_unit.map_or("", Unit::name);
    let epsilon = plan
        .epsilon
        .map_or(String::new(), |e| format!(", ε = {e} / {unit}"));
    let neighbours = match plan.neighbours {
        Neighbours::AnyTexts => String::new(),
        other => format!(", {other}"),
    };
    format!(
        "{}{epsilon}, k = {}, λ = {}, {}{neighbours}",
        plain(&plan.mechanism),
        plan.k,
        plan.lambda,
        plain(&plan.dataset)
    )
}

/// One line a cell, with its number.
pub fn table(run: &FinishedRun, results: &[Option<Cell>], width: usize) -> String {
    let mut grid = Grid::new()
        .numbers("cell", Role::Key)
        .words("data set", Role::Group)
        .words("mechanism", Role::Group)
        .numbers("ε", Role::Group)
        .numbers("k", Role::Group)
        .numbers("λ", Role::Group)
        .words("attack", Role::Key)
        .numbers("hits / trials", Role::Value)
        .numbers("empirical ε ≥", Role::Value)
        .words("verdict", Role::Value);
    for (number, (plan, result)) in run.manifest.cells.iter().zip(results).enumerate() {
        let [hits, bound, verdict] = match result {
            Some(cell) => [
                format!("{} / {}", cell.hits, cell.trials),
                format!("{:.4}", cell.empirical_epsilon),
                cell.verdict.to_string(),
            ],
            None => ["-".to_owned(), "-".to_owned(), "-".to_owned()],
        };
        grid.add([
            number.to_string(),
            plan.dataset.clone(),
            plan.mechanism.clone(),
            plan.epsilon.map_or("-".into(), |e| e.to_string()),
            plan.k.to_string(),
            plan.lambda.to_string(),
            plan.attack.clone(),
            hits,
            bound,
            verdict,
        ]);
    }
    grid.render(width)
}
