//! The result table on the terminal.

use teda_core::estimator;
use teda_results::Cell;

use crate::cli::output::{lines, table};
use crate::explanation;

/// One line a cell, and what the columns mean. The same bytes for the same cells.
#[must_use]
pub fn render(cells: &[Cell]) -> String {
    let mut table = table([
        "data set",
        "mechanism",
        "nominal ε",
        "k",
        "λ",
        "attack",
        "hits / trials",
        "failed",
        "rate",
        "empirical ε ≥",
        "ceiling",
        "claim",
        "verdict",
    ]);
    for cell in cells {
        let unit = cell.epsilon_unit.as_deref().unwrap_or_default();
        table.add_row([
            cell.dataset.clone(),
            cell.mechanism.clone(),
            cell.epsilon.map_or("-".into(), |e| format!("{e} / {unit}")),
            cell.k.to_string(),
            cell.lambda.to_string(),
            cell.attack.clone(),
            format!("{} / {}", cell.hits, cell.trials),
            cell.failed.to_string(),
            format!("{:.4}", cell.success_rate),
            format!("{:.4}", cell.empirical_epsilon),
            format!("{:.4}", cell.ceiling),
            cell.claimed_epsilon.map_or("-".into(), |e| format!("{e}")),
            cell.verdict.clone(),
        ]);
    }
    lines(&table) + &legend(cells) + &sentences(cells)
}

/// What the verdicts say: of each mechanism and verdict, the cell that shows most.
fn sentences(cells: &[Cell]) -> String {
    explanation::telling(cells)
        .into_iter()
        .map(|cell| format!("\n{}", explanation::with_verdict(cell)))
        .collect::<String>()
        + "\n"
}

fn legend(cells: &[Cell]) -> String {
    let Some(cell) = cells.first() else {
        return String::new();
    };
    let confidence = explanation::confidence(cell.alpha);
    let spends = estimator::named(&cell.estimator).map_or("what its run said", |e| e.spends);
    format!(
        "\nempirical ε: lower bound between {} neighbours at {confidence} % confidence (two-sided; estimator {}, δ = {}; spends {}).\n\
         ceiling: the bound if every guess had been right. claim: what the mechanism claims between such texts, - where nothing.\n",
        cell.neighbours, cell.estimator, cell.delta, spends
    )
}
