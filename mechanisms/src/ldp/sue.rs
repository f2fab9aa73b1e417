//! `sue`: symmetric unary encoding, the basic one-time RAPPOR.
//!
//! # Definition
//! One bit per category ([`Unary`]): the client's own bit is 1 with probability p = e^{ε/2} / (e^{ε/2} + 1), each
//! other bit with probability q = 1 − p.
//!
//! # Guarantee
//! ε-LDP between any two texts of the domain, and tight: p/q = (1−q)/(1−p) = e^{ε/2}, so the
//! greatest ratio p(1−q) / (q(1−p)) is e^ε. Proven.
//!
//! # Source
//! Erlingsson, Pihur & Korolova, *RAPPOR* (CCS 2014), basic one-time RAPPOR; under this name, Wang et al. (USENIX
//! Security 2017), Section 4.2.
//!
//! # Deviations
//! Bits are tossed to 2⁻³² of the rarer side's probability ([`Coin`]).

use super::protocol::Local;
use super::unary::Unary;
use crate::entry::Entry;
use crate::noise::coin::Coin;

pub const ENTRY: Entry = Entry {
    name: "sue",
    summary: "symmetric unary encoding (basic RAPPOR) over the data set's texts",
    source: "Erlingsson, Pihur & Korolova (CCS 2014)",
    build: &|context, epsilon, _| {
        let claim = (epsilon, 0.0);
        Ok(Box::new(Local::new(context, "'sue'", claim, |size| {
            encoding(epsilon, size)
        })?))
    },
    ..Entry::PROTOCOL
};

fn encoding(epsilon: f64, size: usize) -> Unary {
    let odds = epsilon / 2.0;
    Unary::new(size, Coin::against(false, odds), Coin::against(true, odds))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ldp::unary::tests::assert_bits;

    #[test]
    fn bits_have_the_papers_probabilities() {
        for epsilon in [0.5, 2.0, 4.0] {
            let e = f64::exp(epsilon / 2.0);
            let p = e / (e + 1.0);
            assert_bits(|size| encoding(epsilon, size), p, 1.0 - p, "sue");
        }
    }

    proptest! {
        #[test]
        fn the_loss_is_epsilon(epsilon in 1e-3_f64..3000.0) {
            prop_assert!((encoding(epsilon, 2).loss() - epsilon).abs() <= 1e-12 * (1.0 + epsilon));
        }
    }
}
