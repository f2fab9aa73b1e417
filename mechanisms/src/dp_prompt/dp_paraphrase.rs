//! `dp-paraphrase`: a language model that was trained to paraphrase continues the text, token by token, on clipped
//! logits.
//!
//! # Definition
//! The model continues "text >>>>> ", as it was trained to. With logits l over the whole vocabulary, clipped to
//! [b₁, b₂], Δ = b₂ − b₁ and T = 2Δ/ε, Pr(v) ∝ exp(clip(l_v) / T) among the `top_k` highest clipped logits (and those
//! equal to the last of them) and 0 elsewhere; `top_k` = 0 leaves no token out. At most as many tokens are drawn as the
//! prompt has. Of what was drawn, no-break spaces become spaces, every ">" is dropped, and white space at the ends.
//!
//! # Guarantee
//! ε per generated token, any two texts.
//! - `top_k` = 50, the default, is what the code ran: **claimed** only, and not true of any finite ε. Which tokens are
//!   among the highest depends on the text, and a token outside them has probability 0.
//! - `top_k` = 0 is what the paper analyses: the draw, and with it the proof, is that of `dp-prompt`. Proven for a
//!   fixed `length`; **claimed** for the published one, which depends on the text.
//!
//! What was drawn is cleaned without a look at the text, so that costs nothing.
//!
//! # Source
//! DP-Paraphrase: Mattern, Weggenmann and Kerschbaum, *The limits of word level differential privacy* (Findings of
//! NAACL 2022; arXiv 2205.02130); prompt, bounds, length and cleaning as in the code that TeDA (arXiv 2603.22968) audited (the
//! DP-MLM authors').
//!
//! # Deviations
//! The default is the mechanism that was run and whose figures were published, with the defect that its code has: a
//! generation library keeps the 50 highest logits unless it is told otherwise. `--preset analysed` leaves no token
//! out. The published weights (GPT-2, trained further on SNLI's entailed pairs) are on no hub: `--llm PATH` with
//! `--preset gpt2` runs them. Without a preset the bounds are (μ, μ + 4σ) of the model's own logits on public text.
//!
//! # Likelihood
//! That of `dp-prompt`, and approximate like it: of the release as the tokenizer reads it. What was dropped from the
//! draw (">", spaces at the ends) is not weighed.

use teda_core::{
    Beyond, Guarantee, Likelihood, Mechanism, Parameter, Prompt, Query, Release, Result,
};

use super::dp_prompt::{self, CLIP_HIGH, CLIP_LOW, DpPrompt, Draw, LENGTH};
use crate::entry::{Entry, Preset};

pub const ENTRY: Entry = Entry {
    name: "dp-paraphrase",
    summary: "a paraphrasing language model continues the text on clipped logits, the highest 50",
    source: "Mattern et al. (Findings of NAACL 2022)",
    parameters: &[CLIP_LOW, CLIP_HIGH, LENGTH, TOP_K],
    presets: PRESETS,
    build: &|context, epsilon, settings| {
        let draw = match settings.get(TOP_K.name) as usize {
            0 => Draw::Clipped,
            count => Draw::Highest(count),
        };
        let drawn = DpPrompt::new(context, epsilon, settings, Prompt::new(PROMPT), draw)
            .map_err(|error| error.context("'dp-paraphrase'"))?;
        Ok(Box::new(DpParaphrase { drawn }))
    },
    ..dp_prompt::ENTRY
};

/// What the published model was trained to continue.
const PROMPT: &str = "{} >>>>> ";

const TOP_K: Parameter = Parameter::whole(
    "top_k",
    50,
    [0, 1_000_000],
    "tokens that a draw is among: the highest logits, 50 as its code ran; 0: all, as its paper analyses",
);

const PRESETS: &[Preset] = &[
    (
        "gpt2",
        &[
            ("clip_low", "-96.85249956065758"),
            ("clip_high", "-8.747697966442914"),
        ],
    ),
    ("analysed", &[("top_k", "0")]),
];

/// DP-Paraphrase at one ε per token.
struct DpParaphrase {
    /// The draw, which is that of DP-Prompt.
    drawn: DpPrompt,
}

/// What is released of a text that was drawn.
fn cleaned(drawn: &str) -> String {
    let plain = drawn.replace('\u{a0}', " ").replace('>', "");
    plain.trim().to_owned()
}

impl Mechanism for DpParaphrase {
    fn guarantee(&self) -> Option<Guarantee> {
        self.drawn.guarantee()
    }

    fn units(&self, text: &str) -> Option<u64> {
        self.drawn.units(text)
    }

    fn likelihood(&self) -> Option<&dyn Likelihood> {
        self.drawn.likelihood()
    }

    fn beyond_window(&self, texts: &[&str]) -> Result<Option<Beyond>> {
        self.drawn.beyond_window(texts)
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        let clean = |release: Release| Release {
            text: cleaned(&release.text),
            ..release
        };
        let drawn = self.drawn.rewrite(batch)?;
        Ok(drawn.into_iter().map(clean).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use teda_core::{Basis, Unit};

    use super::*;
    use crate::testing::{statistics, toy};

    const CLIP: (f64, f64) = (-1.0, 1.5);
    const TEXT: &str = "t3 t1";

    fn instance(epsilon: f64, preset: Option<&str>, set: &[(&str, &str)]) -> Box<dyn Mechanism> {
        let settings = ENTRY.settings(preset, &toy::given(set)).unwrap();
        ENTRY
            .instance(&toy::context(), Some(epsilon), &settings)
            .unwrap()
    }

    /// Releases of two tokens.
    fn two_tokens(epsilon: f64, top_k: &str) -> Box<dyn Mechanism> {
        let (low, high) = (CLIP.0.to_string(), CLIP.1.to_string());
        let set = [
            ("clip_low", &low[..]),
            ("clip_high", &high[..]),
            ("length", "2"),
            ("top_k", top_k),
        ];
        instance(epsilon, None, &set)
    }

    /// The probabilities of [`two_tokens`], directly from the definition.
    fn exact(text: &str, epsilon: f64, top_k: usize) -> BTreeMap<String, f64> {
        let step = |before: &[u32]| -> Vec<f64> {
            let clip = |logit: f32| f64::from(logit).clamp(CLIP.0, CLIP.1);
            let logits = toy::tokens().logits(text, before);
            let clipped: Vec<f64> = logits.into_iter().map(clip).collect();
            let mut sorted = clipped.clone();
            sorted.sort_by(|a, b| b.total_cmp(a));
            let least = match top_k {
                0 => f64::NEG_INFINITY,
                count => sorted[count - 1],
            };
            let temperature = 2.0 * (CLIP.1 - CLIP.0) / epsilon;
            let weight = |l: &f64| match *l >= least {
                true => (l / temperature).exp(),
                false => 0.0,
            };
            let weights: Vec<f64> = clipped.iter().map(weight).collect();
            let total: f64 = weights.iter().sum();
            weights.into_iter().map(|w| w / total).collect()
        };
        let mut releases = BTreeMap::new();
        for (a, p) in (0..).zip(step(&[])) {
            for (b, q) in (0..).zip(step(&[a])) {
                *releases.entry(format!("t{a} t{b}")).or_default() += p * q;
            }
        }
        releases
    }

    #[test]
    fn releases_follow_the_exact_probabilities() {
        for (top_k, kept) in [("0", 0), ("3", 3), ("50", 0)] {
            for epsilon in [1.0, 12.0] {
                let drawn = statistics::releases(&*two_tokens(epsilon, top_k), TEXT, 40_000);
                let exact = exact(TEXT, epsilon, kept);
                statistics::assert_sampled(&drawn, &exact, &format!("ε={epsilon} k={top_k}"));
            }
        }
    }

    /// The support of a draw is exactly the highest logits, so that no ε holds; without the filter 2ε does.
    #[test]
    fn the_highest_logits_alone_tell_texts_apart() {
        for epsilon in [0.5, 3.0, 20.0] {
            let support = exact(TEXT, epsilon, 3)
                .values()
                .filter(|p| **p > 0.0)
                .count();
            // Three tokens, or more where the third is equal to others.
            assert!((9..64).contains(&support), "{support}");
            let loss = |top_k| {
                let of = |text| exact(text, epsilon, top_k);
                statistics::greatest_loss(&of(TEXT), &of("t6"))
            };
            assert_eq!(loss(3), f64::INFINITY);
            assert!(loss(0) <= 2.0 * epsilon * (1.0 + 1e-12));
        }
    }

    /// Mechanism and definition agree on which releases are likelier, where all are possible.
    #[test]
    fn likelihoods_are_the_exact_probabilities() {
        let mechanism = two_tokens(12.0, "0");
        assert!(!mechanism.likelihood().unwrap().is_exact());
        let exact = exact(TEXT, 12.0, 0);
        let releases: Vec<String> = exact.keys().cloned().collect();
        let stated = statistics::probabilities(&*mechanism, &releases, TEXT);
        for (release, p) in exact {
            assert!((stated[&release] / p - 1.0).abs() < 1e-9, "{release}");
        }
    }

    #[test]
    fn the_claim_is_proven_only_as_analysed() {
        let fixed = [("length", "7")];
        let as_run = instance(3.0, None, &fixed).guarantee().unwrap();
        assert_eq!(
            (as_run.epsilon, as_run.delta, as_run.unit, as_run.basis),
            (3.0, 0.0, Unit::Token, Basis::Claimed)
        );
        let analysed = instance(3.0, Some("analysed"), &fixed);
        assert_eq!(analysed.guarantee().unwrap().basis, Basis::Proven);
        let published = instance(3.0, Some("analysed"), &[]);
        assert_eq!(published.guarantee().unwrap().basis, Basis::Claimed);
        // "t1 t2 >>>>>": three words of the toy's prompt.
        assert_eq!(published.units("t1 t2"), Some(3));
    }

    #[test]
    fn the_bounds_of_gpt2_are_the_published_ones() {
        let settings = ENTRY.settings(Some("gpt2"), &[]).unwrap();
        let range = settings.get("clip_high") - settings.get("clip_low");
        assert!((range - 88.104_801_594_214_67).abs() < 1e-12, "{range}");
        assert_eq!(settings.get("top_k"), 50.0);
    }

    #[test]
    fn a_release_has_no_marks_of_its_prompt() {
        assert_eq!(cleaned(" >> a man\u{a0}is out > \n"), "a man is out");
        assert_eq!(cleaned(">>>>>"), "");
    }
}
