//! `constant`: releases the same text for every input. No attack can do better than chance.
//!
//! # Definition
//! M(x) = "text".
//!
//! # Guarantee
//! 0-LDP between any texts: the release does not depend on the input. Proven.
//!
//! # Source
//! A control: the most private mechanism.

use teda_core::{Basis, Guarantee, Mechanism, Neighbours, Query, Release, Result, Unit};

use crate::registry::{Entry, Kind, Rewriter};

pub const ENTRY: Entry = Entry {
    name: "constant",
    summary: "releases one fixed text whatever the input: perfect privacy",
    source: "control",
    kind: Kind::Control,
    unit: None,
    grid: &[],
    parameters: &[],
    presets: &[],
    rewriter: Rewriter::Nothing,
    build: |_, _, _| Ok(Box::new(Constant)),
};

struct Constant;

impl Mechanism for Constant {
    fn guarantee(&self) -> Option<Guarantee> {
        Some(Guarantee {
            epsilon: 0.0,
            delta: 0.0,
            unit: Unit::Text,
            neighbours: Neighbours::AnyTexts,
            basis: Basis::Proven,
        })
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        Ok(batch.iter().map(|_| Release::of("text")).collect())
    }
}
