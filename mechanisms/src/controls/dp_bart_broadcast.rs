//! `dp-bart-broadcast`: DP-BART that gives every token the same noise. Known to be broken.
//!
//! # Definition
//! Like `dp-bart` without pruning, but numbers are clipped to [−0.2, 0.1], and one vector of noise, as long as a token's
//! vector, is added to the vector of every token. Its amount is that for latents of h numbers that differ by 0.2 each,
//! h the length of a token's vector.
//!
//! # Guarantee
//! It **claims** (ε, δ) per text and has no finite ε: the difference of two tokens' vectors carries no noise at all, so
//! that two texts whose differences differ share no noisy latent. Even of a single token it is too little, because
//! numbers differ by up to 0.3. Its sound twin is `dp-bart`. A decoder may hide what its latent shows.
//!
//! # Source
//! A defect found in published code: the second implementation of DP-BART (`LLMDP.py` of the DP-MLM and DP-ST authors)
//! draws one vector, which its library then adds to each token.
//!
//! # Deviations
//! Number of tokens, padding and search are those of `dp-bart`. The analytic Gaussian is the default here, too; that code
//! took the classical one.

use crate::dp_bart::dp_bart::{self, DpBart, TOKENS, model, noise};
use crate::entry::{Entry, Kind};
use crate::noise::additive::{DELTA, NOISE};

pub const ENTRY: Entry = Entry {
    name: "dp-bart-broadcast",
    summary: "BROKEN on purpose: dp-bart whose tokens all get the same noise",
    source: "a defect of published code: one noise vector broadcast to every token",
    kind: Kind::Control,
    parameters: &[TOKENS, NOISE, DELTA],
    presets: &[],
    build: &|context, epsilon, settings| {
        let model = model(context, "'dp-bart-broadcast'")?;
        let tokens = settings.get(TOKENS.name) as usize;
        let mechanism = DpBart::new(model, tokens, 0, |values| {
            let name = settings.chosen(NOISE.name);
            let delta = settings.get(DELTA.name);
            let noise = noise(name, RANGE, values / tokens, epsilon, delta);
            (noise, CLIP, true)
        })?;
        Ok(Box::new(mechanism))
    },
    ..dp_bart::ENTRY
};

/// What its numbers are clipped to.
const CLIP: [f64; 2] = [-0.2, 0.1];
/// By how much it takes them to differ.
const RANGE: f64 = 0.2;
