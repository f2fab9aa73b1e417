//! `dp-prompt`: a language model paraphrases the text, every token by the exponential mechanism.
//!
//! # Definition
//! The model is asked for a paraphrase of the text, token by token. With logits l over the whole
//! vocabulary, clipped to [b₁, b₂], Δ = b₂ − b₁ and T = 2Δ/ε,
//! Pr(v) ∝ exp(clip(l_v) / T) = exp(ε clip(l_v) / (2Δ)).
//! Clipping comes before the temperature, and no token is left out (no top-k, no top-p).
//!
//! # Guarantee
//! ε per generated token: whatever two texts the prompt holds, a token's clipped logit differs by at
//! most Δ between them, so each draw is the exponential mechanism with utility clip(l_v) and
//! sensitivity Δ, given the tokens before it. n tokens compose to nε. **Proven** where the greatest
//! number of tokens is the same for all texts (`length` > 0). With the published rule, as many new tokens as
//! the prompt has (`length` = 0), the length of a text bounds that of its release: a release of more
//! tokens than the shorter text allows has probability 0 there, so nε is **claimed** only.
//! A text beyond the model's window fails, which tells its length too.
//!
//! # Source
//! DP-Prompt, Utpala, Hooker and Chen, *Locally differentially private document generation using
//! zero shot prompting* (Findings of EMNLP 2023), Algorithm 1; prompt, bounds and length as in the
//! code that TeDA (arXiv 2603.22968) audited (the DP-MLM authors'), `--preset review` with the prompt of the
//! original repository.
//!
//! # Deviations
//! The bounds belong to a model: those of `--preset flan-t5-base` or `flan-t5-large` are published;
//! without a preset they are (μ, μ + 4σ) of the model's own logits on public text (`teda models calibrate`).
//! No cut of the input at 512 tokens.

use std::sync::Arc;

use teda_core::{
    Basis, Error, Guarantee, Lane, LanguageModel, Longest, Mechanism, Neighbours, Parameter,
    Prompt, Query, Release, Result, Settings, Stream, Unit,
};

use crate::registry::{Context, Entry, Kind, Preset, Rewriter};

pub const ENTRY: Entry = Entry {
    name: "dp-prompt",
    summary: "a language model paraphrases, every token by the exponential mechanism on clipped logits",
    source: "DP-Prompt (Findings of EMNLP 2023), Algorithm 1",
    kind: Kind::Published,
    unit: Some(Unit::Token),
    grid: &GRID,
    parameters: PARAMETERS,
    presets: PRESETS,
    rewriter: Rewriter::LanguageModel,
    build: |context, epsilon, settings| Ok(Box::new(DpPrompt::new(context, epsilon, settings)?)),
};

/// The part of TeDA's grid in which a language model goes from noise to its own words.
pub const GRID: [f64; 5] = [1.0, 10.0, 50.0, 100.0, 250.0];

/// The prompts by number.
pub const PROMPTS: [&str; 2] = [
    "Document : {}\nParaphrase of the document :",
    "Review: {}\nParaphrase of the review:",
];

/// Which prompt, by number.
pub const PROMPT: Parameter = Parameter {
    name: "prompt",
    default: 0.0,
    least: 0.0,
    greatest: (PROMPTS.len() - 1) as f64,
    whole: true,
    meaning: "0: 'Document : … Paraphrase of the document :'; 1: the original repository's, for reviews",
};

const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "clip_low",
        default: 0.0,
        least: -1e6,
        greatest: 1e6,
        whole: false,
        meaning: "lower bound of the logits; 0 for both bounds: the model's own μ and μ + 4σ",
    },
    Parameter {
        name: "clip_high",
        default: 0.0,
        least: -1e6,
        greatest: 1e6,
        whole: false,
        meaning: "upper bound of the logits",
    },
    Parameter {
        name: "length",
        default: 0.0,
        least: 0.0,
        greatest: 100_000.0,
        whole: true,
        meaning: "new tokens at most; 0: as many as the prompt has, as published",
    },
    PROMPT,
];

const PRESETS: &[Preset] = &[
    (
        "flan-t5-base",
        &[
            ("clip_low", -19.227_051_130_160_47),
            ("clip_high", 7.483_249_379_897_16),
        ],
    ),
    ("flan-t5-large", &[("clip_low", -95.0), ("clip_high", 8.0)]),
    ("review", &[("prompt", 1.0)]),
];

/// DP-Prompt at one ε per token.
pub struct DpPrompt {
    model: Arc<dyn LanguageModel>,
    prompt: Prompt,
    epsilon: f64,
    clip: (f32, f32),
    longest: Longest,
}

impl DpPrompt {
    fn new(context: &Context, epsilon: f64, settings: &Settings) -> Result<Self> {
        let model = context.language_model.clone().ok_or_else(|| {
            Error::usage("'dp-prompt' needs a language model that shows its logits (--llm)")
        })?;
        Ok(Self {
            clip: bounds(settings, model.logit_moments())?,
            model,
            prompt: Prompt::new(PROMPTS[settings.get("prompt") as usize]),
            epsilon,
            longest: match settings.get("length") as usize {
                0 => Longest::AsPrompt,
                length => Longest::Tokens(length),
            },
        })
    }

    /// One token: Pr(v) ∝ exp(clip(l_v) / T) over all of the vocabulary, in double precision.
    fn choose(&self, logits: &[f32], stream: &mut Stream) -> u32 {
        let (low, high) = self.clip;
        // A draw with scores moving by at most Δ is ε-DP at T = 2Δ/ε: once Δ/T = ε/2 for the weight
        // of v and once for the sum over all tokens.
        let temperature = 2.0 * f64::from(high - low) / self.epsilon;
        stream.softmax_over(logits, |logit| {
            f64::from(logit.clamp(low, high)) / temperature
        }) as u32
    }
}

/// (b₁, b₂): what is set, else (μ, μ + 4σ) of the model's logits.
fn bounds(settings: &Settings, moments: Option<(f64, f64)>) -> Result<(f32, f32)> {
    let set = (settings.get("clip_low"), settings.get("clip_high"));
    let (low, high) = match (set, moments) {
        ((0.0, 0.0), Some((mean, deviation))) => (mean, mean + 4.0 * deviation),
        ((0.0, 0.0), None) => {
            return Err(Error::usage(
                "'dp-prompt' needs the bounds that this model's logits are clipped to: measure them with `teda models calibrate MODEL` and give --set clip_low=…,clip_high=…, or take a published --preset",
            ));
        }
        (set, _) => set,
    };
    if low >= high {
        return Err(Error::usage(format!(
            "clip_low = {low} and clip_high = {high} of 'dp-prompt': the lower bound must be below the upper one"
        )));
    }
    Ok((low as f32, high as f32))
}

impl Mechanism for DpPrompt {
    fn guarantee(&self) -> Option<Guarantee> {
        Some(Guarantee {
            epsilon: self.epsilon,
            delta: 0.0,
            unit: Unit::Token,
            neighbours: Neighbours::AnyTexts,
            basis: match self.longest {
                Longest::AsPrompt => Basis::Claimed,
                Longest::Tokens(_) => Basis::Proven,
            },
        })
    }

    /// The tokens that a rewrite of `text` has at most.
    fn units(&self, text: &str) -> Option<u64> {
        match self.longest {
            Longest::Tokens(length) => Some(length as u64),
            Longest::AsPrompt => {
                let tokens = self.model.prompt_tokens(&self.prompt, text).ok()?;
                Some(tokens as u64)
            }
        }
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        let lanes: Vec<Lane<'_>> = batch
            .iter()
            .map(|query| Lane {
                text: query.text,
                seed: query.seed,
                longest: self.longest,
            })
            .collect();
        let choose = |logits: &mut [f32], stream: &mut Stream| self.choose(logits, stream);
        let made = self.model.generate(&self.prompt, &lanes, &choose)?;
        Ok(made
            .into_iter()
            .map(|answer| match answer {
                Ok(generated) => Release::of(generated.text.trim()),
                Err(reason) => Release::failed(reason),
            })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use statrs::distribution::{ChiSquared, ContinuousCDF};
    use teda_core::Seed;

    use super::*;
    use crate::toy;

    fn instance(epsilon: f64, set: &[(&str, f64)]) -> Result<DpPrompt> {
        let set: Vec<_> = set.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
        DpPrompt::new(&toy::context(), epsilon, &ENTRY.settings(None, &set)?)
    }

    /// Releases of two tokens straight from the definition.
    fn exact(text: &str, epsilon: f64, clip: (f64, f64)) -> BTreeMap<String, f64> {
        let toy = toy::tokens();
        let step = |before: &[u32]| -> Vec<f64> {
            let logits = toy.logits(text, before);
            let temperature = 2.0 * (clip.1 - clip.0) / epsilon;
            let weights: Vec<f64> = logits
                .iter()
                .map(|l| (f64::from(*l).clamp(clip.0, clip.1) / temperature).exp())
                .collect();
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
        let clip = (-1.0, 1.5);
        let set = [("clip_low", clip.0), ("clip_high", clip.1), ("length", 2.0)];
        for epsilon in [1.0, 12.0] {
            let mechanism = instance(epsilon, &set).unwrap();
            let draws = 60_000;
            let queries: Vec<Query<'_>> = (0..draws)
                .map(|i| Query {
                    text: "t3 t1",
                    seed: Seed::root(5).at(i),
                })
                .collect();
            let mut counts: BTreeMap<String, f64> = BTreeMap::new();
            for release in mechanism.rewrite(&queries).unwrap() {
                *counts.entry(release.text).or_default() += 1.0;
            }
            let (mut chi, mut degrees) = (0.0, -1.0);
            for (release, p) in exact("t3 t1", epsilon, clip) {
                let mean = p * draws as f64;
                if mean >= 5.0 {
                    let seen = counts.get(&release).copied().unwrap_or(0.0);
                    chi += (seen - mean) * (seen - mean) / mean;
                    degrees += 1.0;
                }
            }
            let p = ChiSquared::new(degrees).unwrap().sf(chi);
            assert!(p > 1e-4, "ε={epsilon}: χ²={chi} on {degrees}, p={p}");
        }
    }

    /// Privacy itself: no release of n tokens is more than e^{nε} likelier under another text.
    #[test]
    fn the_exact_ratio_between_any_texts_stays_within_n_epsilon() {
        for epsilon in [0.5, 3.0, 20.0] {
            let clip = (-1.0, 1.5);
            let (p, q) = (exact("t3 t1", epsilon, clip), exact("t6", epsilon, clip));
            let worst = p
                .iter()
                .map(|(y, p)| (p / q[y]).ln().abs())
                .fold(0.0, f64::max);
            assert!(
                worst <= 2.0 * epsilon * (1.0 + 1e-12),
                "{worst} at {epsilon}"
            );
        }
    }

    #[test]
    fn the_claim_is_proven_only_where_lengths_tell_nothing() {
        let fixed = instance(3.0, &[("length", 7.0)]).unwrap();
        assert_eq!(fixed.guarantee().unwrap().basis, Basis::Proven);
        assert_eq!(fixed.units("t1"), Some(7));
        let published = instance(3.0, &[]).unwrap();
        assert_eq!(published.guarantee().unwrap().basis, Basis::Claimed);
        let prompt = PROMPTS[0].split_whitespace().count() as u64;
        assert_eq!(published.units("t1 t2"), Some(prompt - 1 + 2));
    }

    #[test]
    fn bounds_come_from_the_settings_or_the_model() {
        let (mean, deviation) = toy::MOMENTS;
        let own = instance(1.0, &[]).unwrap();
        assert_eq!(own.clip, (mean as f32, (mean + 4.0 * deviation) as f32));
        for bad in [
            [("clip_low", 2.0), ("clip_high", 1.0)],
            [("clip_low", 3.0), ("clip_high", 3.0)],
        ] {
            assert!(matches!(instance(1.0, &bad), Err(Error::Usage(_))));
        }
        let settings = ENTRY.settings(None, &[]).unwrap();
        assert!(matches!(bounds(&settings, None), Err(Error::Usage(_))));
        let published = ENTRY.settings(Some("flan-t5-base"), &[]).unwrap();
        let (low, high) = bounds(&published, None).unwrap();
        assert!((f64::from(high - low) - 26.7103).abs() < 1e-4);
    }
}
