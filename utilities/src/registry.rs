//! The utilities by name. Adding one takes one file and one line in [`ALL`].

use teda_core::{Error, Result};

use crate::entry::Entry;
use crate::{bertscore, bleu, copied, cosine, length, perplexity, rouge};

/// Every utility, in the order of listing.
pub const ALL: &[&Entry] = &[
    &cosine::ENTRY,
    &bertscore::ENTRY,
    &rouge::ROUGE_1,
    &rouge::ROUGE_L,
    &bleu::ENTRY,
    &perplexity::ENTRY,
    &length::ENTRY,
    &copied::ENTRY,
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
            Error::unknown("utility", name, &known)
        })
}

/// The utilities with these names, each once; `all` for every one.
///
/// # Errors
/// Those of [`entry`].
pub fn entries(names: &[String]) -> Result<Vec<&'static Entry>> {
    let mut entries: Vec<&'static Entry> = Vec::new();
    for name in names {
        let more = match &name[..] {
            "all" => ALL.to_vec(),
            name => vec![entry(name)?],
        };
        let is_new = |entry: &&&Entry| !entries.iter().any(|known| known.name == entry.name);
        let more: Vec<&Entry> = more.iter().filter(is_new).copied().collect();
        entries.extend(more);
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_and_taken_once() {
        let given = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            entries(&names).map(|entries| entries.iter().map(|e| e.name).collect::<Vec<_>>())
        };
        assert_eq!(
            given(&["bleu", "cosine", "bleu"]).unwrap(),
            ["bleu", "cosine"]
        );
        assert_eq!(given(&["length", "all"]).unwrap().len(), ALL.len());
        let refused = given(&["rouge"]).unwrap_err().to_string();
        assert!(
            refused.contains("'rouge'") && refused.contains("rouge1"),
            "{refused}"
        );
    }
}
