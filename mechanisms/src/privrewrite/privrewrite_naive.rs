//! `privrewrite-naive`: PrivRewrite with the range of the utility as its sensitivity.
//!
//! # Definition
//! Like `privrewrite`, with Δu = 1 in the selection.
//!
//! # Guarantee
//! Like `privrewrite`: u ∈ [0, 1] moves by at most 1 between any two texts, so the selection costs at most ε₂ (and far
//! less than that between one-token neighbours: it wastes its budget). Proven.
//!
//! # Source
//! PrivRewrite, Applied Sciences 15(22):11930, Section 5.1: the ablation "PrivRewrite-Naive".
//!
//! # Deviations
//! Same as `privrewrite`. The paper plots this variant as unaffected by ρ (Section 5.2, Figure 3) and gives no other
//! utility for it; here ρ scales its utility as it does in `privrewrite`.

use super::privrewrite::{self, Mean, PrivRewrite, Sensitivity};
use crate::entry::Entry;

pub const ENTRY: Entry = Entry {
    name: "privrewrite-naive",
    summary: "privrewrite with the selection's sensitivity taken as 1",
    source: "PrivRewrite (Applied Sciences 15(22):11930), ablation PrivRewrite-Naive",
    build: &|context, epsilon, settings| {
        Ok(Box::new(PrivRewrite::new(
            context,
            epsilon,
            settings,
            Sensitivity::Range,
            Mean::Plain,
        )?))
    },
    ..privrewrite::ENTRY
};
