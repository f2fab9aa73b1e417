//! Draws utility against empirical ε: what each mechanism gives for what it leaks.

use std::path::Path;

use teda_core::Result;
use teda_plot::{Frontier, FrontierLine, FrontierPoint, frontier};
use teda_results::{Cell, UtilityCell};

use crate::report::explanation::confidence;

/// Draws `frontier-UTILITY.svg` and `.png` into `directory`, one picture a utility. A point's leakage is the greatest bound of
/// any attack at its setting, each bound by itself.
///
/// # Errors
/// Failed, if a file cannot be written.
pub fn draw(directory: &Path, cells: &[Cell], utilities: &[UtilityCell]) -> Result<()> {
    let mut names: Vec<&str> = Vec::new();
    for utility in utilities {
        if !names.contains(&&utility.utility[..]) {
            names.push(&utility.utility);
        }
    }
    for name in names {
        let of_name: Vec<&UtilityCell> = utilities.iter().filter(|u| u.utility == name).collect();
        let file = |end: &str| directory.join(format!("frontier-{name}.{end}"));
        frontier(&picture(cells, &of_name), &file("svg"), &file("png"))?;
    }
    Ok(())
}

fn picture(cells: &[Cell], utilities: &[&UtilityCell]) -> Frontier {
    let settings = |u: &UtilityCell| (u.k, u.lambda.to_bits(), u.neighbours);
    let one_data_set = utilities.iter().all(|u| u.dataset == utilities[0].dataset);
    let one_setting = utilities
        .iter()
        .all(|u| settings(u) == settings(utilities[0]));
    let mut lines: Vec<FrontierLine> = Vec::new();
    for utility in utilities {
        let Some(point) = point(cells, utility) else {
            continue;
        };
        let mut label = utility.mechanism.clone();
        if !one_data_set {
            label += &format!(", {}", utility.dataset);
        }
        if !one_setting {
            label += &format!(
                ", k = {}, λ = {}, {}",
                utility.k, utility.lambda, utility.neighbours
            );
        }
        match lines.iter_mut().find(|line| line.label == label) {
            Some(line) => line.points.push(point),
            None => lines.push(FrontierLine {
                label,
                points: vec![point],
            }),
        }
    }
    let first = utilities.first();
    let percent = confidence(first.map_or(0.01, |u| u.alpha));
    let subtitle = first.map_or(String::new(), |u| {
        let data = if one_data_set {
            &u.dataset
        } else {
            "several data sets"
        };
        format!(
            "{data} · {} · a number is the nominal ε; up and left is better",
            u.signature
        )
    });
    Frontier {
        title: format!("{} against leakage", first.map_or("", |u| &u.utility)),
        subtitle,
        x: format!("empirical ε (greatest lower bound of any attack, {percent} % confidence each)"),
        y: format!("mean {}", first.map_or("", |u| &u.utility)),
        lines,
    }
}

/// The point of one setting; `None` if it has no mean, or no bound that can be drawn.
fn point(cells: &[Cell], utility: &UtilityCell) -> Option<FrontierPoint> {
    let same = |cell: &&Cell| {
        cell.dataset == utility.dataset
            && cell.mechanism == utility.mechanism
            && cell.epsilon == utility.epsilon
            && cell.neighbours == utility.neighbours
            && (cell.k, cell.lambda) == (utility.k, utility.lambda)
    };
    let bounds = cells.iter().filter(same).map(|cell| cell.empirical_epsilon);
    let leak = bounds.filter(|bound| bound.is_finite()).reduce(f64::max)?;
    Some(FrontierPoint {
        leak,
        utility: utility.mean?,
        interval: utility.mean_lower.zip(utility.mean_upper),
        label: utility.epsilon.map(|epsilon| epsilon.to_string()),
    })
}
