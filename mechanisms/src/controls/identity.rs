//! `identity`: releases the text unchanged. Every attack should reach its ceiling.
//!
//! # Definition
//! M(x) = x.
//!
//! # Guarantee
//! None, and it claims none.
//!
//! # Source
//! A control: the least private mechanism.

use teda_core::{Answer, Guarantee, Likelihood, Mechanism, Query, Release, Result};

use crate::entry::Entry;

pub const ENTRY: Entry = Entry {
    name: "identity",
    summary: "releases the text unchanged: no privacy at all",
    source: "control",
    build: &|_, _, _| Ok(Box::new(Identity)),
    ..Entry::CONTROL
};

struct Identity;

impl Mechanism for Identity {
    fn guarantee(&self) -> Option<Guarantee> {
        None
    }

    fn likelihood(&self) -> Option<&dyn Likelihood> {
        Some(self)
    }

    fn rewrite(&self, batch: &[Query<'_>]) -> Result<Vec<Release>> {
        Ok(batch.iter().map(|query| Release::of(query.text)).collect())
    }
}

impl Likelihood for Identity {
    fn log_likelihood(&self, pairs: &[(&str, &str)]) -> Result<Vec<Answer<f64>>> {
        Ok(pairs
            .iter()
            .map(|(release, text)| Ok(certain(release == text)))
            .collect())
    }
}

/// ln of 1 or of 0.
pub fn certain(happens: bool) -> f64 {
    if happens { 0.0 } else { f64::NEG_INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_text_itself_can_be_released() {
        let found = Identity.log_likelihood(&[("a", "a"), ("b", "a")]).unwrap();
        assert_eq!(found, [Ok(0.0), Ok(f64::NEG_INFINITY)]);
    }
}
