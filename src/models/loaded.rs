//! A language model that was loaded, by what it can do.

use std::sync::Arc;

use teda_attacks::Judge;
use teda_core::{Error, LanguageModel, Result, TextGenerator};
use teda_mechanisms::Rewriter;
use teda_models::builtin::Infill;
use teda_models::generate::{LocalModel, Sampler};
use teda_server::Http;

use super::spec::{By, Spec};

/// A language model by what it can do.
#[derive(Clone)]
pub(super) enum Loaded {
    /// Fills gaps: rewrites in its own way and does not follow instructions.
    Infill(Arc<Infill>),
    /// Exposes its logits.
    Local(Arc<LocalModel>),
    /// Exposes only its text.
    Server(Arc<Http>),
}

impl Loaded {
    /// It as a black box that rewrites.
    pub(super) fn generator(&self) -> Arc<dyn TextGenerator> {
        match self {
            Self::Infill(model) => model.clone(),
            Self::Local(model) => Arc::new(Sampler(model.clone())),
            Self::Server(server) => server.clone(),
        }
    }

    /// It as a language model, if its logits are seen.
    pub(super) fn language_model(&self) -> Option<Arc<dyn LanguageModel>> {
        match self {
            Self::Local(model) => Some(model.clone()),
            Self::Infill(_) | Self::Server(_) => None,
        }
    }

    /// This model as a judge, in the way asked for or its default one.
    pub(super) fn judge(self, by: Option<By>) -> Result<Judge> {
        Ok(match (self, by) {
            (Self::Infill(_), _) => return Err(only_infills()),
            (Self::Local(model), Some(By::Prompt)) if !model.follows_instructions() => {
                return Err(Error::usage(
                    "this model (the rewriter in the binary, or one that was trained as it is) follows no instructions, so it cannot judge by prompt; take by=likelihood, or a language model such as smollm2-135m (`teda models pull smollm2-135m` fetches it)",
                ));
            }
            (Self::Local(model), None | Some(By::Likelihood)) => Judge::Likelihood(model),
            (Self::Local(model), Some(By::Prompt)) => Judge::Probabilities(model),
            (Self::Server(server), Some(By::Likelihood)) => Judge::Likelihood(server),
            (Self::Server(server), None | Some(By::Prompt)) => Judge::Words(server),
        })
    }
}

/// Checks that what was loaded can do what the mechanisms need.
pub(super) fn check(spec: &Spec, loaded: &Loaded, needs: &[(String, Rewriter)]) -> Result<()> {
    for (mechanism, need) in needs {
        let (served, what) = match need {
            Rewriter::Nothing | Rewriter::Generator | Rewriter::Masked | Rewriter::Autoencoder => {
                (true, "")
            }
            Rewriter::Sampler | Rewriter::Any => (
                !matches!(loaded, Loaded::Infill(_)),
                "a language model, which generates",
            ),
            Rewriter::EncoderDecoder => (
                matches!(loaded, Loaded::Local(model) if model.encoder_decoder().is_some()),
                "an encoder-decoder in this process, such as facebook/bart-base",
            ),
            Rewriter::LanguageModel => (
                matches!(loaded, Loaded::Local(_)),
                "a language model whose logits can be seen, which a server does not show",
            ),
        };
        if !served {
            let other = match need {
                Rewriter::EncoderDecoder => "flan-t5-base",
                _ => "smollm2-135m",
            };
            return Err(Error::usage(format!(
                "'{mechanism}' needs {what}, which --llm {spec} is not. Take --llm builtin, or for example --llm {other} (`teda models pull {other}` fetches it, `teda models list` shows others)"
            )));
        }
    }
    Ok(())
}

/// The refusal of a model that only fills gaps as a judge.
pub(super) fn only_infills() -> Error {
    Error::usage(
        "a model that fills gaps cannot judge; take --judge builtin, a language model or a server, for example --judge smollm2-135m (`teda models pull smollm2-135m` fetches it)",
    )
}
