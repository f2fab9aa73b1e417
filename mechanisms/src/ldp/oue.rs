//! `oue`: optimal unary encoding.
//!
//! # Definition
//! One bit per category ([`Unary`]): the client's own bit is 1 with probability p = ½, each other bit with probability
//! q = 1 / (e^ε + 1).
//!
//! # Guarantee
//! ε-LDP between any two texts of the domain, and tight: p = 1−p and (1−q)/q = e^ε, so the greatest
//! ratio p(1−q) / (q(1−p)) is e^ε. Proven.
//!
//! # Source
//! Wang et al. (USENIX Security 2017), Section 4.2: the p and q with the least variance.
//!
//! # Deviations
//! Bits are tossed to 2⁻³² of the rarer side's probability ([`Coin`]).

use super::protocol::Local;
use super::unary::Unary;
use crate::entry::Entry;
use crate::noise::coin::Coin;

pub const ENTRY: Entry = Entry {
    name: "oue",
    summary: "optimal unary encoding over the data set's texts",
    source: "Wang et al. (USENIX Security 2017), Section 4.2",
    build: &|context, epsilon, _| {
        let claim = (epsilon, 0.0);
        Ok(Box::new(Local::new(context, "'oue'", claim, |size| {
            encoding(epsilon, size)
        })?))
    },
    ..Entry::PROTOCOL
};

fn encoding(epsilon: f64, size: usize) -> Unary {
    Unary::new(size, Coin::against(true, 0.0), Coin::against(true, epsilon))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ldp::unary::tests::assert_bits;

    #[test]
    fn bits_have_the_papers_probabilities() {
        for epsilon in [0.5, 2.0, 4.0] {
            let q = 1.0 / (f64::exp(epsilon) + 1.0);
            assert_bits(|size| encoding(epsilon, size), 0.5, q, "oue");
        }
    }

    proptest! {
        #[test]
        fn the_loss_is_epsilon(epsilon in 1e-3_f64..3000.0) {
            prop_assert!((encoding(epsilon, 2).loss() - epsilon).abs() <= 1e-12 * (1.0 + epsilon));
        }
    }
}
