//! What a release is still good for: measures of a release beside the text that it was made of, one file each, and
//! their registry.

mod bertscore;
mod bleu;
mod copied;
mod cosine;
mod entry;
mod length;
mod perplexity;
pub mod registry;
mod rouge;
#[cfg(test)]
mod testing;
mod words;

pub use entry::{Build, Context, Corpus, Entry, Needs, Pair, Utility};
