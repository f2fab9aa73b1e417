//! `dp-prompt-topk`: DP-Prompt with the text generator's top-k filter left on. Known to be broken.
//!
//! # Definition
//! Like `dp-prompt`, but each token is drawn only from the `top_k` highest clipped logits (and those equal to the last
//! of them).
//!
//! # Guarantee
//! It **claims** ε per generated token and has no finite ε: which tokens are among the highest depends
//! on the text, and a token outside them has probability 0. Its sound twin is `dp-prompt`.
//!
//! # Source
//! A defect found in published code: generation libraries keep the 50 highest logits unless told otherwise, and the
//! code of DP-Paraphrase (Mattern, Weggenmann and Kerschbaum, 2022) does not tell them.
//!
//! # Deviations
//! The defect is shown on DP-Prompt, so that it is the only difference from a sound mechanism.
//!
//! # Likelihood
//! That of `dp-prompt`, and approximate like it.

use teda_core::Parameter;

use crate::dp_prompt::dp_prompt::{
    self, CLIP_HIGH, CLIP_LOW, DpPrompt, Draw, EXTRA, LENGTH, PROMPT, prompt,
};
use crate::entry::{Entry, Kind};

pub const ENTRY: Entry = Entry {
    name: "dp-prompt-topk",
    summary: "BROKEN on purpose: dp-prompt that draws from the 50 likeliest tokens alone",
    source: "planted defect: a generation library's top-k default left on",
    kind: Kind::Control,
    parameters: &[CLIP_LOW, CLIP_HIGH, LENGTH, EXTRA, PROMPT, TOP_K],
    build: &|context, epsilon, settings| {
        let draw = Draw::Highest(settings.get("top_k") as usize);
        let mechanism = DpPrompt::new(context, epsilon, settings, prompt(settings), draw)?;
        Ok(Box::new(mechanism))
    },
    ..dp_prompt::ENTRY
};

const TOP_K: Parameter = Parameter::whole(
    "top_k",
    50,
    [1, 1_000_000],
    "tokens that a draw is among: the highest logits",
);
