//! Reports of one bit per category, each tossed independently.
//!
//! # Definition
//! For category x of K: bit x is 1 with probability p, every other bit with probability q < p, all
//! independent. Released as K characters `0` and `1`.
//!
//! # Guarantee
//! The reports of x and y differ only in the distribution of bits x and y, so that the greatest ratio of
//! probabilities, reached when one of them is 1 and the other 0, is p(1−q) / (q(1−p)).
//!
//! # Source
//! Wang et al. (USENIX Security 2017), Section 4.2.

use teda_core::Stream;

use super::protocol::Protocol;
use crate::noise::coin::Coin;

/// Unary encoding with two coins.
pub struct Unary {
    size: usize,
    /// The bit of the client's own category: 1 with probability p.
    own: Coin,
    /// Every other bit: 1 with probability q.
    other: Coin,
}

impl Unary {
    /// For `size` categories.
    pub fn new(size: usize, own: Coin, other: Coin) -> Self {
        Self { size, own, other }
    }

    /// The coin of a position.
    fn coin(&self, category: usize, position: usize) -> &Coin {
        if position == category {
            &self.own
        } else {
            &self.other
        }
    }

    /// ln of the greatest ratio of probabilities between two categories.
    #[cfg(test)]
    pub fn loss(&self) -> f64 {
        self.own.ln(true) + self.other.ln(false) - self.other.ln(true) - self.own.ln(false)
    }
}

impl Protocol for Unary {
    fn report(&self, category: usize, stream: &mut Stream) -> String {
        (0..self.size)
            .map(
                |position| match self.coin(category, position).toss(stream) {
                    true => '1',
                    false => '0',
                },
            )
            .collect()
    }

    /// From counts, so that categories with equal bits are equally likely to the last digit.
    fn log_likelihood(&self, report: &str, category: usize) -> f64 {
        let bits = report.as_bytes();
        let ones = bits.iter().filter(|bit| **bit == b'1').count();
        let zeros = bits.iter().filter(|bit| **bit == b'0').count();
        if bits.len() != self.size || ones + zeros != self.size {
            return f64::NEG_INFINITY;
        }
        let own = bits[category] == b'1';
        let (ones, zeros) = (ones - usize::from(own), zeros - usize::from(!own));
        let others = ones as f64 * self.other.ln(true) + zeros as f64 * self.other.ln(false);
        self.own.ln(own) + others
    }
}

#[cfg(test)]
pub mod tests {
    use std::collections::BTreeMap;

    use teda_core::Seed;

    use super::*;
    use crate::testing::statistics;

    /// Asserts that the encoding of three categories tosses bits with probabilities p and q, that its likelihoods are
    /// the product of theirs, and that it samples from them.
    pub fn assert_bits(build: impl Fn(usize) -> Unary, p: f64, q: f64, what: &str) {
        let unary = build(3);
        for category in 0..3 {
            let exact: BTreeMap<String, f64> = (0..8)
                .map(|number: u32| {
                    let report = format!("{number:03b}");
                    let bit = |(position, bit)| {
                        let one = if position == category { p } else { q };
                        if bit == '1' { one } else { 1.0 - one }
                    };
                    let product = report.chars().enumerate().map(bit).product();
                    (report, product)
                })
                .collect();
            for (report, probability) in &exact {
                let stated = unary.log_likelihood(report, category).exp();
                assert!(
                    (stated - probability).abs() < 1e-14,
                    "{what}, {report} of {category}: {stated}, not {probability}"
                );
            }
            let mut counts = BTreeMap::new();
            let mut stream = Seed::root(23).named(what).at(category as u64).stream();
            for _ in 0..20_000 {
                *counts
                    .entry(unary.report(category, &mut stream))
                    .or_insert(0.0) += 1.0;
            }
            statistics::assert_sampled(&counts, &exact, what);
            let [tied, other] = [0, 2].map(|c| unary.log_likelihood("101", c));
            assert_eq!(tied, other, "{what}");
        }
    }
}
