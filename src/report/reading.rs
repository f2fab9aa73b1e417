//! What attacks that write sources back read of them, as a table and in a sentence.

use teda_results::Cell;

use crate::report::columns::wrap;
use crate::report::grid::{Grid, Role, comment};
use crate::report::mechanism::nominal;

/// One line per cell of an attack that writes sources back, and what its columns mean; nothing if there is none.
pub fn render(cells: &[Cell], width: usize) -> String {
    grid(cells).map_or_else(String::new, |grid| {
        format!("\n{}{}", grid.render(width), wrap(LEGEND, width))
    })
}

/// The same as Markdown.
pub fn markdown(cells: &[Cell]) -> String {
    grid(cells).map_or_else(String::new, |grid| format!("\n{}{LEGEND}", grid.markdown()))
}

/// The same as LaTeX.
pub fn latex(cells: &[Cell]) -> String {
    grid(cells).map_or_else(String::new, |grid| {
        format!("\n{}{}", grid.latex(), comment(LEGEND))
    })
}

fn grid(cells: &[Cell]) -> Option<Grid> {
    let mut grid = Grid::new()
        .words("mechanism", Role::Group)
        .words("nominal ε", Role::Key)
        .numbers("k", Role::Group)
        .numbers("λ", Role::Group)
        .words("attack", Role::Key)
        .numbers("words read", Role::Value)
        .numbers("in releases", Role::Value)
        .numbers("rare words read", Role::Value)
        .numbers("rare in releases", Role::Value);
    let mut any = false;
    for cell in cells {
        let Some(recall) = cell.recall else {
            continue;
        };
        any = true;
        grid.add([
            cell.mechanism.clone(),
            nominal(cell.epsilon, cell.epsilon_unit),
            cell.k.to_string(),
            cell.lambda.to_string(),
            cell.attack.clone(),
            percent(recall.tokens),
            percent(recall.tokens_of_release),
            percent(recall.rare),
            percent(recall.rare_of_release),
        ]);
    }
    any.then_some(grid)
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
