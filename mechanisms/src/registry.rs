//! The mechanisms by name. Adding one takes one file and one line: its name in the list of its family's `mod.rs`.

use teda_core::{Error, Result};

use crate::entry::Entry;
use crate::{
    adept, controls, dp_bart, dp_gtr, dp_mlm, dp_prompt, dp_st, ldp, privrewrite, safedp, tokens,
};

/// Declares a family's mechanisms, one module each, and lists their entries in the same order.
macro_rules! mechanisms {
    ($($name:ident,)*) => {
        $(pub mod $name;)*

        /// The family's mechanisms, in the order of listing.
        pub const ENTRIES: &[&crate::Entry] = &[$(&$name::ENTRY),*];
    };
}
pub(crate) use mechanisms;

/// The families, in the order of listing.
const FAMILIES: &[&[&Entry]] = &[
    privrewrite::ENTRIES,
    safedp::ENTRIES,
    dp_prompt::ENTRIES,
    dp_mlm::ENTRIES,
    dp_bart::ENTRIES,
    adept::ENTRIES,
    dp_st::ENTRIES,
    dp_gtr::ENTRIES,
    tokens::ENTRIES,
    controls::ENTRIES,
    ldp::ENTRIES,
];

/// Every mechanism, in the order of listing.
pub const ALL: &[&Entry] = &joined::<{ size(FAMILIES) }>(FAMILIES);

/// How many mechanisms these families have.
pub(crate) const fn size(families: &[&[&Entry]]) -> usize {
    let (mut size, mut family) = (0, 0);
    while family < families.len() {
        size += families[family].len();
        family += 1;
    }
    size
}

/// The mechanisms of these families, one family after the other. Iterators cannot be used in constants yet.
pub(crate) const fn joined<const N: usize>(families: &[&[&'static Entry]]) -> [&'static Entry; N] {
    let mut all = [families[0][0]; N];
    let (mut filled, mut family) = (0, 0);
    while family < families.len() {
        let mut place = 0;
        while place < families[family].len() {
            all[filled] = families[family][place];
            filled += 1;
            place += 1;
        }
        family += 1;
    }
    all
}

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
            Error::unknown("mechanism", name, &known)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::toy;

    #[test]
    fn names_are_unique_and_every_grid_builds() {
        let context = toy::context();
        for entry in ALL {
            let namesakes = ALL.iter().filter(|other| other.name == entry.name).count();
            assert_eq!(namesakes, 1, "{}", entry.name);
            for text in [entry.name, entry.summary, entry.source] {
                assert!(!text.is_empty(), "'{}' does not say what it is", entry.name);
            }
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
