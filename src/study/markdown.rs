//! The result of a study as a page of Markdown.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::document::Document;
use super::point::{Coordinate, Point, shared};
use super::published::Beside;
use super::statement::Outcome;

/// The page.
#[must_use]
pub fn page(document: &Document) -> String {
    let mut page = format!(
        "# {}\n\n{}\n\nScale: `{}`. Study: `{}`. teda {}.\n\n{}\n",
        document.title,
        document.source,
        document.scale,
        document.study,
        document.teda,
        document.about.trim()
    );
    statements(document, &mut page);
    published(document, &mut page);
    figures(document, &mut page);
    measured(document, &mut page);
    parts(document, &mut page);
    page
}

fn statements(document: &Document, page: &mut String) {
    if document.statements.is_empty() {
        return;
    }
    let _ = write!(
        page,
        "\n## Statements of the paper\n\n{}. A statement that is false *holds* here with probability {} at most, and one that is true is *refuted* with probability {} at most; each is tested by itself.\n\n| | where | statement | comparisons |\n|---|---|---|---|\n",
        summary(document),
        document.error,
        document.error
    );
    for one in &document.statements {
        let counted = match one.outcome {
            Outcome::NotTested => "–".to_owned(),
            _ => format!(
                "{} of {} established, {} contradicted",
                one.established, one.comparisons, one.contradicted
            ),
        };
        let _ = writeln!(
            page,
            "| **{}** | {} | {} | {counted} |",
            one.outcome.words(),
            cell(&one.place),
            cell(&one.text)
        );
    }
    for one in document.statements.iter().filter(|one| !one.why.is_empty()) {
        let _ = writeln!(
            page,
            "\n- {} ({}): {}",
            cell(&one.text),
            one.outcome.words(),
            cell(&one.why.join("; "))
        );
    }
}

/// How many statements hold, in words.
#[must_use]
pub fn summary(document: &Document) -> String {
    let outcomes = [
        Outcome::Holds,
        Outcome::Refuted,
        Outcome::Undecided,
        Outcome::NotTested,
    ];
    let counted = outcomes
        .into_iter()
        .filter(|outcome| document.count(*outcome) > 0);
    let counted: Vec<String> = counted
        .map(|o| format!("{} {}", document.count(o), o.words()))
        .collect();
    format!(
        "Of {} statements: {}",
        document.statements.len(),
        counted.join(", ")
    )
}

fn published(document: &Document, page: &mut String) {
    if document.published.is_empty() {
        return;
    }
    *page += "\n## Published and measured\n\nFirst the published number, then the measured one with its confidence interval where it has one; – where nothing was measured.\n";
    let mut places: Vec<&str> = Vec::new();
    for row in &document.published {
        if !places.contains(&&row.place[..]) {
            places.push(&row.place);
        }
    }
    for place in places {
        let rows: Vec<&Beside> = document
            .published
            .iter()
            .filter(|row| row.place == place)
            .collect();
        let known: Vec<&str> = rows.iter().fold(Vec::new(), |mut all, row| {
            if !all.contains(&row.known.words()) {
                all.push(row.known.words());
            }
            all
        });
        let mut heads: Vec<&(Coordinate, String)> = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        for row in &rows {
            if !heads.contains(&&row.along) {
                heads.push(&row.along);
            }
            if !names.contains(&&row.row[..]) {
                names.push(&row.row);
            }
        }
        let _ = write!(page, "\n### {} ({})\n\n| |", cell(place), known.join(", "));
        for (along, text) in &heads {
            let _ = write!(page, " {} = {} |", along.name(), cell(text));
        }
        let _ = write!(page, "\n|---|{}\n", "---:|".repeat(heads.len()));
        for name in names {
            let _ = write!(page, "| {} |", cell(name));
            for head in &heads {
                let found = rows
                    .iter()
                    .find(|row| row.row == name && row.along == **head);
                let _ = write!(
                    page,
                    " {} |",
                    found.map_or("–".to_owned(), |row| beside(row))
                );
            }
            *page += "\n";
        }
    }
}

fn beside(row: &Beside) -> String {
    let measured = number(row.measured, row.interval, row.unanswered);
    format!("{} · {measured}", short(row.published))
}

/// A measured number with its interval. One that coins were counted for says so: it would read as if nothing leaked.
fn number(value: Option<f64>, interval: Option<(f64, f64)>, unanswered: bool) -> String {
    let text = match (value, interval) {
        (None, _) => "–".to_owned(),
        (Some(value), None) => short(value),
        (Some(value), Some((low, high))) => {
            format!("{} [{}, {}]", short(value), short(low), short(high))
        }
    };
    match unanswered {
        true => text + " (most answers are missing)",
        false => text,
    }
}

/// A number to three digits behind the point, without zeros at the end.
fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn figures(document: &Document, page: &mut String) {
    if document.figures.is_empty() {
        return;
    }
    *page += "\n## Figures\n";
    for figure in &document.figures {
        let _ = write!(
            page,
            "\n**{}**: {}\n",
            cell(&figure.place),
            cell(&figure.title)
        );
        let _ = match &figure.file {
            Some(file) => write!(page, "\n![{}]({file}.svg)\n", cell(&figure.title)),
            None => write!(page, "\nNothing was measured for it at this scale.\n"),
        };
    }
}

/// All points, part by part: a row for what is the same, a column for each ε.
fn measured(document: &Document, page: &mut String) {
    *page += "\n## Measured\n";
    let mut names: Vec<&str> = document.parts.iter().map(|part| &part.name[..]).collect();
    names.dedup();
    for name in names {
        let all = document.points.iter();
        let points: Vec<&Point> = all
            .filter(|point| point.text(Coordinate::Part) == name)
            .collect();
        if points.is_empty() {
            continue;
        }
        let _ = write!(page, "\n### `{name}`\n\n");
        table(&points, page);
        for part in document
            .parts
            .iter()
            .filter(|part| part.name == name && !part.text.is_empty())
        {
            let text = part.text.trim_end().replace("```", "'''");
            let _ = write!(page, "\n```text\n{text}\n```\n");
        }
    }
}

fn table(points: &[&Point], page: &mut String) {
    let mut heads: Vec<&str> = Vec::new();
    let mut rows: BTreeMap<String, Vec<&Point>> = BTreeMap::new();
    // What a whole table has in common stands above it.
    let mut common = shared(points);
    if let Some(first) = points.first() {
        let apart: Vec<Coordinate> = Coordinate::ALL
            .into_iter()
            .filter(|at| !common.contains(at))
            .collect();
        let said = first.place(&apart);
        if !said.is_empty() {
            let _ = write!(page, "{}\n\n", cell(&said));
        }
    }
    common.push(Coordinate::Epsilon);
    for point in points {
        let head = point.text(Coordinate::Epsilon);
        if !heads.contains(&head) {
            heads.push(head);
        }
        let place = point.place(&common);
        rows.entry(place).or_default().push(point);
    }
    let number = |text: &&str| text.parse::<f64>().unwrap_or(f64::NEG_INFINITY);
    heads.sort_by(|a, b| number(a).total_cmp(&number(b)));
    *page += "| |";
    for head in &heads {
        let _ = match head.is_empty() {
            true => write!(page, " no ε |"),
            false => write!(page, " ε = {} |", cell(head)),
        };
    }
    let _ = write!(page, "\n|---|{}\n", "---:|".repeat(heads.len()));
    for (place, points) in rows {
        let _ = write!(page, "| {} |", cell(&place));
        for head in &heads {
            let found = points
                .iter()
                .find(|point| point.text(Coordinate::Epsilon) == *head);
            let text = found.map_or("–".to_owned(), |point| {
                self::number(point.value, point.interval, point.unanswered)
            });
            let _ = write!(page, " {text} |");
        }
        *page += "\n";
    }
}

fn parts(document: &Document, page: &mut String) {
    let left: Vec<_> = document
        .parts
        .iter()
        .filter_map(|part| Some((part, part.needs.as_ref()?)))
        .collect();
    if left.is_empty() {
        return;
    }
    *page += "\n## Not run\n\n";
    for (part, needs) in left {
        let _ = writeln!(page, "- `{}`: {}", part.folder, cell(needs));
    }
}

/// A text inside a table: nothing in it ends a cell or begins markup of its own.
fn cell(text: &str) -> String {
    let plain = teda_core::plain(text);
    plain
        .replace('|', "\\|")
        .replace('<', "&lt;")
        .replace('\n', " ")
}
