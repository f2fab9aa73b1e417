//! The sections of the page, in the order in which they are read.

use std::borrow::Cow;
use std::fmt::Write;

use teda_core::{Result, Verdict, plain};
use teda_results::{Cell, Document, UtilityCell};

use super::html::{self, Td};
use super::pairs::pairs;
use super::provenance::{failures, provenance};
use super::run::{Run, cut, label};
use crate::report::explanation;
use crate::report::order::{telling, worst_first};

/// What stands where the sample of trials goes, once its size is known.
pub const TRIALS: &str = "<!--trials-->";

/// Most signs of an attack that learned.
const SIGNS: usize = 12;

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
            lead(runs, &cells)
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

/// What the page shows: claims that are refuted, and the greatest leak, which pay for the choice among cells; and where most
/// answers are missing.
fn lead(runs: &[Run<'_>], cells: &[Cell]) -> String {
    let telling = explanation::telling(cells);
    let refuted = telling
        .iter()
        .filter(|cell| cell.verdict == Verdict::Violation);
    let refuted: Vec<String> = refuted.map(|cell| html::text(&cell.mechanism)).collect();
    let claims = match &refuted[..] {
        [] => "No claim is refuted, which proves none.".to_owned(),
        names => format!("Refuted: what is claimed of {}.", names.join(", ")),
    };
    let most = telling
        .iter()
        .max_by(|a, b| a.empirical_epsilon.total_cmp(&b.empirical_epsilon))
        .filter(|cell| cell.empirical_epsilon > 0.0);
    let leak = match most {
        None => "These attacks found no leak, which does not prove that there is none.".to_owned(),
        Some(cell) => format!(
            "The greatest leak that was shown: ε ≥ {}, of {}.",
            explanation::number(cell.empirical_epsilon),
            html::text(&cell.mechanism)
        ),
    };
    let inconclusive = |cell: &&Cell| cell.verdict == Verdict::Inconclusive;
    let missing = match cells.iter().filter(inconclusive).count() {
        0 => String::new(),
        count => format!(
            " In {count} of {} cells most answers are missing, so that nothing follows from what was not found there.",
            cells.len()
        ),
    };
    let said = format!("{claims} {leak}{missing}");
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
    let mut html = "<ul class=\"verdicts\">".to_owned();
    for cell in &telling(cells) {
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
        order.sort_by(|a, b| worst_first(a, b));
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

const HOW_TO_READ: &str = "<p>A trial draws k texts, has one of them rewritten in secret, and lets an attack guess which. An attack that is right more often than chance has seen something. From how often it is right follows a <em>lower bound</em> on ε, the empirical ε, which holds with the stated confidence whatever the mechanism.</p><ul><li><strong>violation</strong>: the bound is above the claim. The claim is refuted, at the stated confidence.</li><li><strong>consistent</strong>: the bound is within the claim. This proves nothing: a cleverer attack may find more.</li><li><strong>saturated</strong>: so many trials cannot reach the claim, whatever an attack sees.</li><li><strong>no-claim</strong>: the mechanism claims nothing between such texts.</li><li><strong>inconclusive</strong>: the trials do not decide.</li></ul><p>A bound near 0 says that <em>these</em> attacks found nothing. The ceiling is the bound of an attack that is always right: nothing above it can be shown with so many trials.</p>";

const CITE: &str = "<pre>@misc{li2026beyond,
  title         = {Beyond Theoretical Bounds: Empirical Privacy Loss Calibration for Text Rewriting Under Local Differential Privacy},
  author        = {Weijun Li and Arnaud {Grivet S\u{e9}bert} and Qiongkai Xu and Annabelle McIver and Mark Dras},
  year          = {2026},
  eprint        = {2603.22968},
  archivePrefix = {arXiv}
}</pre><p>This page was made by teda, which audits by this method; name its version, which stands above.</p>";
