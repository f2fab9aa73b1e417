//! `krr-half-noise`: randomised response that claims half the ε it uses. Known to be broken.
//!
//! # Definition
//! `krr` at 2ε.
//!
//! # Guarantee
//! It **claims** ε and has 2ε: the defect of noise scaled by half its sensitivity. An audit with
//! enough trials must call it a violation.
//!
//! # Source
//! A planted defect; insufficient noise is the most common bug that audits of published code find.

use teda_core::Basis;

use super::krr::{self, RandomisedResponse};
use crate::entry::Entry;

pub const ENTRY: Entry = Entry {
    name: "krr-half-noise",
    summary: "BROKEN on purpose: randomised response at twice the epsilon it claims",
    source: "planted defect: noise scaled by half the sensitivity",
    build: &|context, epsilon, _| {
        Ok(Box::new(RandomisedResponse::new(
            context,
            2.0 * epsilon,
            epsilon,
            Basis::Claimed,
        )?))
    },
    ..krr::ENTRY
};
