//! The result table on the terminal.

use teda_results::Cell;

use crate::cli::output::{lines, table};

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
    lines(&table) + &legend(cells)
}

fn legend(cells: &[Cell]) -> String {
    let Some(cell) = cells.first() else {
        return String::new();
    };
    // 1 − 0.01 is 0.99 only after rounding: print the level as it was meant.
    let confidence = format!("{:.4}", 100.0 * (1.0 - cell.alpha));
    let confidence = confidence.trim_end_matches('0').trim_end_matches('.');
    format!(
        "\nempirical ε: lower bound between {} at {confidence} % confidence (two-sided; estimator {}, δ = {}).\n\
         ceiling: the bound if every guess had been right. claim: what the mechanism claims between such texts, - where nothing.\n",
        cell.neighbours, cell.estimator, cell.delta
    )
}
