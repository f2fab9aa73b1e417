//! `dp-prompt`: a language model paraphrases the text, drawing every token by the exponential mechanism.
//!
//! # Definition
//! The model is asked for a paraphrase of the text, token by token. With logits l over the whole
//! vocabulary, clipped to [b₁, b₂], Δ = b₂ − b₁ and T = 2Δ/ε,
//! Pr(v) ∝ exp(clip(l_v) / T) = exp(ε clip(l_v) / (2Δ)).
//! Clipping comes before the temperature, and no token is left out (no top-k, no top-p).
//!
//! # Guarantee
//! ε per generated token: whatever two texts the prompt holds, a token's clipped logit differs by at most Δ between
//! them, so each draw is the exponential mechanism with utility clip(l_v) and sensitivity Δ, given the tokens before
//! it. n tokens compose to nε. **Proven** if the maximum number of tokens is the same for all texts (`length` > 0).
//! With the published rule, as many new tokens as the prompt has (`length` = 0), the length of a text bounds that of
//! its release: a release with more tokens than the shorter text allows has probability 0 there, so nε is **claimed**
//! only. A text beyond the model's window fails, which also reveals its length.
//!
//! # Source
//! DP-Prompt, Utpala, Hooker and Chen, *Locally differentially private document generation using
//! zero shot prompting* (Findings of EMNLP 2023), Algorithm 1; prompt, bounds and length as in the
//! code that TeDA (arXiv 2603.22968) audited (the DP-MLM authors'), `--preset review` with the prompt of the
//! original repository.
//!
//! # Deviations
//! The bounds belong to a model: those of `--preset flan-t5-base` or `flan-t5-large` are published; without a preset
//! they are (μ, μ + 4σ) of the model's own logits on public text (`teda models calibrate`). The input is not cut at
//! 512 tokens.
//!
//! # Numerical ends
//! Clipped logits, weights and sums are in double precision. A draw compares a number of 53 bits with the sums of the
//! V weights, so that a token of probability p is drawn with a probability that differs from p by at most (V + 2)·2⁻⁵³
//! (6·10⁻¹² for 50,000 tokens). Tokens of less than 2⁻⁵³ may never be drawn, and there are such from ε ≈ 50 on, where
//! e^{−ε/2}/V falls below that. A weight below e^{−708} of the greatest counts as 0, which only happens above ε = 1,416.
//! In exact terms the draw is thus (ε, δ)-private with δ ≤ (1 + e^ε)(V + 2)·2⁻⁵³ a token, and ε alone where it is exact.
//! The likelihood is that of exact arithmetic: never −∞ for a token that can be drawn, but finite (below −36) for
//! tokens that cannot.
//!
//! # Likelihood
//! Approximate, for use by attacks. A release shows a text, which many token sequences write, and summing over all of
//! them is infeasible for a language model. What is stated is Σ ln Pr over one sequence, the n tokens that the model's
//! own tokenizer reads in the text. How n compares with the maximum L decides the rest:
//! - n < L: the end was drawn after them, so ln Pr(end) is added.
//! - n > L: a sequence of at most L tokens was drawn that the tokenizer reads as more. ln 2 is subtracted for each
//!   token beyond L. Randomly drawn pieces do not stay as they were drawn: of 300 releases of the built-in rewriter at
//!   ε = 1 the tokenizer reads 169 as more than was drawn, and about half as many with each further token.
//! - A token that the draw leaves out (`dp-prompt-topk`) was not drawn, but another sequence that writes the same text
//!   was. It is weighed as if no token were left out, which gives less than any token that is kept.
//!
//! In the last two cases −∞ would be true of the sequence but false of the text: it left a third of the trials at ε =
//! 1, and a fifth of those with top-k, without any guess. Subtracting nothing beyond L would discard what the length
//! reveals, which at small ε is nearly all that a release reveals. −∞ remains for a text that exceeds the model's
//! window, whose rewrite fails.

use std::f64::consts::LN_2;
use std::sync::Arc;

use teda_core::{
    Answer, Basis, Beyond, Error, Followed, Guarantee, LanguageModel, Likelihood, MaxNewTokens,
    Mechanism, Neighbours, Parameter, Prompt, Query, Release, Result, Sequence, Settings, Stream,
    Unit, ln_softmax_over,
};

use crate::entry::{Context, Entry, Preset, Rewriter};

pub const ENTRY: Entry = Entry {
    name: "dp-prompt",
    summary: "a language model paraphrases, every token by the exponential mechanism on clipped logits",
    source: "DP-Prompt (Findings of EMNLP 2023), Algorithm 1",
    unit: Some(Unit::Token),
    grid: &GRID,
    parameters: &[CLIP_LOW, CLIP_HIGH, LENGTH, EXTRA, PROMPT],
    presets: PRESETS,
    rewriter: Rewriter::LanguageModel,
    build: &|context, epsilon, settings| {
        let prompt = prompt(settings);
        let draw = Draw::Clipped;
        let mechanism = DpPrompt::new(context, epsilon, settings, prompt, draw)?;
        Ok(Box::new(mechanism))
    },
    ..Entry::PUBLISHED
};

/// The part of TeDA's grid in which a language model goes from noise to its own words.
pub const GRID: [f64; 5] = [1.0, 10.0, 50.0, 100.0, 250.0];

/// The prompts by name: of the code that TeDA audited, of the original repository, and of DP-GTR, in its README and in
/// its experiments.
const PROMPTS: [(&str, &str); 4] = [
    ("document", "Document : {}\nParaphrase of the document :"),
    ("review", "Review: {}\nParaphrase of the review:"),
    ("dp-gtr", "Document: {}\nParaphrase of the document:"),
    ("question", "Question : {}\nParaphrase of the question :"),
];

/// The prompt that the settings name.
pub fn prompt(settings: &Settings) -> Prompt {
    let chosen = settings.chosen("prompt");
    let (_, prompt) = PROMPTS
        .iter()
        .find(|(name, _)| *name == chosen)
        .expect("the choice is among the prompts");
    Prompt::new(prompt)
}

/// The choice of prompt.
pub const PROMPT: Parameter = Parameter::choice(
    "prompt",
    &[PROMPTS[0].0, PROMPTS[1].0, PROMPTS[2].0, PROMPTS[3].0],
    "how the paraphrase is asked for: as in the code that TeDA audited, as in the original repository, as in DP-GTR, or as in DP-GTR's experiments",
);

/// The clipping's lower bound.
pub const CLIP_LOW: Parameter = Parameter::number(
    "clip_low",
    0.0,
    [-1e6, 1e6],
    "lower bound of the logits; 0 for both bounds: the model's own μ and μ + 4σ",
);

/// The clipping's upper bound.
pub const CLIP_HIGH: Parameter =
    Parameter::number("clip_high", 0.0, [-1e6, 1e6], "upper bound of the logits");

/// Most tokens in a rewrite.
pub const LENGTH: Parameter = Parameter::whole(
    "length",
    0,
    [0, 100_000],
    "new tokens at most; 0: as many as the prompt has, as published",
);

/// How many more new tokens than the prompt has.
pub const EXTRA: Parameter = Parameter::whole(
    "extra",
    0,
    [0, 100_000],
    "new tokens beyond as many as the prompt has, where length is 0; DP-GTR's code allows 20",
);

/// The published bounds of one model.
pub const FLAN_T5_BASE: Preset = (
    "flan-t5-base",
    &[
        ("clip_low", "-19.22705113016047"),
        ("clip_high", "7.48324937989716"),
    ],
);

/// The published bounds and prompts.
const PRESETS: &[Preset] = &[
    FLAN_T5_BASE,
    ("flan-t5-large", &[("clip_low", "-95"), ("clip_high", "8")]),
    ("review", &[("prompt", "review")]),
];

/// How a token is drawn. All but the first are known to be broken, and have files of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draw {
    /// From all clipped logits, as the proof needs.
    Clipped,
    /// From the unmodified logits, at the temperature that clipping would have allowed.
    Unclipped,
    /// Only from the highest clipped logits: this many, and those equal to the last of them.
    Highest(usize),
}

/// DP-Prompt at one ε per token.
pub struct DpPrompt {
    model: Arc<dyn LanguageModel>,
    prompt: Prompt,
    epsilon: f64,
    clip: (f32, f32),
    draw: Draw,
    max_new_tokens: MaxNewTokens,
}

impl DpPrompt {
    /// An instance from its parameters, which asks for the paraphrase by `prompt`.
    ///
    /// # Errors
    /// Usage, without a language model, or without bounds for its logits.
    pub fn new(
        context: &Context,
        epsilon: f64,
        settings: &Settings,
        prompt: Prompt,
        draw: Draw,
    ) -> Result<Self> {
        let model = context.language_model.clone().ok_or_else(|| {
            Error::usage("'dp-prompt' needs a language model that shows its logits (--llm)")
        })?;
        Ok(Self {
            clip: bounds(settings, model.logit_moments())?,
            model,
            prompt,
            epsilon,
            draw,
            max_new_tokens: match settings.get("length") as usize {
                // Mechanisms that draw in the same way need not have this parameter.
                0 => match settings
                    .written(EXTRA.name)
                    .and_then(|extra| extra.parse().ok())
                {
                    None | Some(0) => MaxNewTokens::AsPrompt,
                    Some(extra) => MaxNewTokens::BeyondPrompt(extra),
                },
                length => MaxNewTokens::Tokens(length),
            },
        })
    }

    /// One token: Pr(v) ∝ exp(clip(l_v) / T) over all of the vocabulary, in double precision.
    fn choose(&self, logits: &[f32], stream: &mut Stream) -> u32 {
        stream.softmax_over(logits, self.log_weights(self.draw, logits)) as u32
    }

    /// ln of the probability that [`DpPrompt::choose`] picks one of `tokens`; if it picks none of them, that of the
    /// draw from all clipped logits.
    fn weigh(&self, logits: &[f32], tokens: &[u32]) -> f64 {
        let of = |draw| ln_softmax_over(logits, tokens, self.log_weights(draw, logits));
        match of(self.draw) {
            f64::NEG_INFINITY => of(Draw::Clipped),
            possible => possible,
        }
    }

    /// T = 2Δ/ε. A draw with scores that move by at most Δ is then ε-DP: once Δ/T = ε/2 for the weight of v and once
    /// for the sum over all tokens.
    fn temperature(&self) -> f64 {
        let (low, high) = self.clip;
        2.0 * f64::from(high - low) / self.epsilon
    }

    /// The log weight of a logit among `logits`: clip(l) / T, which moves by at most Δ/T = ε/2 for any logit; for a
    /// broken `draw`, what that uses instead.
    fn log_weights(&self, draw: Draw, logits: &[f32]) -> impl Fn(f32) -> f64 + use<> {
        let temperature = self.temperature();
        let (low, high) = match draw {
            Draw::Unclipped => (f32::NEG_INFINITY, f32::INFINITY),
            Draw::Clipped | Draw::Highest(_) => self.clip,
        };
        let log_weight = move |logit: f32| f64::from(logit.clamp(low, high)) / temperature;
        let least = match draw {
            Draw::Highest(count) => nth_highest(logits.iter().map(|l| log_weight(*l)), count),
            Draw::Clipped | Draw::Unclipped => f64::NEG_INFINITY,
        };
        move |logit| match log_weight(logit) {
            weight if weight < least => f64::NEG_INFINITY,
            weight => weight,
        }
    }

    /// Most tokens in a rewrite of `text`.
    ///
    /// # Errors
    /// If the model's tokenizer fails.
    fn max_new_tokens(&self, text: &str) -> Result<usize> {
        match self.max_new_tokens {
            MaxNewTokens::Tokens(length) => Ok(length),
            MaxNewTokens::AsPrompt => self.model.prompt_tokens(&self.prompt, text),
            MaxNewTokens::BeyondPrompt(extra) => {
                Ok(self.model.prompt_tokens(&self.prompt, text)? + extra)
            }
        }
    }
}

/// The `count`-th highest of some values, or the lowest if there are fewer.
fn nth_highest(values: impl Iterator<Item = f64>, count: usize) -> f64 {
    let mut values: Vec<f64> = values.collect();
    let last = count.min(values.len()) - 1;
    *values.select_nth_unstable_by(last, |a, b| b.total_cmp(a)).1
}

/// [`clip_bounds`] in the precision of logits.
fn bounds(settings: &Settings, moments: Option<(f64, f64)>) -> Result<(f32, f32)> {
    let (low, high) = clip_bounds("dp-prompt", settings, moments)?;
    Ok((low as f32, high as f32))
}

/// (b₁, b₂): the values that are set, or else (μ, μ + 4σ) of the model's logits.
///
/// # Errors
/// Usage, without either, or if b₁ is not below b₂; `mechanism` is its name in messages.
pub fn clip_bounds(
    mechanism: &str,
    settings: &Settings,
    moments: Option<(f64, f64)>,
) -> Result<(f64, f64)> {
    let set = (settings.get("clip_low"), settings.get("clip_high"));
    let (low, high) = match (set, moments) {
        ((0.0, 0.0), Some((mean, deviation))) => (mean, mean + 4.0 * deviation),
        ((0.0, 0.0), None) => {
            return Err(Error::usage(format!(
                "'{mechanism}' needs the bounds that this model's logits are clipped to: measure them with `teda models calibrate MODEL` and give --set clip_low=…,clip_high=…, or take a published --preset",
            )));
        }
        (set, _) => set,
    };
    if low >= high {
        return Err(Error::usage(format!(
            "clip_low = {low} and clip_high = {high} of '{mechanism}': the lower bound must be below the upper one"
        )));
    }
    Ok((low, high))
}

impl Mechanism for DpPrompt {
    fn guarantee(&self) -> Option<Guarantee> {
        Some(Guarantee {
            epsilon: self.epsilon,
            delta: 0.0,
            unit: Unit::Token,
            neighbours: Neighbours::AnyTexts,
            basis: match (self.draw, self.max_new_tokens) {
                (Draw::Clipped, MaxNewTokens::Tokens(_)) => Basis::Proven,
                _ => Basis::Claimed,
            },
        })
    }

    /// The most tokens that a rewrite of `text` has.
    fn units(&self, text: &str) -> Option<u64> {
        self.max_new_tokens(text)
            .ok()
            .map(|max_new_tokens| max_new_tokens as u64)
    }

    fn likelihood(&self) -> Option<&dyn Likelihood> {
        Some(self)
    }

    fn beyond_window(&self, texts: &[&str]) -> Result<Option<Beyond>> {
        self.model
            .beyond_window(&self.prompt, texts, self.max_new_tokens)
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        let sequences: Vec<Sequence<'_>> = batch
            .iter()
            .map(|query| Sequence {
                text: query.text,
                seed: query.seed,
                max_new_tokens: self.max_new_tokens,
                banned: &[],
            })
            .collect();
        let choose = |logits: &mut [f32], stream: &mut Stream| self.choose(logits, stream);
        let made = self.model.generate(&self.prompt, &sequences, &choose)?;
        Ok(made
            .into_iter()
            .map(|answer| match answer {
                Ok(generated) => Release::of(generated.text.trim()),
                Err(failure) => Release::failed(failure),
            })
            .collect())
    }
}

impl Likelihood for DpPrompt {
    fn is_exact(&self) -> bool {
        false
    }

    fn log_likelihood(&self, pairs: &[(&str, &str)]) -> Result<Vec<Answer<f64>>> {
        let asked: Vec<(&str, &str)> = pairs.iter().map(|(made, text)| (*text, *made)).collect();
        let weigh = |logits: &[f32], tokens: &[u32]| self.weigh(logits, tokens);
        let followed = self.model.follow(&self.prompt, &asked, &weigh)?;
        let stated = |(answer, (_, text)): (Answer<Followed>, &(&str, &str))| match answer {
            Ok(followed) => Ok(Ok(ln_probability(followed, self.max_new_tokens(text)?))),
            Err(_no_room) => Ok(Ok(f64::NEG_INFINITY)),
        };
        followed.into_iter().zip(pairs).map(stated).collect()
    }
}

/// ln P(release | text) of a sequence that was followed, when at most `max_new_tokens` tokens may be drawn.
fn ln_probability(followed: Followed, max_new_tokens: usize) -> f64 {
    let Followed { likelihood, end } = followed;
    let length = match likelihood.tokens.checked_sub(max_new_tokens) {
        None => end,
        Some(beyond) => -(beyond as f64) * LN_2,
    };
    likelihood.total + length
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use statrs::distribution::{ChiSquared, ContinuousCDF};
    use teda_core::{LogLikelihood, Seed};

    use super::*;
    use crate::testing::toy;

    const CLIP: (f64, f64) = (-1.0, 1.5);

    fn instance(epsilon: f64, set: &[(&str, f64)], draw: Draw) -> Result<DpPrompt> {
        let set: Vec<_> = set
            .iter()
            .map(|(n, v)| ((*n).to_owned(), v.to_string()))
            .collect();
        let settings = ENTRY.settings(None, &set)?;
        let prompt = prompt(&settings);
        DpPrompt::new(&toy::context(), epsilon, &settings, prompt, draw)
    }

    fn two_tokens(epsilon: f64, draw: Draw) -> DpPrompt {
        let set = [("clip_low", CLIP.0), ("clip_high", CLIP.1), ("length", 2.0)];
        instance(epsilon, &set, draw).unwrap()
    }

    /// The probabilities of the token after `before`, directly from the definition.
    fn step(text: &str, before: &[u32], epsilon: f64, draw: Draw) -> Vec<f64> {
        let logits = toy::tokens().logits(text, before);
        let logits = logits.into_iter().map(f64::from);
        let clipped: Vec<f64> = match draw {
            Draw::Unclipped => logits.collect(),
            _ => logits.map(|l| l.clamp(CLIP.0, CLIP.1)).collect(),
        };
        let mut sorted = clipped.clone();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let least = match draw {
            Draw::Highest(count) => sorted[count - 1],
            _ => f64::NEG_INFINITY,
        };
        let temperature = 2.0 * (CLIP.1 - CLIP.0) / epsilon;
        let weight = |l: &f64| f64::from(u8::from(*l >= least)) * (l / temperature).exp();
        let weights: Vec<f64> = clipped.iter().map(weight).collect();
        let total: f64 = weights.iter().sum();
        weights.into_iter().map(|w| w / total).collect()
    }

    /// Releases of two tokens.
    fn exact(text: &str, epsilon: f64, draw: Draw) -> BTreeMap<String, f64> {
        let mut releases = BTreeMap::new();
        for (a, p) in (0..).zip(step(text, &[], epsilon, draw)) {
            for (b, q) in (0..).zip(step(text, &[a], epsilon, draw)) {
                *releases.entry(format!("t{a} t{b}")).or_default() += p * q;
            }
        }
        releases
    }

    /// The greatest |ln ratio| of a release's probabilities under two texts.
    fn worst(epsilon: f64, draw: Draw) -> f64 {
        let (p, q) = (exact("t3 t1", epsilon, draw), exact("t6", epsilon, draw));
        p.iter()
            .filter(|(y, p)| **p > 0.0 || q[*y] > 0.0)
            .map(|(y, p)| (p / q[y]).ln().abs())
            .fold(0.0, f64::max)
    }

    #[test]
    fn releases_follow_the_exact_probabilities() {
        for draw in [Draw::Clipped, Draw::Unclipped, Draw::Highest(3)] {
            for epsilon in [1.0, 12.0] {
                follows(epsilon, draw);
            }
        }
    }

    /// The toy writes each text by one token sequence, so that what is stated is exact where the text is possible.
    #[test]
    fn likelihoods_are_the_exact_probabilities_of_what_is_possible() {
        let text = "t3 t1";
        for draw in [Draw::Clipped, Draw::Unclipped, Draw::Highest(3)] {
            for epsilon in [1.0, 12.0, 300.0] {
                let mechanism = two_tokens(epsilon, draw);
                let likelihood = mechanism.likelihood().unwrap();
                assert!(!likelihood.is_exact());
                let ln = |before: &[u32], token: u32| {
                    let of = |draw| step(text, before, epsilon, draw)[token as usize].ln();
                    match of(draw) {
                        f64::NEG_INFINITY => of(Draw::Clipped),
                        possible => possible,
                    }
                };
                let tokens = 0..toy::UNKNOWN;
                let rows = tokens.flat_map(|a| (0..toy::UNKNOWN).map(move |b| (a, b)));
                let (releases, expected): (Vec<String>, Vec<f64>) = rows
                    .map(|(a, b)| (format!("t{a} t{b}"), ln(&[], a) + ln(&[a], b)))
                    .unzip();
                let pairs: Vec<(&str, &str)> = releases.iter().map(|r| (&r[..], text)).collect();
                let found = likelihood.log_likelihood(&pairs).unwrap();
                for ((release, found), expected) in releases.iter().zip(found).zip(expected) {
                    let found = found.unwrap();
                    assert!(
                        (found - expected).abs() < 1e-9 * (1.0 + expected.abs()),
                        "ε={epsilon} {draw:?} '{release}': {found}, not {expected}"
                    );
                }
            }
        }
    }

    /// A token that a draw leaves out is weighed, and weighs less than all those that it keeps.
    #[test]
    fn tokens_that_are_left_out_are_the_least_likely() {
        let logits = toy::tokens().logits("t3 t1", &[]);
        for epsilon in [0.1, 12.0] {
            let mechanism = two_tokens(epsilon, Draw::Highest(3));
            let weigh = |token: u32| mechanism.weigh(&logits, &[token]);
            let (kept, left_out): (Vec<u32>, Vec<u32>) = (0..toy::UNKNOWN).partition(|token| {
                step("t3 t1", &[], epsilon, Draw::Highest(3))[*token as usize] > 0.0
            });
            let least = kept.iter().map(|t| weigh(*t)).fold(f64::INFINITY, f64::min);
            assert!(left_out.len() >= 3);
            for token in left_out {
                let weight = weigh(token);
                assert!(weight.is_finite() && weight < least, "{weight}, {least}");
            }
        }
    }

    #[test]
    fn the_number_of_tokens_is_part_of_the_likelihood() {
        let none = f64::NEG_INFINITY;
        let mechanism = two_tokens(3.0, Draw::Clipped);
        let ln = |release: &str, text: &str| {
            let found = mechanism.log_likelihood(&[(release, text)]).unwrap();
            found[0].clone().unwrap()
        };
        // The toy never ends by itself, and has no word "x".
        assert_eq!(ln("t2", "t3 t1"), none);
        assert_eq!(ln("t2 x", "t3 t1"), none);
        let followed = |tokens| Followed {
            likelihood: LogLikelihood {
                total: -3.0,
                tokens,
            },
            end: -5.0,
        };
        for (tokens, expected) in [
            (3, -8.0),
            (4, -3.0),
            (5, -3.0 - LN_2),
            (7, -3.0 - 3.0 * LN_2),
        ] {
            let found = ln_probability(followed(tokens), 4);
            assert!((found - expected).abs() < 1e-12, "{tokens}: {found}");
        }
        // As many as the prompt has: a different number for each text, and the longer text could have ended.
        let published = instance(3.0, &[], Draw::Clipped).unwrap();
        let max_new_tokens = published.units("t1 t2").unwrap() as usize;
        let release = vec!["t4"; max_new_tokens].join(" ");
        let pairs = [(&release[..], "t1 t2"), (&release[..], "t1 t2 t3")];
        let found = published.log_likelihood(&pairs).unwrap();
        assert!(found[0].as_ref().unwrap().is_finite());
        assert_eq!(found[1], Ok(none));
    }

    fn follows(epsilon: f64, draw: Draw) {
        let draws = 60_000;
        let queries: Vec<Query<'_>> = (0..draws)
            .map(|i| Query {
                text: "t3 t1",
                seed: Seed::root(5).at(i),
            })
            .collect();
        let mut counts: BTreeMap<String, f64> = BTreeMap::new();
        for release in two_tokens(epsilon, draw).rewrite(&queries).unwrap() {
            *counts.entry(release.text).or_default() += 1.0;
        }
        let (mut chi, mut degrees) = (0.0, -1.0);
        for (release, p) in exact("t3 t1", epsilon, draw) {
            let mean = p * draws as f64;
            let seen = counts.get(&release).copied().unwrap_or(0.0);
            if mean >= 5.0 {
                chi += (seen - mean) * (seen - mean) / mean;
                degrees += 1.0;
            }
            assert!(
                p > 0.0 || seen == 0.0,
                "{draw:?}: '{release}' is impossible"
            );
        }
        let p = ChiSquared::new(degrees).unwrap().sf(chi);
        assert!(
            p > 1e-4,
            "ε={epsilon} {draw:?}: χ²={chi} on {degrees}, p={p}"
        );
    }

    /// Privacy itself: no release of n tokens is more than e^{nε} times likelier under another text.
    #[test]
    fn the_exact_ratio_between_any_texts_stays_within_n_epsilon() {
        for epsilon in [0.5, 3.0, 20.0] {
            let worst = worst(epsilon, Draw::Clipped);
            assert!(
                worst <= 2.0 * epsilon * (1.0 + 1e-12),
                "{worst} at {epsilon}"
            );
        }
    }

    /// Above ε = 1,416 the weights of the least likely tokens are 0 in the draw. They are never drawn, and what is stated
    /// of them is what exact arithmetic gives.
    #[test]
    fn what_underflows_is_never_drawn_and_stated_exactly() {
        let logits = [2.0_f32, -1.0, 0.2, -2.0];
        for (epsilon, is_left_out) in [(1_400.0, false), (3_000.0, true)] {
            let mechanism = two_tokens(epsilon, Draw::Clipped);
            let log_weight = mechanism.log_weights(Draw::Clipped, &logits);
            let least = log_weight(-1.0) - log_weight(2.0);
            assert!((least + epsilon / 2.0).abs() < 1e-4 * epsilon, "{least}");
            assert_eq!(least < -708.0, is_left_out);
            // The greatest weight is all of the sum: a second one is at least e^{−300} smaller.
            let stated = mechanism.weigh(&logits, &[1]);
            assert!((stated - least).abs() < 1e-9, "{stated}, not {least}");
            let mut stream = Seed::root(2).stream();
            let drawn = (0..2_000).map(|_| mechanism.choose(&logits, &mut stream));
            assert!(drawn.into_iter().all(|token| token == 0));
        }
    }

    /// The two defects: logits beyond the bounds reveal more than nε, and what top-k leaves out tells texts apart with
    /// certainty.
    #[test]
    fn without_clipping_or_with_top_k_the_exact_ratio_exceeds_the_claim() {
        for epsilon in [0.5, 3.0, 20.0] {
            assert_eq!(worst(epsilon, Draw::Highest(3)), f64::INFINITY);
            // The toy's logits range from −2 to 2; bounds only 0.2 apart allow weights a hundred times too large.
            let narrow = [("clip_low", 0.0), ("clip_high", 0.2), ("length", 1.0)];
            let mechanism = instance(epsilon, &narrow, Draw::Unclipped).unwrap();
            let worst = |log_weight: &dyn Fn(f32) -> f64| {
                let toy = toy::tokens();
                let (p, q) = (toy.logits("t3 t1", &[]), toy.logits("t6", &[]));
                largest_loss(&p, &q, log_weight)
            };
            let broken = worst(&mechanism.log_weights(Draw::Unclipped, &[]));
            let sound = worst(&mechanism.log_weights(Draw::Clipped, &[]));
            assert!(broken > epsilon, "{broken} at {epsilon}");
            assert!(sound <= epsilon * (1.0 + 1e-12), "{sound} at {epsilon}");
        }
    }

    /// The greatest |ln(p_v / q_v)| of one draw from two rows of logits.
    fn largest_loss(p: &[f32], q: &[f32], log_weight: &dyn Fn(f32) -> f64) -> f64 {
        let log_probabilities = |logits: &[f32]| -> Vec<f64> {
            let log_weights: Vec<f64> = logits.iter().map(|l| log_weight(*l)).collect();
            let highest = log_weights
                .iter()
                .copied()
                .fold(f64::NEG_INFINITY, f64::max);
            let total: f64 = log_weights.iter().map(|w| (w - highest).exp()).sum();
            let normaliser = highest + total.ln();
            log_weights.iter().map(|w| w - normaliser).collect()
        };
        log_probabilities(p)
            .iter()
            .zip(log_probabilities(q))
            .map(|(p, q)| (p - q).abs())
            .fold(0.0, f64::max)
    }

    proptest! {
        /// Privacy itself, for any logits of any two texts: no token's probability changes by more than a factor of
        /// e^ε.
        #[test]
        fn no_logits_make_a_token_tell_more_than_epsilon(
            rows in prop::collection::vec((-1e4_f32..1e4, -1e4_f32..1e4), 1..40),
            scale in prop::sample::select(vec![1e-4_f32, 1e-2, 1.0]),
            epsilon in 0.01_f64..300.0, low in -30_f64..0.0, range in 0.1_f64..60.0,
        ) {
            let set = [("clip_low", low), ("clip_high", low + range), ("length", 1.0)];
            let mechanism = instance(epsilon, &set, Draw::Clipped).unwrap();
            let p: Vec<f32> = rows.iter().map(|(p, _)| p * scale).collect();
            let q: Vec<f32> = rows.iter().map(|(_, q)| q * scale).collect();
            let loss = largest_loss(&p, &q, &mechanism.log_weights(Draw::Clipped, &[]));
            prop_assert!(loss <= epsilon * (1.0 + 1e-9), "{loss} at {epsilon}");
        }
    }

    #[test]
    fn the_claim_is_proven_only_where_lengths_tell_nothing() {
        let fixed = instance(3.0, &[("length", 7.0)], Draw::Clipped).unwrap();
        assert_eq!(fixed.guarantee().unwrap().basis, Basis::Proven);
        assert_eq!(fixed.units("t1"), Some(7));
        let broken = instance(3.0, &[("length", 7.0)], Draw::Unclipped).unwrap();
        assert_eq!(broken.guarantee().unwrap().basis, Basis::Claimed);
        let published = instance(3.0, &[], Draw::Clipped).unwrap();
        assert_eq!(published.guarantee().unwrap().basis, Basis::Claimed);
        let prompt = PROMPTS[0].1.split_whitespace().count() as u64;
        assert_eq!(published.units("t1 t2"), Some(prompt - 1 + 2));
    }

    #[test]
    fn bounds_come_from_the_settings_or_the_model() {
        let (mean, deviation) = toy::MOMENTS;
        let own = instance(1.0, &[], Draw::Clipped).unwrap();
        assert_eq!(own.clip, (mean as f32, (mean + 4.0 * deviation) as f32));
        for bad in [
            [("clip_low", 2.0), ("clip_high", 1.0)],
            [("clip_low", 3.0), ("clip_high", 3.0)],
        ] {
            assert!(matches!(
                instance(1.0, &bad, Draw::Clipped),
                Err(Error::Usage(_))
            ));
        }
        let settings = ENTRY.settings(None, &[]).unwrap();
        assert!(matches!(bounds(&settings, None), Err(Error::Usage(_))));
        let published = ENTRY.settings(Some("flan-t5-base"), &[]).unwrap();
        let (low, high) = bounds(&published, None).unwrap();
        assert!((f64::from(high - low) - 26.7103).abs() < 1e-4);
    }
}
