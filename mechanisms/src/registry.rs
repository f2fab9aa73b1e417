//! The mechanisms by name. Adding one is one file and one line in [`ALL`].

use std::sync::Arc;

use teda_core::{
    Encoder, Error, LanguageModel, Mechanism, Parameter, Result, Settings, TextGenerator, TokenMap,
    Unit,
};

use crate::memory::Memory;
use crate::{
    constant, dp_gtr, dp_prompt, dp_prompt_black_box, dp_prompt_topk, dp_prompt_unclipped, em,
    em_half_noise, gaussian, grr, identity, krr, krr_half_noise, laplace, olh, oue, privrewrite,
    privrewrite_cosine, privrewrite_naive, safedp_rewrite, safedp_rewrite_ns, she, sue, the,
    word_perturb,
};

/// What mechanisms are built from.
#[derive(Clone)]
pub struct Context {
    /// The distinct texts of the data set.
    pub texts: Arc<[String]>,
    /// The public vocabulary and its embedding.
    pub tokens: Arc<dyn TokenMap>,
    /// The public sentence encoder.
    pub encoder: Arc<dyn Encoder>,
    /// The black-box rewriter; present where [`Entry::rewriter`] asks for one.
    pub generator: Option<Arc<dyn TextGenerator>>,
    /// The black-box language model, whose temperature counts; present where [`Entry::rewriter`] asks
    /// for one.
    pub sampler: Option<Arc<dyn TextGenerator>>,
    /// The language model; present where [`Entry::rewriter`] asks for one.
    pub language_model: Option<Arc<dyn LanguageModel>>,
    /// What their tables may take, all together.
    pub memory: Memory,
}

/// What a mechanism rewrites with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rewriter {
    /// Itself.
    Nothing,
    /// Any black-box rewriter.
    Generator,
    /// A black-box language model, whose temperature counts.
    Sampler,
    /// A language model that shows its logits.
    LanguageModel,
    /// Any of these, as the parameters say.
    Any,
}

impl Rewriter {
    /// What `--llm` must name, in words; `None` where nothing is rewritten with.
    #[must_use]
    pub fn describe(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Generator => Some("any rewriter, the one in the binary too"),
            Self::Sampler => Some("a language model, here or on a server"),
            Self::LanguageModel | Self::Any => {
                Some("a language model run in this process: its logits are seen")
            }
        }
    }
}

/// What a mechanism is in the registry for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Published by its authors as a private rewriter.
    Published,
    /// Of known ε, or known to be broken: what audits are tested on.
    Control,
    /// A protocol of local differential privacy over categories, which does not rewrite but encodes: of
    /// known ε, for comparison with audits of tabular data.
    Protocol,
    /// Not of the registry: a user's own.
    Outside,
}

impl Kind {
    /// The kind's name as printed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Published => "published",
            Self::Control => "control",
            Self::Protocol => "protocol",
            Self::Outside => "outside",
        }
    }
}

/// A named set of parameter values.
pub type Preset = (&'static str, &'static [(&'static str, &'static str)]);

/// Builds an instance.
pub type Build = dyn Fn(&Context, f64, &Settings) -> Result<Box<dyn Mechanism>> + Sync;

/// A mechanism's line in the registry.
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
    /// The ε that are run when none are asked for; empty for a mechanism without ε.
    pub grid: &'static [f64],
    /// What `--set` can change.
    pub parameters: &'static [Parameter],
    /// What `--preset` can choose.
    pub presets: &'static [Preset],
    /// What it rewrites with.
    pub rewriter: Rewriter,
    /// Builds an instance at an ε that is positive and finite, or 0 for a mechanism without one;
    /// called by [`Entry::instance`] alone, which checks it.
    pub build: &'static Build,
}

/// Every mechanism, in the order in which they are listed.
pub const ALL: &[&Entry] = &[
    &privrewrite::ENTRY,
    &privrewrite_naive::ENTRY,
    &safedp_rewrite::ENTRY,
    &safedp_rewrite_ns::ENTRY,
    &dp_prompt::ENTRY,
    &dp_prompt_black_box::ENTRY,
    &dp_gtr::ENTRY,
    &em::ENTRY,
    &word_perturb::ENTRY,
    &krr::ENTRY,
    &krr_half_noise::ENTRY,
    &em_half_noise::ENTRY,
    &privrewrite_cosine::ENTRY,
    &dp_prompt_topk::ENTRY,
    &dp_prompt_unclipped::ENTRY,
    &identity::ENTRY,
    &constant::ENTRY,
    &grr::ENTRY,
    &sue::ENTRY,
    &oue::ENTRY,
    &she::ENTRY,
    &the::ENTRY,
    &olh::ENTRY,
    &laplace::ENTRY,
    &gaussian::ENTRY,
];

/// The entry called `name`.
///
/// # Errors
/// Usage, listing the known names.
pub fn entry(name: &str) -> Result<&'static Entry> {
    ALL.iter()
        .copied()
        .find(|entry| entry.name == name)
        .ok_or_else(|| {
            let known: Vec<&str> = ALL.iter().map(|entry| entry.name).collect();
            Error::unknown("mechanism", name, &known)
        })
}

impl Entry {
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
    /// Usage, if ε is missing, superfluous, not positive or not finite; or what the mechanism's own
    /// construction says.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy;

    #[test]
    fn names_are_unique_and_every_grid_builds() {
        let context = toy::context();
        for entry in ALL {
            let namesakes = ALL.iter().filter(|other| other.name == entry.name).count();
            assert_eq!(namesakes, 1, "{}", entry.name);
            assert_eq!(
                entry.unit.is_some(),
                !entry.grid.is_empty(),
                "{}",
                entry.name
            );
            let settings = entry.settings(None, &[]).unwrap();
            let grid: Vec<Option<f64>> = match entry.unit {
                Some(_) => entry.grid.iter().copied().map(Some).collect(),
                None => vec![None],
            };
            for epsilon in grid {
                let mechanism = entry.instance(&context, epsilon, &settings).unwrap();
                if let (Some(claim), Some(epsilon)) = (mechanism.guarantee(), epsilon) {
                    assert_eq!(claim.epsilon, epsilon, "{}", entry.name);
                }
            }
            for (preset, _) in entry.presets {
                entry.settings(Some(preset), &[]).unwrap();
            }
        }
    }

    #[test]
    fn an_epsilon_that_is_none_is_refused() {
        let context = toy::context();
        for entry in ALL {
            let settings = entry.settings(None, &[]).unwrap();
            for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
                let refused = entry.instance(&context, Some(bad), &settings);
                assert!(
                    matches!(refused.err(), Some(Error::Usage(_))),
                    "{} at {bad}",
                    entry.name
                );
            }
        }
    }
}
