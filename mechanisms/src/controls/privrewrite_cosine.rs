//! `privrewrite-cosine`: PrivRewrite with its mean vectors re-normalised. Known to be broken.
//!
//! # Definition
//! Like `privrewrite`, but φ(x) and φ(y) are divided by their norms, so that ⟨φ(x), φ(y)⟩ is a cosine. Then u(y) =
//! clip₀₁(½ + cos(φ(x), φ(y))/ρ), with Δu = min(1, 2/(Tρ)) as before.
//!
//! # Guarantee
//! It **claims** ε under one-token adjacency. A token moves the mean by at most 2/T, but if the mean is short its
//! direction can reverse, so that the utility moves by up to min(1, 2/ρ) and the selection's loss is up to T times ε₂.
//! Its sound twin is `privrewrite`.
//!
//! # Source
//! PrivRewrite, Applied Sciences 15(22):11930 (2025), Section 4.3: the text calls ⟨φ(x), φ(y)⟩ a cosine;
//! its lemma holds for the un-normalised mean only.
//!
//! # Deviations
//! Same as `privrewrite`.

use crate::entry::{Entry, Kind};
use crate::privrewrite::privrewrite::{self, Mean, PrivRewrite, Sensitivity};

pub const ENTRY: Entry = Entry {
    name: "privrewrite-cosine",
    summary: "BROKEN on purpose: privrewrite with re-normalised mean vectors in the selection",
    source: "planted defect: the paper's prose (a cosine) instead of its lemma (a mean)",
    kind: Kind::Control,
    build: &|context, epsilon, settings| {
        Ok(Box::new(PrivRewrite::new(
            context,
            epsilon,
            settings,
            Sensitivity::Lemma,
            Mean::Normalised,
        )?))
    },
    ..privrewrite::ENTRY
};
