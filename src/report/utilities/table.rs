//! The table of utilities on the terminal.

use std::collections::BTreeMap;

use teda_core::{Unit, plain, plain_lines};
use teda_results::UtilityCell;
use teda_utilities::registry;

use crate::report::columns::{lines, of as columns};
use crate::report::explanation::confidence;

/// One line per mechanism and setting with the mean of every utility, and what the columns mean.
#[must_use]
pub fn render(cells: &[UtilityCell]) -> String {
    let Some(first) = cells.first() else {
        return String::new();
    };
    let mut utilities: Vec<&str> = Vec::new();
    for cell in cells {
        if !utilities.contains(&&cell.utility[..]) {
            utilities.push(&cell.utility);
        }
    }
    let fixed = ["data set", "mechanism", "nominal ε", "k", "λ", "releases"];
    let mut table = columns(fixed.into_iter().chain(utilities.iter().copied()));
    let mut signatures: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut undefined = String::new();
    for row in cells.chunk_by(same_setting) {
        let cell = &row[0];
        let unit = cell.epsilon_unit.map_or("", Unit::name);
        let mut figures = vec![
            plain(&cell.dataset).into_owned(),
            plain(&cell.mechanism).into_owned(),
            cell.epsilon.map_or("-".into(), |e| format!("{e} / {unit}")),
            cell.k.to_string(),
            cell.lambda.to_string(),
            format!("{} of {}", cell.trials - cell.failed, cell.trials),
        ];
        for utility in &utilities {
            let cell = row.iter().find(|cell| cell.utility == *utility);
            figures.push(cell.map_or("-".to_owned(), figure));
        }
        table.add_row(figures);
        for cell in row {
            let known = signatures.entry(&cell.utility).or_default();
            for signature in [Some(&cell.signature), cell.corpus_signature.as_ref()]
                .into_iter()
                .flatten()
            {
                if !known.contains(&&signature[..]) {
                    known.push(signature);
                }
            }
            if cell.undefined > 0 {
                let epsilon = cell
                    .epsilon
                    .map_or(String::new(), |e| format!(" (nominal ε = {e})"));
                undefined += &format!(
                    "{} is not defined for {} releases of {}{epsilon}.\n",
                    cell.utility, cell.undefined, cell.mechanism
                );
            }
        }
    }
    let percent = confidence(first.alpha);
    let mut said = format!(
        "\nutility: mean over releases ± half of its {percent} % interval (Student's t); a trial without a release has none.\n"
    );
    if cells.iter().any(|cell| cell.corpus.is_some()) {
        said += "A second figure is that of all releases as one corpus.\n";
    }
    for utility in &utilities {
        let summary = registry::entry(utility).map_or("", |entry| entry.summary);
        let signatures = signatures.get(utility).map(|known| known.join("; "));
        said += &format!(
            "{utility}: {summary} [{}]\n",
            signatures.unwrap_or_default()
        );
    }
    lines(&table) + &plain_lines(&(said + &undefined))
}

fn same_setting(a: &UtilityCell, b: &UtilityCell) -> bool {
    let key = |cell: &UtilityCell| {
        let numbers = (
            cell.epsilon.map(f64::to_bits),
            cell.k,
            cell.lambda.to_bits(),
        );
        let names = (
            cell.dataset.clone(),
            cell.mechanism.clone(),
            cell.neighbours,
        );
        (numbers, names)
    };
    key(a) == key(b) && a.utility != b.utility
}

/// The mean with half of its interval, and the score of all releases together.
fn figure(cell: &UtilityCell) -> String {
    let digits = registry::entry(&cell.utility).map_or(4, |entry| entry.digits);
    let Some(mean) = cell.mean else {
        return "-".to_owned();
    };
    let half = cell.mean_upper.map_or(String::new(), |upper| {
        format!(" ± {:.digits$}", upper - mean)
    });
    let corpus = cell
        .corpus
        .map_or(String::new(), |corpus| format!("; {corpus:.digits$}"));
    format!("{mean:.digits$}{half}{corpus}")
}
