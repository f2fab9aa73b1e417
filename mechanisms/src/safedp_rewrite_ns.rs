//! `safedp-rewrite-ns`: SafeDP-Rewrite that selects among all of its rewrites.
//!
//! # Definition
//! As `safedp-rewrite` without step 3 (STEM).
//!
//! # Guarantee
//! As `safedp-rewrite`: ε **claimed**, and no finite ε between texts.
//!
//! # Source
//! SafeDP-Rewrite (J. W. Kim, 2025), Section 5.1: the variant "SDP-NS".
//!
//! # Deviations
//! As `safedp-rewrite`.

use teda_core::Unit;

use crate::registry::{Entry, Kind, Rewriter};
use crate::safedp::{
    ALWAYS_MASK, CANDIDATES, DISPERSION, GRID, LONGEST, MASK_EMAILS, MASK_NUMBERS, MASK_RATE,
    ROUNDS, SafeDp, TEMPERATURE,
};

pub const ENTRY: Entry = Entry {
    name: "safedp-rewrite-ns",
    summary: "safedp-rewrite that selects among all rewrites, near-duplicates included",
    source: "SafeDP-Rewrite (J. W. Kim, 2025), Section 5.1, SDP-NS",
    kind: Kind::Published,
    unit: Some(Unit::Text),
    grid: &GRID,
    parameters: &[
        MASK_RATE,
        MASK_NUMBERS,
        MASK_EMAILS,
        ALWAYS_MASK,
        CANDIDATES,
        ROUNDS,
        DISPERSION,
        TEMPERATURE,
        LONGEST,
    ],
    presets: &[],
    rewriter: Rewriter::Generator,
    build: &|context, epsilon, settings| {
        Ok(Box::new(SafeDp::new(context, epsilon, settings, None)?))
    },
};
