//! Draws utility against empirical ε: what each mechanism gives for what it leaks.
//!
//! One line a mechanism, through its points in the order of their nominal ε, which stands beside each marker. Up and to the
//! left is better: more use at less leakage.

use std::path::Path;

use teda_core::Result;
use teda_plot::{Chart, ChartLine, ChartPoint, Scale, chart};
use teda_results::{Cell, UtilityCell};

use crate::report::explanation::confidence;

/// Share of trials without a release above which a point says so.
const FAILED: f64 = 0.01;

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
        chart(&picture(cells, &of_name), &file("svg"), &file("png"))?;
    }
    Ok(())
}

fn picture(cells: &[Cell], utilities: &[&UtilityCell]) -> Chart {
    let settings = |u: &UtilityCell| (u.k, u.lambda.to_bits(), u.neighbours);
    let one_data_set = utilities.iter().all(|u| u.dataset == utilities[0].dataset);
    let one_setting = utilities
        .iter()
        .all(|u| settings(u) == settings(utilities[0]));
    let mut lines: Vec<ChartLine> = Vec::new();
    let mut infinite = 0;
    for utility in utilities {
        let Some(leak) = leak(cells, utility) else {
            continue;
        };
        if leak.is_infinite() {
            infinite += 1;
            continue;
        }
        let Some(point) = point(leak, utility) else {
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
            None => lines.push(ChartLine {
                label,
                points: vec![point],
            }),
        }
    }
    let first = utilities.first();
    let percent = confidence(first.map_or(0.01, |u| u.alpha));
    let mut subtitle = first.map_or(String::new(), |u| {
        let data = if one_data_set {
            &u.dataset
        } else {
            "several data sets"
        };
        format!(
            "{data} · {} · a number is the nominal ε; up and left is better; 0 is no proof of privacy",
            u.signature
        )
    });
    if infinite > 0 {
        subtitle += &format!(" · {infinite} infinite bounds are not drawn");
    }
    Chart {
        title: format!("{} against leakage", first.map_or("", |u| &u.utility)),
        subtitle,
        x: format!("empirical ε (greatest lower bound of any attack, {percent} % confidence each)"),
        y: format!("mean {}", first.map_or("", |u| &u.utility)),
        scale: Scale::Linear,
        lines,
    }
}

/// The greatest bound of any attack at the setting of a utility; `None` if there is no cell of it.
fn leak(cells: &[Cell], utility: &UtilityCell) -> Option<f64> {
    let same = |cell: &&Cell| {
        cell.dataset == utility.dataset
            && cell.mechanism == utility.mechanism
            && cell.epsilon == utility.epsilon
            && cell.neighbours == utility.neighbours
            && (cell.k, cell.lambda) == (utility.k, utility.lambda)
    };
    let bounds = cells.iter().filter(same).map(|cell| cell.empirical_epsilon);
    bounds.reduce(f64::max)
}

/// The point of one setting; `None` if its utility has no mean. Failures too frequent to ignore stand beside it.
fn point(leak: f64, utility: &UtilityCell) -> Option<ChartPoint> {
    let epsilon = utility.epsilon.map(|epsilon| epsilon.to_string());
    let share = utility.failed as f64 / utility.trials as f64;
    let failed = (share > FAILED).then(|| format!("{:.0} % failed", 100.0 * share));
    let label: Vec<String> = [epsilon, failed].into_iter().flatten().collect();
    Some(ChartPoint {
        x: leak,
        y: utility.mean?,
        interval: utility.mean_lower.zip(utility.mean_upper),
        label: (!label.is_empty()).then(|| label.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The cells of one setting with these bounds, and its utility with so many failures of 100 trials.
    fn setting(bounds: &[serde_json::Value], failed: u64) -> (Vec<Cell>, UtilityCell) {
        let shared = serde_json::json!({
            "dataset": "snips", "mechanism": "em", "epsilon": 2.0, "epsilon_unit": "text",
            "neighbours": "any-texts", "k": 2, "lambda": 0.0, "alpha": 0.01, "trials": 100, "failed": failed,
        });
        let with = |more: serde_json::Value| {
            let mut all = shared.clone();
            let more = more.as_object().unwrap().clone();
            all.as_object_mut().unwrap().extend(more);
            all
        };
        let cell = |bound: &serde_json::Value| {
            let cell = with(serde_json::json!({
                "attack": "embedding", "hits": 60, "success_rate": 0.6, "success_lower": 0.5, "delta": 0.0,
                "estimator": "certificate", "empirical_epsilon": bound, "ceiling": "inf",
                "claimed_epsilon": null, "verdict": "no-claim", "seconds": null,
            }));
            serde_json::from_value(cell).unwrap()
        };
        let utility = with(serde_json::json!({
            "utility": "cosine", "signature": "encoder: builtin", "undefined": 0, "mean": 0.5,
            "mean_lower": null, "mean_upper": null, "deviation": null, "corpus": null, "corpus_signature": null,
        }));
        let cells = bounds.iter().map(cell).collect();
        (cells, serde_json::from_value(utility).unwrap())
    }

    /// A finite bound of one attack says nothing where another's is infinite.
    #[test]
    fn an_infinite_bound_is_not_drawn_as_a_smaller_one() {
        let (cells, utility) = setting(&[1.5.into(), "inf".into()], 0);
        let picture = picture(&cells, &[&utility]);
        assert!(picture.lines.is_empty());
        assert!(picture.subtitle.contains("1 infinite bounds are not drawn"));
    }

    #[test]
    fn the_greatest_bound_is_drawn_and_failures_stand_beside_it() {
        let label = |failed| {
            let (cells, utility) = setting(&[0.5.into(), 1.5.into()], failed);
            let picture = picture(&cells, &[&utility]);
            let point = &picture.lines[0].points[0];
            assert_eq!(point.x, 1.5);
            point.label.clone().unwrap()
        };
        assert_eq!(label(1), "2");
        assert_eq!(label(97), "2, 97 % failed");
    }
}
