//! The result table: on the terminal, as Markdown and as LaTeX, with what its columns and verdicts mean.

use teda_core::{Verdict, estimator, plain_lines};
use teda_results::Cell;

use crate::audit::variety;
use crate::report::columns::wrap;
use crate::report::explanation;
use crate::report::grid::{Grid, Role, comment, escaped};
use crate::report::mechanism::{name, nominal};
use crate::report::order::{by_group, worst_of_each};
use crate::report::reading;

/// The table in lines of at most `width` columns, and what it says. The same cells give the same bytes.
#[must_use]
pub fn render(cells: &[Cell], width: usize) -> String {
    grid(cells).render(width) + &reading::render(cells, width) + &wrap(&said(cells), width)
}

/// The same as Markdown.
#[must_use]
pub fn markdown(cells: &[Cell]) -> String {
    let said = escaped(&said(cells)).replace('\n', "\n\n");
    grid(cells).markdown()
        + &reading::markdown(cells)
        + "\n"
        + said.replace("\n\n\n", "\n\n").trim_start()
}

/// The same as LaTeX: tables, and the rest as comments.
#[must_use]
pub fn latex(cells: &[Cell]) -> String {
    grid(cells).latex() + &reading::latex(cells) + &comment(&said(cells))
}

/// What stands below the table.
fn said(cells: &[Cell]) -> String {
    plain_lines(&(other_failures(cells) + &legend(cells) + &sentences(cells))).into_owned()
}

/// One row per cell, the worst groups first.
fn grid(cells: &[Cell]) -> Grid {
    let mut grid = Grid::of_results()
        .words("attack", Role::Key)
        .words("estimator", Role::Detail(0))
        .numbers("hits", Role::Detail(1))
        .numbers("trials", Role::Detail(4))
        .numbers("guessed", Role::Detail(2))
        .numbers("mech. failed", Role::Value)
        .numbers("attack failed", Role::Value)
        .numbers("rate", Role::Value)
        .numbers("empirical ε ≥", Role::Value)
        .numbers("ceiling", Role::Detail(3))
        .numbers("claim", Role::Value)
        .words("verdict", Role::Value);
    for cell in by_group(cells) {
        grid.add([
            cell.dataset.clone(),
            cell.mechanism.clone(),
            nominal(cell.epsilon, cell.epsilon_unit),
            cell.k.to_string(),
            cell.lambda.to_string(),
            cell.attack.clone(),
            cell.estimator.clone(),
            cell.hits.to_string(),
            cell.trials.to_string(),
            cell.guesses.map_or("-".into(), |guesses| {
                format!(
                    "{:.0} %",
                    100.0 * guesses.guessed as f64 / guesses.trials as f64
                )
            }),
            cell.failed_mechanism.to_string(),
            cell.failed_attack.to_string(),
            format!("{:.4}", cell.success_rate),
            format!("{:.4}", cell.empirical_epsilon),
            format!("{:.4}", cell.ceiling),
            cell.claimed_epsilon
                .map_or("-".into(), |e| match cell.metric {
                    // ε times a distance, which is no round number.
                    Some(_) => format!("{e:.4}"),
                    None => claimed(e),
                }),
            cell.verdict.to_string(),
        ]);
    }
    let grid = grid.without(&["mech. failed", "attack failed"], "0");
    grid.without(&["guessed"], "-")
}

/// A claim, without the digits that only the rounding of a product made: 19 times 0.1 is 1.9.
fn claimed(epsilon: f64) -> String {
    let rounded = format!("{epsilon:.10e}").parse().unwrap_or(epsilon);
    f64::to_string(&rounded)
}

/// The failures that have no column: losses on the way, and failures of runs that did not record the cause.
fn other_failures(cells: &[Cell]) -> String {
    let mut notes = String::new();
    for cell in cells {
        let known = cell.failed_mechanism + cell.failed_transport + cell.failed_attack;
        for (failed, what) in [
            (
                cell.failed_transport,
                "were lost on the way (time-outs, a failing server)",
            ),
            (
                cell.failed.saturating_sub(known),
                "failed, and the run did not record why",
            ),
        ] {
            if failed > 0 {
                notes += &format!(
                    "\n{}, {} attack, λ = {}, k = {}: {failed} of {} trials {what}",
                    name(cell),
                    cell.attack,
                    cell.lambda,
                    cell.k,
                    cell.trials
                );
            }
        }
    }
    match &notes[..] {
        "" => notes,
        _ => notes + "\n",
    }
}

/// What the verdicts mean: of each mechanism the worst cell, with what its attack learned.
fn sentences(cells: &[Cell]) -> String {
    let mut text = "\n".to_owned();
    for cell in &worst_of_each(cells) {
        text += &format!("{}\n", explanation::with_verdict(cell));
        text.extend(explanation::signs(cell, SIGNS).map(|signs| format!("  {signs}\n")));
        let warning = cell.candidates.as_ref().and_then(variety::warning);
        text.extend(warning.map(|warning| format!("  warning: {warning}\n")));
    }
    text
}

/// The δ of the cells: the first, and each other with the mechanisms that have it.
fn deltas(cells: &[Cell]) -> String {
    let mut deltas: Vec<(f64, Vec<&str>)> = Vec::new();
    for cell in cells {
        let place = deltas.iter().position(|(delta, _)| *delta == cell.delta);
        let place = place.unwrap_or(deltas.len());
        if place == deltas.len() {
            deltas.push((cell.delta, Vec::new()));
        }
        let names = &mut deltas[place].1;
        if !names.contains(&&cell.mechanism[..]) {
            names.push(&cell.mechanism);
        }
    }
    let [(first, _), others @ ..] = &deltas[..] else {
        return String::new();
    };
    let other = |(delta, names): &(f64, Vec<&str>)| format!(", {delta} for {}", names.join(", "));
    first.to_string() + &others.iter().map(other).collect::<String>()
}

/// Most signs shown for an attack that learned.
const SIGNS: usize = 10;

fn legend(cells: &[Cell]) -> String {
    let Some(cell) = cells.first() else {
        return String::new();
    };
    let confidence = explanation::confidence(cell.alpha);
    let mut estimators: Vec<&str> = Vec::new();
    for cell in cells {
        if !estimators.contains(&&cell.estimator[..]) {
            estimators.push(&cell.estimator);
        }
    }
    let spent = |name: &&str| {
        let spends = estimator::named(name).map_or("what its run said", |e| e.spends);
        format!("{name} spends {spends}")
    };
    let spent: Vec<String> = estimators.iter().map(spent).collect();
    let mut text = format!(
        "\nempirical ε: lower bound between {} neighbours at {confidence} % confidence (two-sided; δ = {}; {}).\n\
         ceiling: the bound if every guess had been right. claim: what the mechanism claims between such texts, - where nothing.\n",
        cell.neighbours,
        deltas(cells),
        spent.join("; ")
    );
    if cells.iter().any(|cell| cell.metric.is_some()) {
        text += "claim = ε times the greatest distance between two texts of a candidate set, where privacy is metric.\n";
    }
    if cells.iter().any(|cell| cell.trained > 0) {
        text += "trials: those counted; the ones that an attack learned from are not.\n";
    }
    if cells
        .iter()
        .any(|cell| cell.verdict == Verdict::Inconclusive)
    {
        text += "inconclusive: most answers of the attack are missing, so that nothing follows from what it did not find.\n";
    }
    if cells.iter().any(|cell| cell.choices > 1) {
        text += "Each bound holds by itself. The sentences below name the greatest of a mechanism's cells and pay for that choice: alpha over their number.\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_has_no_digits_of_rounding() {
        let shown: Vec<String> = [19.0 * 0.1, 0.1 + 0.2, 2.0, 0.005, 47_500.0, 1.0 / 3.0]
            .map(claimed)
            .to_vec();
        let expected = ["1.9", "0.3", "2", "0.005", "47500", "0.33333333333"];
        assert_eq!(shown, expected);
    }
}
