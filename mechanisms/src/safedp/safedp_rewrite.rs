//! `safedp-rewrite`: masks some words, asks a black-box model for rewrites, selects one privately.
//!
//! # Definition
//! 1. A word of x is masked if it belongs to the set E of words that are never shown, or with probability p.
//! 2. Rounds t = 1 … K: n rewrites of the masked text by a black-box model join the candidates Y. The rounds end when
//!    D(Y) = (1/|Y|) Σ |u(y) − ū| ≥ δ; otherwise every word not masked yet is masked with probability p.
//! 3. STEM: y joins the first group whose founder is at least τ similar to it, with s = ½(1 + ⟨ψ(y), ψ(y′)⟩), or else
//!    founds one; from each group the y with the highest utility remains.
//! 4. Pr(y) ∝ exp(ε u(y) / 2), u(y) = clip₀₁⟨ψ(x), ψ(y)⟩ with ψ a unit-norm sentence encoder, Δu = 1.
//!
//! With `view=provider` the release is all that the service in step 2 is sent: the masked texts of the rounds, one a
//! line.
//!
//! # Guarantee
//! **Claimed** by the paper: ε-DP of the released text. It does not follow. Step 4 is ε-DP for a fixed set Y, but Y is
//! made from words of x that were not sanitised: what is possible under one text can be impossible under another, so
//! there is no finite ε between them. The number of candidates, and which of them remain, depend on x too. What masks
//! hide is hidden from the model's provider.
//!
//! Between which texts: the paper (Section 3.1) speaks of adjacent inputs that differ in one data item, and does not say
//! what an item is where the input is one text. The reading audited by default is that the whole text is the item: any
//! two texts are adjacent, as in local differential privacy. It implies the other reading, two texts that differ in one
//! token (`--neighbours one-token`). The claim holds under neither.
//!
//! `view=provider` claims nothing: the paper says that masks keep words from the provider and are no part of the ε.
//!
//! # Source
//! SafeDP-Rewrite: J. W. Kim, *Differentially private text rewriting with black-box access to large
//! language models* (2025), Sections 4.1-4.2, Figure 2; p, ε, K and δ as in Section 5.1; the provider as adversary:
//! Section 3.2.
//!
//! # Deviations
//! The paper prints D(Y) without absolute values, which is 0; with them it is at most ½ for utilities in [0, 1], so
//! that δ = 0.35 is rarely reached and all K rounds run. Its selection divides by a sum over Y and draws from the
//! reduced set; here both are over the reduced set. It specifies neither n, τ, the grouping nor the prompt. Its
//! similarity for STEM is the bare cosine, if any; here it is ½(1 + cos), so that τ = 0.8 is a cosine of 0.6. E is
//! numbers, e-mail addresses and the words that `always_mask` names, in any case and without the punctuation around
//! them. Words are separated by white space. Y keeps equal rewrites apart, as the paper's reason for STEM implies. One
//! sentence of at most 48 tokens is asked for, and the first line is used. If
//! there is no coherent (non-empty) rewrite, the release is empty. A rewriter that fails (a dead server, a text beyond
//! its window) fails the release, which is counted. The built-in rewriter fills the masks and keeps the other words,
//! and rewrites a text without masks as it always does.
//!
//! # Likelihood
//! Of the provider's view alone. Exact if the number of rounds is fixed (`dispersion` 0, or above 0.5, or one round).
//! Otherwise the rewrites decide about the next round; what is stated then is the probability of the masks for the
//! number of rounds that were made.

use super::rounds::{
    ALWAYS_MASK, CANDIDATES, DISPERSION, GRID, LONGEST, MASK_EMAILS, MASK_NUMBERS, MASK_RATE,
    ROUNDS, SafeDp, TAU, TEMPERATURE,
};
use crate::entry::{Entry, Rewriter};
use crate::view::VIEW;

pub const ENTRY: Entry = Entry {
    name: "safedp-rewrite",
    summary: "masks words, rewrites the rest with a black-box model, selects among distinct rewrites",
    source: "SafeDP-Rewrite (J. W. Kim, 2025), Sections 4.1-4.2",
    grid: &GRID,
    parameters: &[
        MASK_RATE,
        MASK_NUMBERS,
        MASK_EMAILS,
        ALWAYS_MASK,
        CANDIDATES,
        ROUNDS,
        DISPERSION,
        TAU,
        TEMPERATURE,
        LONGEST,
        VIEW,
    ],
    rewriter: Rewriter::Generator,
    build: &|context, epsilon, settings| {
        let tau = Some(settings.get("tau"));
        Ok(Box::new(SafeDp::new(context, epsilon, settings, tau)?))
    },
    ..Entry::PUBLISHED
};
