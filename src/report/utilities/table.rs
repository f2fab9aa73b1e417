//! The table of utilities: on the terminal, as Markdown and as LaTeX.

use std::collections::BTreeMap;

use teda_core::plain_lines;
use teda_results::UtilityCell;
use teda_utilities::registry;

use crate::report::columns::wrap;
use crate::report::explanation::confidence;
use crate::report::grid::{Grid, Role, comment, escaped};
use crate::report::mechanism::nominal;

/// One line per mechanism and setting with the mean of every utility, and what the columns mean, in lines of at most `width`
/// columns; nothing without cells.
#[must_use]
pub fn render(cells: &[UtilityCell], width: usize) -> String {
    parts(cells).map_or_else(String::new, |(grid, said)| {
        grid.render(width) + &wrap(&said, width)
    })
}

/// The same as Markdown.
#[must_use]
pub fn markdown(cells: &[UtilityCell]) -> String {
    parts(cells).map_or_else(String::new, |(grid, said)| {
        let said: Vec<String> = said.lines().map(escaped).collect();
        grid.markdown() + &said.join("  \n") + "\n"
    })
}

/// The same as LaTeX: a table, and the rest as comments.
#[must_use]
pub fn latex(cells: &[UtilityCell]) -> String {
    parts(cells).map_or_else(String::new, |(grid, said)| grid.latex() + &comment(&said))
}

/// The table, and what stands below it.
fn parts(cells: &[UtilityCell]) -> Option<(Grid, String)> {
    let first = cells.first()?;
    let mut utilities: Vec<&str> = Vec::new();
    for cell in cells {
        if !utilities.contains(&&cell.utility[..]) {
            utilities.push(&cell.utility);
        }
    }
    let mut grid = Grid::of_results().numbers("releases", Role::Detail(0));
    for utility in &utilities {
        grid = grid.numbers(*utility, Role::Value);
    }
    let mut signatures: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut undefined = String::new();
    for row in cells.chunk_by(same_setting) {
        let cell = &row[0];
        let mut figures = vec![
            cell.dataset.clone(),
            cell.mechanism.clone(),
            nominal(cell.epsilon, cell.epsilon_unit),
            cell.k.to_string(),
            cell.lambda.to_string(),
            format!("{} of {}", cell.trials - cell.failed, cell.trials),
        ];
        for utility in &utilities {
            let cell = row.iter().find(|cell| cell.utility == *utility);
            figures.push(cell.map_or("-".to_owned(), figure));
        }
        grid.add(figures);
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
    Some((grid, plain_lines(&(said + &undefined)).into_owned()))
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
