//! The rewriting mechanisms that can be audited, one file each, and the registry that names them.
//!
//! Privacy-critical lines (utility, sensitivity, noise, split of the budget) stand in the
//! mechanism's own file with their derivation beside them. [`Exec`] runs a mechanism from outside.

mod analytic_gaussian;
mod answer;
mod categories;
mod coin;
mod constant;
mod dp_gtr;
mod dp_prompt;
mod dp_prompt_black_box;
mod dp_prompt_topk;
mod dp_prompt_unclipped;
mod em;
mod em_half_noise;
mod exec;
mod gaussian;
mod grr;
mod histogram;
mod identity;
mod inversions;
mod joint_exponential;
mod keywords;
mod krr;
mod krr_half_noise;
mod laplace;
mod lattice;
mod masking;
mod memory;
mod nearest;
mod noise;
mod normal;
mod olh;
mod oue;
mod privrewrite;
mod privrewrite_cosine;
mod privrewrite_naive;
mod protocol;
pub mod registry;
mod safedp;
mod safedp_rewrite;
mod safedp_rewrite_ns;
mod she;
mod similarity;
mod spelling;
#[cfg(test)]
mod statistics;
mod stopwords;
mod sue;
mod the;
mod token_exponential;
mod token_wise;
#[cfg(test)]
mod toy;
mod unary;
mod word_perturb;

pub use exec::{Exec, Options as ExecOptions};
pub use memory::Memory;
pub use registry::{Context, Entry, Kind, Rewriter};
