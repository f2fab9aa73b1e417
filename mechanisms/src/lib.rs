//! The rewriting mechanisms that can be audited, one file each, and the registry that names them.
//!
//! Each family has a folder. Privacy-critical lines (utility, sensitivity, noise, split of the budget) are in the
//! mechanism's own file, next to their derivation; what families share is in `noise` and `text`. [`Exec`] runs an
//! external mechanism.

mod adept;
mod by_text;
mod controls;
mod dp_bart;
mod dp_gtr;
mod dp_mlm;
mod dp_prompt;
mod dp_st;
mod entry;
mod exec;
mod ldp;
mod memory;
mod noise;
mod privrewrite;
pub mod registry;
mod safedp;
#[cfg(test)]
mod testing;
mod text;
mod then;
mod tokens;
mod view;

pub use dp_bart::dp_bart::noise_of as dp_bart_noise;
pub use dp_mlm::gaps;
pub use dp_st::{Triple, triples};
pub use entry::{Build, Context, Entry, Kind, Preset, Rewriter};
pub use exec::{Children, Exec, Options as ExecOptions, number as seed_number};
pub use memory::Memory;
pub use noise::additive::NOISES;
pub use then::Then;
