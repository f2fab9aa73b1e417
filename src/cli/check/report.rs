//! The results of a check: one table, or the document `teda.check/1`.

use std::path::Path;

use serde::Serialize;
use teda_core::{Error, Result};

use super::audit::{Checked, CheckedCell, Planned, Stake};
use crate::cli::compare::shown;
use crate::cli::key::Key;
use crate::cli::output::{fitted, prose, width};
use teda::report::columns::table;
use teda::report::grid::{Grid, Role};

const SCHEMA: &str = "teda.check/1";

/// # Schema
/// `{"schema": "teda.check/1", "file": …, "ok": …, "stake": {"limits", "error"}, "audits": [{"name", "run_dir", "cells": [{"cell": a cell
/// of teda.audit/1, "limits": {"at_most", "at_least", "expect"}, "recorded": {"source", "trials", "hits",
/// "success_rate", "p_value", "level"} or null, "ok", "failures": [text]}]}]}`.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    file: String,
    ok: bool,
    stake: Stake,
    audits: &'a [Checked],
}

/// The document on one line, ended by a line feed.
///
/// # Errors
/// Failed, if it cannot be written as JSON.
pub fn document(file: &Path, stake: Stake, audits: &[Checked]) -> Result<String> {
    let document = Document {
        schema: SCHEMA,
        file: file.display().to_string(),
        ok: audits.iter().all(|audit| audit.failed() == 0),
        stake,
        audits,
    };
    serde_json::to_string(&document)
        .map(|line| line + "\n")
        .map_err(|e| Error::failed(format!("check document: {e}")))
}

/// One line per cell, why cells fail, how many do, and how often that happens by chance.
#[must_use]
pub fn render(stake: Stake, audits: &[Checked]) -> String {
    let mut found = Grid::new()
        .words("audit", Role::Group)
        .words("data set", Role::Group)
        .words("mechanism", Role::Group)
        .numbers("ε", Role::Key)
        .numbers("k", Role::Group)
        .numbers("λ", Role::Group)
        .words("attack", Role::Key)
        .numbers("empirical ε ≥", Role::Value)
        .words("limit", Role::Value)
        .numbers("success rate", Role::Value)
        .numbers("p", Role::Detail(0))
        .words("outcome", Role::Value);
    let mut failures = String::new();
    for audit in audits {
        for checked in &audit.cells {
            found.add(row(&audit.name, checked));
            if !checked.ok {
                let key = Key::from(&checked.cell);
                let why = checked.failures.join("; ");
                failures += &format!("FAILED: {}, {key}: {why}.\n", audit.name);
            }
        }
    }
    let failures = match &failures[..] {
        "" => String::new(),
        _ => prose(&format!("\n{failures}")),
    };
    let found = found.without(&["p"], "-");
    found.render(width()) + &failures + "\n" + &summary(audits) + "\n" + &prose(&chance(stake))
}

fn row(audit: &str, checked: &CheckedCell) -> [String; 12] {
    let CheckedCell { cell, recorded, .. } = checked;
    let now = format!("{:.4}", cell.success_rate);
    let (rate, p) = match recorded {
        Some(then) => (
            format!("{:.4} → {now}", then.success_rate),
            shown(then.p_value),
        ),
        None => (now, "-".to_owned()),
    };
    [
        audit.to_owned(),
        cell.dataset.clone(),
        cell.mechanism.clone(),
        cell.epsilon.map_or("-".into(), |e| e.to_string()),
        cell.k.to_string(),
        cell.lambda.to_string(),
        cell.attack.clone(),
        format!("{:.4}", cell.empirical_epsilon),
        checked.limits.shown(cell.claimed_epsilon),
        rate,
        p,
        checked.outcome().to_owned(),
    ]
}

fn summary(audits: &[Checked]) -> String {
    let cells: usize = audits.iter().map(Checked::count).sum();
    let failed: usize = audits.iter().map(Checked::failed).sum();
    if failed == 0 {
        return format!("ok: all {cells} cells keep their limits.");
    }
    format!("FAILED: {failed} of {cells} cells.")
}

fn chance(stake: Stake) -> String {
    let Stake { limits, error } = stake;
    format!(
        "Each bound is at alpha/{limits}, for the {limits} cells of the file: a file of sound mechanisms exceeds a limit by chance with probability {} at most.\n",
        shown(error)
    )
}

impl CheckedCell {
    fn outcome(&self) -> &'static str {
        match self.ok {
            true => "ok",
            false => "FAILED",
        }
    }
}

/// The cells that would be computed and the limits they must keep.
#[must_use]
pub fn plan(audits: &[(&str, Vec<Planned>)]) -> String {
    let mut planned = table(["audit", "cell", "trials", "limit", "recorded rate"]);
    for (audit, cells) in audits {
        for cell in cells {
            planned.add_row([
                (*audit).to_owned(),
                cell.cell.clone(),
                cell.trials.to_string(),
                cell.limits.clone(),
                cell.recorded
                    .map_or("-".into(), |rate| format!("{rate:.4}")),
            ]);
        }
    }
    fitted(planned)
}
