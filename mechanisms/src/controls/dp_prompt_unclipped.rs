//! `dp-prompt-unclipped`: DP-Prompt that forgets to clip. Known to be broken.
//!
//! # Definition
//! Pr(v) ∝ exp(l_v / T) with T = 2Δ/ε and Δ = clip_high − clip_low, with unmodified logits l.
//!
//! # Guarantee
//! It **claims** ε per generated token. A logit outside the bounds moves by more than Δ between texts, so that the
//! loss of a token is up to (range of the logits)/Δ times ε. Its sound twin is `dp-prompt`.
//!
//! # Source
//! A planted defect: taking temperature alone for differential privacy, as black-box variants of DP-Prompt do.
//!
//! # Deviations
//! The temperature is that of `dp-prompt` with the same bounds, so that clipping is the only
//! difference.
//!
//! # Likelihood
//! That of `dp-prompt`, and approximate like it.

use crate::dp_prompt::dp_prompt::{self, DpPrompt, Draw, prompt};
use crate::entry::{Entry, Kind};

pub const ENTRY: Entry = Entry {
    name: "dp-prompt-unclipped",
    summary: "BROKEN on purpose: dp-prompt whose logits are not clipped",
    source: "planted defect: temperature without clipping",
    kind: Kind::Control,
    build: &|context, epsilon, settings| {
        let draw = Draw::Unclipped;
        let mechanism = DpPrompt::new(context, epsilon, settings, prompt(settings), draw)?;
        Ok(Box::new(mechanism))
    },
    ..dp_prompt::ENTRY
};
