//! What failed, and where everything comes from.

use std::borrow::Cow;

use teda_results::Cell;

use super::html::{self, Td};
use super::run::{Run, cut, label};
use super::sample::MOST_PAIRS;

/// Failed trials by cell and cause, and why.
pub fn failures(run: &Run<'_>) -> String {
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

/// The command that makes the run again, and the digests of all that was used.
pub fn provenance(run: &Run<'_>) -> String {
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
