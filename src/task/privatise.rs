//! Rewrites a list of texts, each by itself, with coins of its own.

use std::sync::atomic::Ordering;

use rayon::prelude::*;
use teda_core::{Cause, Error, Mechanism, Query, Release, Result, Seed};

use crate::audit::run::Control;
use crate::audit::trial::failure;

/// Texts after a mechanism, in their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Privatised {
    /// The releases; empty for those that failed.
    pub texts: Vec<String>,
    /// Why there is no release, for each text that has none.
    pub failures: Vec<Option<String>>,
    /// Releases that the mechanism failed to give.
    pub failed: u64,
    /// Releases that were lost on the way: time-outs, a failing server.
    pub lost: u64,
}

impl Privatised {
    /// The releases.
    pub(super) fn texts(&self) -> Vec<&str> {
        self.texts.iter().map(String::as_str).collect()
    }

    /// Releases that are missing, for whatever reason.
    pub(super) fn missing(&self) -> u64 {
        self.failed + self.lost
    }

    fn add(&mut self, release: Release) {
        let failure = failure(&release);
        match failure.as_ref().map(|failure| failure.cause) {
            None => {}
            Some(Cause::Transport) => self.lost += 1,
            Some(Cause::Mechanism | Cause::Attack) => self.failed += 1,
        }
        // What comes with a failure is no release.
        let text = match failure {
            None => release.text,
            Some(_) => String::new(),
        };
        self.texts.push(text);
        self.failures.push(failure.map(|failure| failure.reason));
    }
}

/// Rewrites `texts`; text i draws from child i of `seed`. `None` after an interrupt.
///
/// # Errors
/// If the mechanism fails as a whole.
pub(super) fn privatise(
    name: &str,
    mechanism: &dyn Mechanism,
    texts: &[&str],
    seed: Seed,
    control: &Control<'_>,
) -> Result<Option<Privatised>> {
    let batch = control.batch as usize;
    let rewrite = |(first, texts): (usize, &[&str])| -> Result<Option<Vec<Release>>> {
        if control.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let queries: Vec<Query<'_>> = (first as u64 * control.batch..)
            .zip(texts)
            .map(|(place, text)| Query {
                text,
                seed: seed.at(place),
            })
            .collect();
        let releases = mechanism.rewrite(&queries)?;
        if releases.len() != queries.len() {
            return Err(Error::failed(format!(
                "'{name}' answered {} queries with {} releases",
                queries.len(),
                releases.len()
            )));
        }
        control.progress.advance(queries.len() as u64);
        Ok(Some(releases))
    };
    let parts: Vec<Option<Vec<Release>>> = texts
        .par_chunks(batch)
        .enumerate()
        .map(rewrite)
        .collect::<Result<_>>()?;
    let mut all = Privatised::default();
    for part in parts {
        let Some(releases) = part else {
            return Ok(None);
        };
        releases.into_iter().for_each(|release| all.add(release));
    }
    Ok(Some(all))
}
