//! `identity`: releases the text as it is. Every attack should reach its ceiling.
//!
//! # Definition
//! M(x) = x.
//!
//! # Guarantee
//! None, and it claims none.
//!
//! # Source
//! A control: the least private mechanism.

use teda_core::{Guarantee, Mechanism, Query, Release, Result};

use crate::registry::{Entry, Kind, Rewriter};

pub const ENTRY: Entry = Entry {
    name: "identity",
    summary: "releases the text unchanged: no privacy at all",
    source: "control",
    kind: Kind::Control,
    unit: None,
    grid: &[],
    parameters: &[],
    presets: &[],
    rewriter: Rewriter::Nothing,
    build: |_, _, _| Ok(Box::new(Identity)),
};

struct Identity;

impl Mechanism for Identity {
    fn guarantee(&self) -> Option<Guarantee> {
        None
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        Ok(batch.iter().map(|query| Release::of(query.text)).collect())
    }
}
