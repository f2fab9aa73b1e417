//! The sections of the page, in the order in which they are read.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use teda_core::{Error, Result, Verdict, plain};
use teda_results::{Cell, Document, UtilityCell};

use super::html::{self, Td};
use super::sample::{MOST_PAIRS, Sample, Trial};
use crate::report::explanation;
use crate::report::finished_run::FinishedRun;

/// What stands where the sample of trials goes, once its size is known.
pub const TRIALS: &str = "<!--trials-->";

/// Most characters of a text that is shown.
const TEXT: usize = 400;
/// Trials that stand in the page without its script.
const WITHOUT_SCRIPT: usize = 10;
/// Most signs of an attack that learned.
const SIGNS: usize = 12;

/// One run on the page.
pub struct Run<'a> {
    /// What is stored of it.
    pub stored: &'a FinishedRun,
    /// Its cells, as they are shown.
    pub cells: &'a [Cell],
    /// Its utilities, if any were measured.
    pub utilities: &'a [UtilityCell],
    /// The command that makes it again.
    pub command: Option<String>,
    /// What was taken from its rows.
    pub sample: Sample,
    /// Its lists of texts; none if its rows were not read.
    pub texts: Vec<Arc<[String]>>,
    /// The cell whose pairs are looked at.
    pub looked_at: Option<usize>,
}

impl Run<'_> {
    /// A text of a series, by its number.
    pub fn text(&self, series: u32, number: u32) -> &str {
        let plan = self
            .stored
            .manifest
            .cells
            .iter()
            .find(|plan| plan.series == Some(series));
        let list = plan.and_then(|plan| plan.texts).unwrap_or_default();
        let texts = self.texts.get(list as usize);
        texts
            .and_then(|texts| texts.get(number as usize))
            .map_or("", String::as_str)
    }

    /// What the run is called.
    fn name(&self) -> String {
        plain(&self.stored.directory.display().to_string()).into_owned()
    }
}

/// The place of the cell that shows most: a violation before others, then the greatest bound.
pub fn worst(cells: &[Cell]) -> Option<usize> {
    let key = |cell: &Cell| (rank(cell.verdict), cell.empirical_epsilon);
    let mut places: Vec<usize> = (0..cells.len()).collect();
    places.sort_by(|a, b| {
        let ((rank_a, bound_a), (rank_b, bound_b)) = (key(&cells[*a]), key(&cells[*b]));
        rank_a.cmp(&rank_b).then(bound_b.total_cmp(&bound_a))
    });
    places.first().copied()
}

/// Worst first.
fn rank(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Violation => 0,
        Verdict::Inconclusive => 1,
        Verdict::NoClaim => 2,
        Verdict::Saturated => 3,
        Verdict::Consistent => 4,
    }
}

/// The page between head and script, but for the sample of trials.
pub struct Body {
    /// The page's title.
    pub title: String,
    /// Its HTML.
    pub html: String,
}

impl Body {
    /// The body for these runs and their picture.
    ///
    /// # Errors
    /// Failed, if the result cannot be written as JSON.
    pub fn new(runs: &[Run<'_>], curve: &str) -> Result<Self> {
        let cells: Vec<Cell> = runs
            .iter()
            .flat_map(|run| run.cells.iter().cloned())
            .collect();
        let title = title(&cells);
        let mut html = format!(
            "<header><h1>{}</h1>{}</header>",
            html::text(&title),
            lead(runs)
        );
        let mut parts: Vec<(&str, &str, String)> = vec![
            ("verdicts", "Verdicts", verdicts(&cells)),
            ("curve", "Curve and numbers", curve_and_numbers(runs, curve)),
            ("read", "How to read this", HOW_TO_READ.to_owned()),
        ];
        let utilities: Vec<UtilityCell> = runs
            .iter()
            .flat_map(|run| run.utilities.iter().cloned())
            .collect();
        let more: [(&str, &str, String); 8] = [
            (
                "utility",
                "What the releases are still good for",
                self::utilities(&utilities),
            ),
            (
                "learned",
                "What the attack that learned saw",
                learned(&cells),
            ),
            (
                "pairs",
                "Pairs that are told apart best",
                per_run(runs, pairs),
            ),
            ("trials", "Trials", TRIALS.to_owned()),
            ("witnesses", "Witnesses", witnesses(&cells)),
            ("failures", "Failures", per_run(runs, failures)),
            (
                "provenance",
                "Where this comes from",
                per_run(runs, provenance),
            ),
            ("cite", "To cite", CITE.to_owned()),
        ];
        parts.extend(more.into_iter().filter(|(_, _, text)| !text.is_empty()));
        html += "<nav aria-label=\"Sections\"><ul>";
        for (id, name, _) in &parts {
            let _ = write!(html, "<li><a href=\"#{id}\">{name}</a></li>");
        }
        html += "</ul></nav><main>";
        for (id, name, text) in parts {
            let _ = write!(
                html,
                "\n<section id=\"{id}\"><h2>{name}</h2>{text}</section>"
            );
        }
        html += "</main>";
        let document = Document::new(None, cells)
            .with_utilities(utilities)
            .to_line()?;
        let _ = write!(
            html,
            "<script type=\"application/json\" id=\"result\">{}</script>",
            html::json(&document)
        );
        Ok(Self { title, html })
    }
}

fn title(cells: &[Cell]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for cell in cells {
        if !names.contains(&&cell.mechanism[..]) {
            names.push(&cell.mechanism);
        }
    }
    match names[..] {
        [] => "Audit".to_owned(),
        [one] => format!("Audit of {}", plain(one)),
        [first, second] => format!("Audit of {} and {}", plain(first), plain(second)),
        [first, ..] => format!("Audit of {} and {} more", plain(first), names.len() - 1),
    }
}

fn lead(runs: &[Run<'_>]) -> String {
    let violations = runs
        .iter()
        .flat_map(|run| run.cells)
        .filter(|c| c.verdict == Verdict::Violation);
    let count = violations.count();
    let cells: usize = runs.iter().map(|run| run.cells.len()).sum();
    let said = match count {
        0 => format!("No claim is refuted in {cells} cells, which does not prove any."),
        count => format!("{count} of {cells} cells refute their mechanism's claim."),
    };
    let made: Vec<String> = runs
        .iter()
        .map(|run| {
            format!(
                "{} ({})",
                html::text(&run.name()),
                html::text(&run.stored.manifest.created)
            )
        })
        .collect();
    format!(
        "<p><strong>{said}</strong></p><p class=\"muted\">{}</p>",
        made.join(", ")
    )
}

fn verdicts(cells: &[Cell]) -> String {
    let mut telling = explanation::telling(cells);
    telling.sort_by(|a, b| {
        let by_rank = rank(a.verdict).cmp(&rank(b.verdict));
        by_rank.then(b.empirical_epsilon.total_cmp(&a.empirical_epsilon))
    });
    let mut html = "<ul class=\"verdicts\">".to_owned();
    for cell in &telling {
        let _ = write!(
            html,
            "<li class=\"{0}\"><strong>{0}</strong>: {1}.</li>",
            cell.verdict,
            html::text(&cell.explanation)
        );
    }
    html + "</ul>"
}

fn curve_and_numbers(runs: &[Run<'_>], curve: &str) -> String {
    let mut html = String::new();
    if !curve.is_empty() {
        let _ = write!(
            html,
            "<figure><div role=\"img\" aria-label=\"Curves of empirical against nominal epsilon; the table below has the same numbers\">{curve}</div><figcaption class=\"muted\">Empirical against nominal ε. The table has the same numbers.</figcaption></figure>"
        );
    }
    let several = runs.len() > 1;
    let mut head = vec![
        "verdict",
        "mechanism",
        "data set",
        "nominal ε",
        "k",
        "λ",
        "attack",
        "estimator",
        "right",
        "trials",
        "failed",
        "rate",
        "empirical ε ≥",
        "ceiling",
        "claim",
    ];
    if several {
        head.push("run");
    }
    let mut rows = Vec::new();
    for run in runs {
        let mut order: Vec<&Cell> = run.cells.iter().collect();
        order.sort_by(|a, b| {
            let by_rank = rank(a.verdict).cmp(&rank(b.verdict));
            by_rank.then(b.empirical_epsilon.total_cmp(&a.empirical_epsilon))
        });
        for cell in order {
            let unit = cell.epsilon_unit.map_or("", teda_core::Unit::name);
            let epsilon = |e: f64| Td::Number(e, format!("{e} / {unit}"));
            let whole = |n: u64| Td::Number(n as f64, n.to_string());
            let mut row = vec![
                Td::Words(cell.verdict.to_string().into()),
                Td::Words(Cow::Borrowed(&cell.mechanism)),
                Td::Words(Cow::Borrowed(&cell.dataset)),
                cell.epsilon.map_or(Td::Empty, epsilon),
                whole(u64::from(cell.k)),
                Td::Number(cell.lambda, cell.lambda.to_string()),
                Td::Words(Cow::Borrowed(&cell.attack)),
                Td::Words(Cow::Borrowed(&cell.estimator)),
                whole(cell.hits),
                whole(cell.trials),
                whole(cell.failed),
                decimal(cell.success_rate),
                decimal(cell.empirical_epsilon),
                decimal(cell.ceiling),
                cell.claimed_epsilon.map_or(Td::Empty, decimal),
            ];
            if several {
                row.push(Td::Words(run.name().into()));
            }
            rows.push(row);
        }
    }
    html + &html::table(
        "All cells, the worst first; a click on a column's name sorts by it",
        true,
        &head,
        &rows,
    )
}

fn decimal(value: f64) -> Td<'static> {
    let shown = match value.is_infinite() {
        true => "∞".to_owned(),
        false => format!("{value:.4}"),
    };
    // A table sorts by what JavaScript reads as a number.
    let sorted = if value.is_infinite() { f64::MAX } else { value };
    Td::Number(sorted, shown)
}

fn utilities(cells: &[UtilityCell]) -> String {
    if cells.is_empty() {
        return String::new();
    }
    let rows: Vec<Vec<Td<'_>>> = cells
        .iter()
        .map(|cell| {
            vec![
                Td::Words(Cow::Borrowed(&cell.mechanism)),
                Td::Words(Cow::Borrowed(&cell.dataset)),
                cell.epsilon
                    .map_or(Td::Empty, |e| Td::Number(e, e.to_string())),
                Td::Words(Cow::Borrowed(&cell.utility)),
                cell.mean.map_or(Td::Empty, decimal),
                cell.mean_lower.map_or(Td::Empty, decimal),
                cell.mean_upper.map_or(Td::Empty, decimal),
                cell.corpus.map_or(Td::Empty, decimal),
                Td::Number(cell.failed as f64, cell.failed.to_string()),
            ]
        })
        .collect();
    let head = [
        "mechanism",
        "data set",
        "nominal ε",
        "utility",
        "mean",
        "lower",
        "upper",
        "all together",
        "failed",
    ];
    html::table("Means with their confidence intervals", true, &head, &rows)
}

fn learned(cells: &[Cell]) -> String {
    let mut telling: Vec<&Cell> = cells.iter().filter(|cell| !cell.signs.is_empty()).collect();
    telling.sort_by(|a, b| b.empirical_epsilon.total_cmp(&a.empirical_epsilon));
    let mut shown: Vec<&str> = Vec::new();
    let mut html = String::new();
    for cell in telling {
        // Of each mechanism the cell that shows most.
        if shown.contains(&&cell.mechanism[..]) {
            continue;
        }
        shown.push(&cell.mechanism);
        let epsilon = cell
            .epsilon
            .map_or(String::new(), |e| format!(" at nominal ε = {e}"));
        let _ = write!(
            html,
            "<h3>{}{epsilon}</h3><p>From {} trials that are not counted, <code>{}</code> learned to go by these signs; what is above 0 speaks for a candidate.</p>",
            html::text(&cell.mechanism),
            cell.trained,
            html::text(&cell.attack)
        );
        let signs: Vec<Vec<Td<'_>>> = cell
            .signs
            .iter()
            .take(SIGNS)
            .map(|sign| {
                let weight = Td::Number(sign.weight, format!("{:+.2}", sign.weight));
                vec![Td::Foreign(&sign.words), weight]
            })
            .collect();
        html += &html::table("Signs and weights", false, &["sign", "weight"], &signs);
    }
    html
}

/// A section that each run has for itself.
fn per_run(runs: &[Run<'_>], section: fn(&Run<'_>) -> String) -> String {
    let mut html = String::new();
    for run in runs {
        let text = section(run);
        if text.is_empty() {
            continue;
        }
        if runs.len() > 1 {
            let _ = write!(html, "<h3>{}</h3>", html::text(&run.name()));
        }
        html += &text;
    }
    html
}

fn label(cell: &Cell) -> String {
    let epsilon = cell.epsilon.map_or(String::new(), |e| format!(", ε = {e}"));
    format!(
        "{}{epsilon}, {}, k = {}, λ = {}, {}",
        cell.mechanism, cell.attack, cell.k, cell.lambda, cell.dataset
    )
}

fn pairs(run: &Run<'_>) -> String {
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

/// The beginning of a text.
fn cut(text: &str) -> String {
    match text.char_indices().nth(TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The sample of trials of run `number`: a table of its first ones, and the data of all for the script.
///
/// # Errors
/// Failed, if the sample cannot be written as JSON.
pub fn trials(number: usize, run: &Run<'_>, sample: &[&Trial]) -> Result<String> {
    if sample.is_empty() {
        return Ok(
            "<p>No trials to browse: the run kept its counts alone, or none has room here.</p>"
                .to_owned(),
        );
    }
    // Texts are stored once each.
    let mut places: HashMap<(u32, u32), u32> = HashMap::new();
    let mut texts: Vec<String> = Vec::new();
    let mut numbered: Vec<Trial> = Vec::new();
    for trial in sample {
        let k = trial.k.iter().map(|text| {
            *places.entry((trial.series, *text)).or_insert_with(|| {
                texts.push(cut(&plain(run.text(trial.series, *text))));
                texts.len() as u32 - 1
            })
        });
        let k = k.collect();
        let r = cut(&plain(&trial.r));
        let e = trial.e.as_deref().map(|error| cut(&plain(error)));
        numbered.push(Trial {
            k,
            r,
            e,
            ..(*trial).clone()
        });
    }
    let plans = &run.stored.manifest.cells;
    let names: Vec<String> = plans
        .iter()
        .map(|plan| {
            let epsilon = plan.epsilon.map_or(String::new(), |e| format!(", ε = {e}"));
            format!(
                "{}{epsilon}, {}, k = {}, λ = {}, {}",
                plan.mechanism, plan.attack, plan.k, plan.lambda, plan.dataset
            )
        })
        .collect();
    let json = serde_json::json!({ "cells": names, "texts": texts, "trials": numbered });
    let json = serde_json::to_string(&json)
        .map_err(|e| Error::failed(format!("sample of trials: {e}")))?;
    let head = [
        "cell",
        "trial",
        "source",
        "release",
        "other candidates",
        "guess",
        "margin",
    ];
    let first = numbered
        .iter()
        .flat_map(|trial| trial.g.iter().map(move |guess| (trial, guess)));
    let rows: Vec<Vec<Td<'_>>> = first
        .take(WITHOUT_SCRIPT)
        .map(|(trial, (cell, guess, margin))| {
            let text = |place: usize| &texts[trial.k[place] as usize][..];
            let others = (0..trial.k.len()).filter(|place| *place != trial.s as usize);
            let others: Vec<&str> = others.map(text).collect();
            let said = match (&trial.e, *guess == trial.s) {
                (Some(_), _) => "failed".to_owned(),
                (None, true) => "right".to_owned(),
                (None, false) => format!("wrong: {}", text(*guess as usize)),
            };
            vec![
                Td::Words(Cow::Borrowed(&names[*cell as usize])),
                Td::Number(trial.t as f64, trial.t.to_string()),
                Td::Foreign(text(trial.s as usize)),
                Td::Foreign(trial.e.as_deref().unwrap_or(&trial.r)),
                Td::Words(Cow::Owned(others.join(" ⏐ "))),
                Td::Words(Cow::Owned(said)),
                margin.map_or(Td::Empty, |margin| {
                    Td::Number(margin, format!("{margin:.3}"))
                }),
            ]
        })
        .collect();
    let caption = format!(
        "A sample of {} of {} trials, drawn by the run's seed, as many of each series; texts are cut after {TEXT} characters",
        numbered.len(),
        run.sample.of
    );
    let heading = format!("<h3>{}</h3>", html::text(&run.name()));
    Ok(format!(
        "{heading}<div data-trials=\"trials-{number}\">{}</div><script type=\"application/json\" id=\"trials-{number}\">{}</script>",
        html::table(&caption, false, &head, &rows),
        html::json(&json)
    ))
}

fn witnesses(cells: &[Cell]) -> String {
    let mut rows = Vec::new();
    for cell in cells.iter().filter(|cell| !cell.witness_texts.is_empty()) {
        let texts: Vec<String> = cell
            .witness_texts
            .iter()
            .map(|text| cut(&plain(text)))
            .collect();
        rows.push(vec![
            Td::Words(label(cell).into()),
            decimal(cell.empirical_epsilon),
            Td::Words(Cow::Owned(texts.join(" ⏐ "))),
        ]);
    }
    match rows.is_empty() {
        true => String::new(),
        false => html::table(
            "Texts that show a bound",
            true,
            &["cell", "empirical ε ≥", "texts"],
            &rows,
        ),
    }
}

fn failures(run: &Run<'_>) -> String {
    let failed: Vec<&Cell> = run.cells.iter().filter(|cell| cell.failed > 0).collect();
    if failed.is_empty() {
        return format!(
            "<p>None of the {} trials failed.</p>",
            run.cells.iter().map(|cell| cell.trials).sum::<u64>()
        );
    }
    let rows: Vec<Vec<Td<'_>>> = failed
        .iter()
        .map(|cell| {
            let whole = |n: u64| Td::Number(n as f64, n.to_string());
            vec![
                Td::Words(label(cell).into()),
                whole(cell.trials),
                whole(cell.failed_mechanism),
                whole(cell.failed_transport),
                whole(cell.failed_attack),
            ]
        })
        .collect();
    let head = [
        "cell",
        "trials",
        "no release",
        "lost on the way",
        "no scores",
    ];
    let mut html = html::table(
        "Trials that failed, which are decided by a random guess",
        true,
        &head,
        &rows,
    );
    let mut reasons: Vec<(&(u32, String), &u64)> = run.sample.failures.iter().collect();
    reasons.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    let rows: Vec<Vec<Td<'_>>> = reasons
        .iter()
        .take(MOST_PAIRS)
        .map(|((cell, reason), count)| {
            let plan = &run.stored.manifest.cells[*cell as usize];
            vec![
                Td::Words(Cow::Owned(format!("{}, {}", plan.mechanism, plan.attack))),
                Td::Number(**count as f64, count.to_string()),
                Td::Words(Cow::Owned(cut(reason))),
            ]
        })
        .collect();
    if !rows.is_empty() {
        html += &html::table("Why", true, &["of", "trials", "reason"], &rows);
    }
    html
}

fn provenance(run: &Run<'_>) -> String {
    let manifest = &run.stored.manifest;
    let again = match &run.command {
        Some(command) => format!(
            "<p>The same numbers again:</p><pre>{}</pre>",
            html::lines(command)
        ),
        None => {
            "<p>The mechanism belongs to a program of its own: no command makes the run again.</p>"
                .to_owned()
        }
    };
    let bit = match manifest.reproducible {
        true => "The command gives the same rows, to the bit.",
        false => "A model on a server, or a program, answered: the command may give other rows.",
    };
    let machine = &manifest.machine;
    let mut rows: Vec<Vec<Td<'_>>> = vec![
        vec![
            Td::Words("teda".into()),
            Td::Words(Cow::Borrowed(&manifest.version)),
            Td::Empty,
        ],
        vec![
            Td::Words("machine".into()),
            Td::Words(Cow::Owned(format!(
                "{} {}, {} processors, {}",
                machine.os, machine.arch, machine.cpus, manifest.device
            ))),
            Td::Empty,
        ],
    ];
    for data in &manifest.datasets {
        let what = format!("{}: {} texts ({})", data.name, data.texts, data.licence);
        rows.push(vec![
            Td::Words("data".into()),
            Td::Words(Cow::Owned(what)),
            Td::Words(Cow::Borrowed(&data.sha256)),
        ]);
    }
    for model in &manifest.models {
        let what = format!("{}: {}", model.name, model.source);
        let digest = model
            .sha256
            .as_deref()
            .map_or(Td::Empty, |digest| Td::Words(Cow::Borrowed(digest)));
        rows.push(vec![
            Td::Words("model".into()),
            Td::Words(Cow::Owned(what)),
            digest,
        ]);
    }
    for (name, digest) in [
        ("trials.parquet", &manifest.trials_sha256),
        ("guesses.parquet", &manifest.guesses_sha256),
        ("texts.parquet", &manifest.texts_sha256),
    ] {
        if let Some(digest) = digest {
            rows.push(vec![
                Td::Words("file".into()),
                Td::Words(name.into()),
                Td::Words(Cow::Borrowed(digest)),
            ]);
        }
    }
    let table = html::table(
        "What was used, and what was written",
        false,
        &["kind", "what", "SHA-256"],
        &rows,
    );
    let config = serde_json::to_string_pretty(&manifest.config).unwrap_or_default();
    format!(
        "{again}<p>{bit}</p>{table}<details><summary>The whole configuration</summary><pre>{}</pre></details>",
        html::lines(&config)
    )
}

const HOW_TO_READ: &str = "<p>A trial draws k texts, has one of them rewritten in secret, and lets an attack guess which. An attack that is right more often than chance has seen something. From how often it is right follows a <em>lower bound</em> on ε, the empirical ε, which holds with the stated confidence whatever the mechanism.</p><ul><li><strong>violation</strong>: the bound is above the claim. The claim is refuted, at the stated confidence.</li><li><strong>consistent</strong>: the bound is within the claim. This proves nothing: a cleverer attack may find more.</li><li><strong>saturated</strong>: so many trials cannot reach the claim, whatever an attack sees.</li><li><strong>no-claim</strong>: the mechanism claims nothing between such texts.</li><li><strong>inconclusive</strong>: the trials do not decide.</li></ul><p>A bound near 0 says that <em>these</em> attacks found nothing. The ceiling is the bound of an attack that is always right: nothing above it can be shown with so many trials.</p>";

const CITE: &str = "<pre>@misc{li2026beyond,
  title         = {Beyond Theoretical Bounds: Empirical Privacy Loss Calibration for Text Rewriting Under Local Differential Privacy},
  author        = {Weijun Li and Arnaud {Grivet S\u{e9}bert} and Qiongkai Xu and Annabelle McIver and Mark Dras},
  year          = {2026},
  eprint        = {2603.22968},
  archivePrefix = {arXiv}
}</pre><p>This page was made by teda, which audits by this method; name its version, which stands above.</p>";
