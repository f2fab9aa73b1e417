//! The pairs of texts that one attack tells apart best: all of few texts, or a list.

use std::borrow::Cow;

use super::html::{self, Td};
use super::run::{Run, cut, label};
use super::sample::MOST_PAIRS;

/// The section; empty for a run without rows.
pub fn pairs(run: &Run<'_>) -> String {
    let Some(cell) = run.looked_at.map(|place| &run.cells[place]) else {
        return String::new();
    };
    if run.sample.pairs.is_empty() {
        return String::new();
    }
    let series = run.stored.manifest.cells.iter().find(|plan| {
        plan.mechanism == cell.mechanism
            && plan.dataset == cell.dataset
            && plan.epsilon == cell.epsilon
    });
    let series = series.and_then(|plan| plan.series).unwrap_or_default();
    let text = |number: u32| cut(run.text(series, number));
    let mut html = format!(
        "<p>Of the cell that shows most: {}.</p>",
        html::text(&label(cell))
    );
    if let Some(texts) = run.sample.few() {
        let names: Vec<String> = texts.iter().map(|number| text(*number)).collect();
        let mut head = vec!["source"];
        head.extend(names.iter().map(String::as_str));
        let rows: Vec<Vec<Td<'_>>> = texts
            .iter()
            .zip(&names)
            .map(|(source, name)| {
                let mut row = vec![Td::Foreign(name)];
                row.extend(texts.iter().map(
                    |other| match run.sample.pairs.get(&(*source, *other)) {
                        Some(told) => {
                            let share = told.hits as f64 / told.trials as f64;
                            Td::Heat(share, format!("{share:.2} of {}", told.trials))
                        }
                        None => Td::Empty,
                    },
                ));
                row
            })
            .collect();
        html += &html::table(
            "Share of trials in which the source of a row was guessed, with the text of a column beside it",
            false,
            &head,
            &rows,
        );
        return html;
    }
    let leakiest = run.sample.leakiest();
    let rows: Vec<Vec<Td<'_>>> = leakiest
        .iter()
        .map(|((source, other), told)| {
            vec![
                Td::Words(Cow::Owned(text(*source))),
                Td::Words(Cow::Owned(text(*other))),
                Td::Number(told.hits as f64, told.hits.to_string()),
                Td::Number(told.trials as f64, told.trials.to_string()),
                Td::Number(told.margin, format!("{:.3}", told.margin)),
            ]
        })
        .collect();
    let left = if run.sample.pairs_left {
        ", of those that occurred first"
    } else {
        ""
    };
    html + &html::table(
        &format!(
            "The {} ordered pairs whose source was guessed most surely{left}: by the lower limit of their success rate, then by margin. They are chosen among {}, so no bound follows from any",
            leakiest.len().min(MOST_PAIRS),
            run.sample.pairs.len()
        ),
        true,
        &["source", "told from", "right", "trials", "greatest margin"],
        &rows,
    )
}
