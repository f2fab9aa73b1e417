//! `dp-prompt-black-box`: the same prompt for a model that exposes no logits: temperature alone.
//!
//! # Definition
//! A black-box model is asked for a paraphrase at temperature T = 2Δ/ε, with Δ assumed and nothing
//! clipped: Pr(v) ∝ exp(l_v / T).
//!
//! # Guarantee
//! None. Without clipping, logits of two texts can differ by any amount, so no finite ε follows from
//! the temperature, whatever Δ is assumed.
//!
//! # Source
//! DP-Prompt (Findings of EMNLP 2023), Section 5 (closed models); the prompt as in `dp-prompt`.
//!
//! # Deviations
//! The nominal ε sets the temperature by DP-Prompt's rule, so that both forms can be plotted over one axis. A server
//! may cap the temperature or leave out unlikely tokens: the audit is of what it actually does.

use std::sync::Arc;

use teda_core::{
    Beyond, Error, Guarantee, Mechanism, Parameter, Prompt, Query, Release, Result, Sampling,
    Settings, TextGenerator,
};

use super::dp_prompt;
use crate::entry::{Context, Entry, Rewriter};

pub const ENTRY: Entry = Entry {
    name: "dp-prompt-black-box",
    summary: "a black-box language model paraphrases at a high temperature; nothing is clipped",
    source: "DP-Prompt (Findings of EMNLP 2023), Section 5",
    parameters: PARAMETERS,
    presets: &[("review", &[("prompt", "review")])],
    rewriter: Rewriter::Sampler,
    build: &|context, epsilon, settings| Ok(Box::new(BlackBox::new(context, epsilon, settings)?)),
    ..dp_prompt::ENTRY
};

const PARAMETERS: &[Parameter] = &[
    Parameter::number(
        "sensitivity",
        26.7103,
        [1e-6, 1e6],
        "Δ in T = 2Δ/ε; flan-t5-base's when nothing is set",
    ),
    Parameter::whole(
        "max_new_tokens",
        48,
        [1, 100_000],
        "tokens of a rewrite at most",
    )
    .formerly("longest"),
    dp_prompt::PROMPT,
];

/// DP-Prompt without logits, at one nominal ε per token.
struct BlackBox {
    generator: Arc<dyn TextGenerator>,
    prompt: Prompt,
    sampling: Sampling,
}

impl BlackBox {
    fn new(context: &Context, epsilon: f64, settings: &Settings) -> Result<Self> {
        let generator = context
            .sampler
            .clone()
            .ok_or_else(|| Error::usage("'dp-prompt-black-box' needs a language model (--llm)"))?;
        Ok(Self {
            generator,
            prompt: dp_prompt::prompt(settings),
            sampling: Sampling {
                temperature: 2.0 * settings.get("sensitivity") / epsilon,
                max_new_tokens: settings.get("max_new_tokens") as usize,
            },
        })
    }
}

impl Mechanism for BlackBox {
    fn guarantee(&self) -> Option<Guarantee> {
        None
    }

    fn beyond_window(&self, texts: &[&str]) -> Result<Option<Beyond>> {
        self.generator
            .beyond_window(&self.prompt, texts, self.sampling)
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        let answers = self
            .generator
            .complete(&self.prompt, batch, 1, self.sampling)?;
        Ok(answers
            .into_iter()
            .map(|answer| match answer {
                Ok(texts) => Release::of(texts.concat().trim()),
                Err(failure) => Release::failed(failure),
            })
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use teda_core::Seed;

    use super::*;
    use crate::testing::toy;

    #[test]
    fn the_temperature_follows_the_nominal_epsilon_and_nothing_is_claimed() {
        let settings = ENTRY
            .settings(None, &[("sensitivity".to_owned(), "10".to_owned())])
            .unwrap();
        let mechanism = BlackBox::new(&toy::context(), 4.0, &settings).unwrap();
        assert_eq!(mechanism.sampling.temperature, 5.0);
        assert!(mechanism.guarantee().is_none());
        let query = Query {
            text: "t1 t2",
            seed: Seed::root(1),
        };
        assert_eq!(mechanism.rewrite(&[query]).unwrap()[0].text, "t2");
    }
}
