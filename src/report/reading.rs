//! What attacks that write sources back read of them, as a table and in a sentence.

use teda_core::{Unit, plain};
use teda_results::Cell;

use crate::report::columns::{lines, table};

/// One line per cell of an attack that writes sources back; nothing if there is none.
pub fn render(cells: &[Cell]) -> String {
    let mut table = table([
        "mechanism",
        "nominal ε",
        "k",
        "λ",
        "attack",
        "words read",
        "in releases",
        "rare words read",
        "in releases",
    ]);
    let mut any = false;
    for cell in cells {
        let Some(recall) = cell.recall else {
            continue;
        };
        any = true;
        let unit = cell.epsilon_unit.map_or("", Unit::name);
        table.add_row([
            plain(&cell.mechanism).into_owned(),
            cell.epsilon.map_or("-".into(), |e| format!("{e} / {unit}")),
            cell.k.to_string(),
            cell.lambda.to_string(),
            plain(&cell.attack).into_owned(),
            percent(recall.tokens),
            percent(recall.tokens_of_release),
            percent(recall.rare),
            percent(recall.rare_of_release),
        ]);
    }
    match any {
        false => String::new(),
        true => format!("\n{}{LEGEND}", lines(&table)),
    }
}

const LEGEND: &str = "\n\
    words read: mean share of a source's different words in what the attack wrote back; in releases: in what it read.\n\
    rare: in at most one of a thousand texts of the run, or in no more than two; texts without such words do not count.\n";

/// What a cell's attack read, if it writes sources back.
pub fn sentence(cell: &Cell) -> Option<String> {
    let recall = cell.recall?;
    let words = (recall.tokens, recall.tokens_of_release);
    let (Some(read), Some(released)) = words else {
        return None;
    };
    let rare = match (recall.rare, recall.rare_of_release) {
        (Some(read), Some(released)) => format!(
            ", and {} of the rare ones, where releases have {}",
            percent(Some(read)),
            percent(Some(released))
        ),
        _ => String::new(),
    };
    Some(format!(
        "what {} wrote back has {} of a source's words, where releases have {}{rare}",
        cell.attack,
        percent(Some(read)),
        percent(Some(released))
    ))
}

fn percent(share: Option<f64>) -> String {
    share.map_or("-".to_owned(), |share| format!("{:.1} %", 100.0 * share))
}
