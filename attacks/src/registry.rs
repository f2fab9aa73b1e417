//! The attacks by name. Adding one takes one file and one line in [`ALL`].

use teda_core::{Error, Result};

use crate::entry::Entry;
use crate::{
    embedding, internal_embedding, learned, length, likelihood_ratio, llm, overlap, random,
    reconstruct,
};

/// Every attack, in the order of listing.
pub const ALL: &[&Entry] = &[
    &embedding::ENTRY,
    &length::ENTRY,
    &overlap::ENTRY,
    &learned::ENTRY,
    &llm::ENTRY,
    &reconstruct::ENTRY,
    &likelihood_ratio::ENTRY,
    &internal_embedding::ENTRY,
    &random::ENTRY,
];

/// The entry with this name.
///
/// # Errors
/// Usage, listing the known names.
pub fn entry(name: &str) -> Result<&'static Entry> {
    ALL.iter()
        .copied()
        .find(|entry| entry.name == name)
        .ok_or_else(|| {
            let known: Vec<&str> = ALL.iter().map(|entry| entry.name).collect();
            Error::unknown("attack", name, &known)
        })
}
