//! `safedp-rewrite-ns`: SafeDP-Rewrite that selects among all of its rewrites.
//!
//! # Definition
//! Like `safedp-rewrite`, without step 3 (STEM).
//!
//! # Guarantee
//! Like `safedp-rewrite`: ε **claimed** between any two texts, and no finite ε between texts; nothing for the
//! provider's view.
//!
//! # Source
//! SafeDP-Rewrite (J. W. Kim, 2025), Section 5.1: the variant "SDP-NS".
//!
//! # Deviations
//! Same as `safedp-rewrite`.

use super::rounds::{
    ALWAYS_MASK, CANDIDATES, DISPERSION, LONGEST, MASK_EMAILS, MASK_NUMBERS, MASK_RATE, ROUNDS,
    SafeDp, TEMPERATURE,
};
use super::safedp_rewrite;
use crate::entry::Entry;
use crate::view::VIEW;

pub const ENTRY: Entry = Entry {
    name: "safedp-rewrite-ns",
    summary: "safedp-rewrite that selects among all rewrites, near-duplicates included",
    source: "SafeDP-Rewrite (J. W. Kim, 2025), Section 5.1, SDP-NS",
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
        VIEW,
    ],
    build: &|context, epsilon, settings| {
        Ok(Box::new(SafeDp::new(context, epsilon, settings, None)?))
    },
    ..safedp_rewrite::ENTRY
};
