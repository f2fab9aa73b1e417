//! The models that an audit names.

use teda_mechanisms::Rewriter;
use teda_models::Precision;

/// The models that an audit names, and what they are for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The sentence encoder.
    pub encoder: String,
    /// The rewriter.
    pub llm: String,
    /// The language model whose perplexity ranks texts.
    pub scorer: String,
    /// The judge.
    pub judge: String,
    /// The mechanisms that rewrite with a model, and the kind of model each needs.
    pub rewriters: Vec<(String, Rewriter)>,
    /// The model that rewrites every release again, if one does.
    pub then: Option<String>,
    /// Whether an attack judges with a language model.
    pub judges: bool,
    /// Whether the perplexity of releases is asked for.
    pub scores: bool,
    /// What the models' linear layers multiply.
    pub precision: Precision,
}
