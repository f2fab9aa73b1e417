//! `em-half-noise`: the token-wise exponential mechanism at twice the ε that it claims. Known to be broken.
//!
//! # Definition
//! Pr[t | x] ∝ exp(ε·u(t; x)) instead of exp((ε/2)·u(t; x)): `em` with twice the scale of the utility, which is `em`
//! at 2ε.
//!
//! # Guarantee
//! It **claims** ε under one-token adjacency. The factor ½ pays for the normaliser, which also moves with the input;
//! without it the loss reaches up to 2ε. Its sound twin is `em`.
//!
//! # Source
//! A planted defect: the exponential mechanism without its factor 2 in the denominator.

use teda_core::Basis;

use crate::entry::{Entry, Kind};
use crate::tokens::em::{self, Em};
use crate::tokens::sanitiser::{Rule, Sanitiser};

pub const ENTRY: Entry = Entry {
    name: "em-half-noise",
    summary: "BROKEN on purpose: em with twice the utility's scale that it accounts for",
    source: "planted defect: exponential mechanism without the factor 2 of its denominator",
    kind: Kind::Control,
    parameters: &[],
    presets: &[],
    build: &|context, epsilon, _| {
        let sanitiser = Sanitiser::new(context, 2.0 * epsilon, Rule::PRINTED);
        Ok(Box::new(Em::new(
            context,
            sanitiser,
            epsilon,
            Basis::Claimed,
        )))
    },
    ..em::ENTRY
};

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use teda_core::TokenMap;

    use super::*;
    use crate::testing::{statistics, toy};

    #[test]
    fn it_claims_half_of_the_epsilon_that_its_releases_show() {
        let toy = toy::tokens();
        let settings = ENTRY.settings(None, &[]).unwrap();
        let mechanism = ENTRY
            .instance(&toy::context(), Some(1.0), &settings)
            .unwrap();
        assert_eq!(mechanism.guarantee().unwrap().epsilon, 1.0);
        let weight = |t: u32| {
            let cosine = toy.vectors().row(t as usize).dot(&toy.vectors().row(3));
            f64::from(cosine).clamp(0.0, 1.0).exp()
        };
        let total: f64 = (0..toy::UNKNOWN).map(weight).sum();
        let exact: BTreeMap<String, f64> = (0..toy::UNKNOWN)
            .map(|t| (format!("t{t}"), weight(t) / total))
            .collect();
        let counts = statistics::releases(&*mechanism, "t3", 40_000);
        statistics::assert_sampled(&counts, &exact, "em-half-noise");
    }
}
