//! A mechanism's entry in the registry, and how an instance is made from it.

use std::sync::Arc;

use teda_core::{
    Autoencoder, Encoder, Error, LanguageModel, MaskedLanguageModel, Mechanism, Parameter, Result,
    Scorer, Settings, TextGenerator, TokenMap, Unit,
};

use crate::memory::Memory;

/// What mechanisms are built from.
#[derive(Clone)]
pub struct Context {
    /// The distinct texts of the data set.
    pub texts: Arc<[String]>,
    /// The public vocabulary and its embedding.
    pub tokens: Arc<dyn TokenMap>,
    /// The public sentence encoder.
    pub encoder: Arc<dyn Encoder>,
    /// The black-box rewriter; present if [`Entry::rewriter`] asks for one.
    pub generator: Option<Arc<dyn TextGenerator>>,
    /// The black-box language model, whose temperature matters; present if [`Entry::rewriter`] asks for one.
    pub sampler: Option<Arc<dyn TextGenerator>>,
    /// The language model; present if [`Entry::rewriter`] asks for one.
    pub language_model: Option<Arc<dyn LanguageModel>>,
    /// The masked language model; present if [`Entry::rewriter`] asks for one.
    pub masked_language_model: Option<Arc<dyn MaskedLanguageModel>>,
    /// The autoencoder; present if [`Entry::rewriter`] asks for one.
    pub autoencoder: Option<Arc<dyn Autoencoder>>,
    /// The language model whose perplexity ranks texts; present if [`Entry::rewriter`] asks for any model.
    pub scorer: Option<Arc<dyn Scorer>>,
    /// The shared memory for the tables of all mechanisms.
    pub memory: Memory,
}

impl Context {
    /// A context without language models and without memory for tables.
    #[must_use]
    pub fn without_models(
        texts: Arc<[String]>,
        tokens: Arc<dyn TokenMap>,
        encoder: Arc<dyn Encoder>,
    ) -> Self {
        Self {
            texts,
            tokens,
            encoder,
            generator: None,
            sampler: None,
            language_model: None,
            masked_language_model: None,
            autoencoder: None,
            scorer: None,
            memory: Memory::default(),
        }
    }
}

/// The kind of model that a mechanism rewrites with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rewriter {
    /// No model.
    Nothing,
    /// Any black-box rewriter.
    Generator,
    /// A black-box language model, whose temperature matters.
    Sampler,
    /// A language model that exposes its logits.
    LanguageModel,
    /// A masked language model that exposes its logits.
    Masked,
    /// A language model of two halves, whose vectors between them are seen.
    EncoderDecoder,
    /// A model that makes one vector of a text, and a text of a vector.
    Autoencoder,
    /// Any of these, depending on the parameters.
    Any,
}

impl Rewriter {
    /// What `--llm` must name, in words; `None` if the mechanism uses no model.
    #[must_use]
    pub fn describe(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Generator => Some("any rewriter, the one in the binary too"),
            Self::Sampler => Some("a language model, here or on a server"),
            Self::Masked => {
                Some("a masked language model run in this process, such as roberta-base")
            }
            Self::EncoderDecoder => Some(
                "an encoder-decoder run in this process, such as BART: the vectors between its halves are seen",
            ),
            Self::Autoencoder => {
                Some("an LSTM autoencoder run in this process: its latent is seen")
            }
            Self::LanguageModel => {
                Some("a language model run in this process: its logits are seen")
            }
            Self::Any => {
                Some("a language model, here or, if its parameters need no logits, on a server")
            }
        }
    }
}

/// Why a mechanism is in the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Published by its authors as a private rewriter.
    Published,
    /// Of known ε, or known to be broken: for testing audits.
    Control,
    /// A protocol of local differential privacy over categories, which encodes instead of rewriting: of known ε, for
    /// comparison with audits of tabular data.
    Protocol,
}

impl Kind {
    /// The kind's name as printed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Control => "control",
            Self::Protocol => "protocol",
        }
    }
}

/// A named set of parameter values.
pub type Preset = (&'static str, &'static [(&'static str, &'static str)]);

/// Builds an instance.
pub type Build = dyn Fn(&Context, f64, &Settings) -> Result<Box<dyn Mechanism>> + Sync;

/// A mechanism's entry in the registry.
pub struct Entry {
    /// Its paper's name, in kebab-case.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Paper and section, or where a control comes from.
    pub source: &'static str,
    /// Why it is here.
    pub kind: Kind,
    /// What one ε is spent on; `None` for a mechanism without ε.
    pub unit: Option<Unit>,
    /// The ε that are run by default; empty for a mechanism without ε.
    pub grid: &'static [f64],
    /// The parameters that `--set` can change.
    pub parameters: &'static [Parameter],
    /// The presets that `--preset` can choose.
    pub presets: &'static [Preset],
    /// The kind of model that it rewrites with.
    pub rewriter: Rewriter,
    /// Builds an instance at an ε that is positive and finite, or 0 for a mechanism without ε; called only by
    /// [`Entry::instance`], which checks this.
    pub build: &'static Build,
}

impl Entry {
    /// Defaults for published rewriters: one ε per text, no parameters.
    pub(crate) const PUBLISHED: Self = Self {
        name: "",
        summary: "",
        source: "",
        kind: Kind::Published,
        unit: Some(Unit::Text),
        grid: &[],
        parameters: &[],
        presets: &[],
        rewriter: Rewriter::Nothing,
        build: &|_, _, _| {
            Err(Error::usage(
                "a mechanism that does not say how it is built",
            ))
        },
    };

    /// Defaults for controls: no ε, no parameters.
    pub(crate) const CONTROL: Self = Self {
        kind: Kind::Control,
        unit: None,
        ..Self::PUBLISHED
    };

    /// Defaults for protocols: one ε per text, run where Arcolezi & Gambs audit them.
    pub(crate) const PROTOCOL: Self = Self {
        kind: Kind::Protocol,
        grid: &[0.5, 1.0, 2.0, 4.0],
        ..Self::PUBLISHED
    };

    /// The parameter values of `preset` (if any) overridden by `given`.
    ///
    /// # Errors
    /// Usage, for an unknown preset or parameter, or a value out of range.
    pub fn settings(&self, preset: Option<&str>, given: &[(String, String)]) -> Result<Settings> {
        let mut values = Vec::new();
        if let Some(name) = preset {
            let (_, preset) = self
                .presets
                .iter()
                .find(|(n, _)| *n == name)
                .ok_or_else(|| {
                    if self.presets.is_empty() {
                        return Error::usage(format!("'{}' has no presets", self.name));
                    }
                    let known: Vec<&str> = self.presets.iter().map(|(n, _)| *n).collect();
                    Error::unknown(&format!("preset of '{}'", self.name), name, &known)
                })?;
            values.extend(
                preset
                    .iter()
                    .map(|(n, v)| ((*n).to_owned(), (*v).to_owned())),
            );
        }
        values.extend_from_slice(given);
        Settings::resolve(self.name, self.parameters, &values)
    }

    /// An instance at `epsilon` (`None` for a mechanism without ε).
    ///
    /// # Errors
    /// Usage, if ε is missing, superfluous, not positive or not finite; or any error from the mechanism's own
    /// construction.
    pub fn instance(
        &self,
        context: &Context,
        epsilon: Option<f64>,
        settings: &Settings,
    ) -> Result<Box<dyn Mechanism>> {
        let epsilon = match (self.unit, epsilon) {
            (Some(_), Some(epsilon)) if epsilon > 0.0 && epsilon.is_finite() => epsilon,
            (Some(_), Some(epsilon)) => {
                return Err(Error::usage(format!(
                    "epsilon = {epsilon} for '{}': it must be a positive, finite number",
                    self.name
                )));
            }
            (Some(_), None) => {
                return Err(Error::usage(format!("'{}' needs an epsilon", self.name)));
            }
            (None, None) => 0.0,
            (None, Some(epsilon)) => {
                return Err(Error::usage(format!(
                    "'{}' has no epsilon to set to {epsilon}",
                    self.name
                )));
            }
        };
        (self.build)(context, epsilon, settings)
    }
}
