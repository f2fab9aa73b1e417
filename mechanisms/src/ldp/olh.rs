//! `olh`: optimal local hashing.
//!
//! # Definition
//! With g = ⌊e^ε⌋ + 1: draw a hash h uniformly from a universal family of functions to 0 … g−1, report h and a
//! generalised randomised response over g values for the hashed category h(x): h(x) with probability p = e^ε / (e^ε +
//! g − 1), each other value with probability 1 / (e^ε + g − 1). The family is Carter and Wegman's, h(x) = ((a·x + b)
//! mod P) mod g with P = 2⁶¹ − 1, 1 ≤ a < P and 0 ≤ b < P. The release is `a,b value`.
//!
//! # Guarantee
//! ε-LDP between any two texts of the domain, whatever the hash: it does not depend on the category, and given the
//! hash the probabilities of a value differ by at most a factor of e^ε. Tight, as two categories have different hashes
//! under some h. Proven.
//!
//! # Source
//! Wang et al. (USENIX Security 2017), Section 4.4; Carter & Wegman (1979) for the family.
//!
//! # Deviations
//! The paper leaves e^ε + 1 unrounded and does not specify the family. g is at most 2³², which only matters above ε =
//! 22: the guarantee holds for any g. The response is tossed to a relative precision of 2⁻³² of its rarer side
//! ([`Coin`]).

use teda_core::Stream;

use super::protocol::{Local, Protocol};
use crate::entry::Entry;
use crate::noise::coin::Coin;

pub const ENTRY: Entry = Entry {
    name: "olh",
    summary: "optimal local hashing: a public random hash and a response over its values",
    source: "Wang et al. (USENIX Security 2017), Section 4.4",
    build: &|context, epsilon, _| {
        let claim = (epsilon, 0.0);
        Ok(Box::new(Local::new(context, "'olh'", claim, |_| {
            LocalHashing::new(epsilon)
        })?))
    },
    ..Entry::PROTOCOL
};

/// P, a prime above every number of categories.
const PRIME: u64 = (1 << 61) - 1;

/// The greatest g.
const MOST_VALUES: f64 = (1_u64 << 32) as f64;

/// A hash of the family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hash {
    a: u64,
    b: u64,
}

impl Hash {
    /// Uniform over the family.
    fn draw(stream: &mut Stream) -> Self {
        Self {
            a: 1 + stream.below(PRIME as usize - 1) as u64,
            b: stream.below(PRIME as usize) as u64,
        }
    }

    fn of(self, category: usize, values: usize) -> usize {
        let line = u128::from(self.a) * category as u128 + u128::from(self.b);
        (line % u128::from(PRIME)) as usize % values
    }

    /// Parses `a,b`, if it is in the family.
    fn read(text: &str) -> Option<Self> {
        let (a, b) = text.split_once(',')?;
        let (a, b) = (a.parse().ok()?, b.parse().ok()?);
        ((1..PRIME).contains(&a) && b < PRIME).then_some(Self { a, b })
    }

    /// ln of the probability of each hash of the family.
    fn ln_probability() -> f64 {
        -((PRIME - 1) as f64).ln() - (PRIME as f64).ln()
    }
}

/// Local hashing at one ε.
struct LocalHashing {
    /// g.
    values: usize,
    /// True with the probability of a value other than the hashed one.
    other: Coin,
}

impl LocalHashing {
    fn new(epsilon: f64) -> Self {
        let values = (epsilon.exp().floor() + 1.0).min(MOST_VALUES);
        // The odds of another value are (g−1)/e^ε to 1: at most 1, as g − 1 ≤ e^ε.
        let odds = epsilon - (values - 1.0).ln();
        Self {
            values: values as usize,
            other: Coin::against(true, odds.max(0.0)),
        }
    }

    fn respond(&self, hashed: usize, stream: &mut Stream) -> usize {
        if !self.other.toss(stream) {
            return hashed;
        }
        let other = stream.below(self.values - 1);
        if other >= hashed { other + 1 } else { other }
    }

    /// The hash and the value of a report.
    fn read(&self, report: &str) -> Option<(Hash, usize)> {
        let (hash, value) = report.split_once(' ')?;
        let (hash, value) = (Hash::read(hash)?, value.parse().ok()?);
        (value < self.values).then_some((hash, value))
    }
}

impl Protocol for LocalHashing {
    fn report(&self, category: usize, stream: &mut Stream) -> String {
        let hash = Hash::draw(stream);
        let value = self.respond(hash.of(category, self.values), stream);
        format!("{},{} {value}", hash.a, hash.b)
    }

    fn log_likelihood(&self, report: &str, category: usize) -> f64 {
        let Some((hash, value)) = self.read(report) else {
            return f64::NEG_INFINITY;
        };
        let response = if value == hash.of(category, self.values) {
            self.other.ln(false)
        } else {
            self.other.ln(true) - ((self.values - 1) as f64).ln()
        };
        Hash::ln_probability() + response
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use teda_core::Seed;

    use super::*;
    use crate::testing::statistics;

    #[test]
    fn values_follow_the_response_given_the_hash() {
        for epsilon in [0.5_f64, 1.0, 2.0] {
            let olh = LocalHashing::new(epsilon);
            let g = epsilon.exp().floor() as usize + 1;
            assert_eq!(olh.values, g);
            let own = epsilon.exp() / (epsilon.exp() + g as f64 - 1.0);
            let exact: BTreeMap<usize, f64> = (0..g)
                .map(|shift| (shift, if shift == 0 { own } else { own / epsilon.exp() }))
                .collect();
            let mut counts = BTreeMap::new();
            let mut stream = Seed::root(26).stream();
            for _ in 0..40_000 {
                let (hash, value) = olh.read(&olh.report(5, &mut stream)).unwrap();
                let shift = (value + g - hash.of(5, g)) % g;
                *counts.entry(shift).or_insert(0.0) += 1.0;
            }
            statistics::assert_sampled(&counts, &exact, "olh");
        }
    }

    /// Given a hash, the likelihoods over its values are the response's probabilities.
    #[test]
    fn likelihoods_add_to_the_probability_of_the_hash() {
        for epsilon in [0.5, 1.0, 4.0] {
            let olh = LocalHashing::new(epsilon);
            for category in [0, 1, 999_999] {
                let log = |value| olh.log_likelihood(&format!("12345,678 {value}"), category);
                let sum: f64 = (0..olh.values)
                    .map(|value| (log(value) - Hash::ln_probability()).exp())
                    .sum();
                assert!((sum - 1.0).abs() < 1e-12, "{sum}");
                assert_eq!(log(olh.values), f64::NEG_INFINITY);
            }
        }
    }

    /// For a pair of categories all pairs of values are equally likely: that is stronger than universal.
    #[test]
    fn pairs_of_hashed_categories_are_uniform() {
        let g = 3;
        for (x, y) in [(0, 1), (1, 2), (4, 1_000_000)] {
            let mut stream = Seed::root(27).at(x as u64).stream();
            let mut counts = BTreeMap::new();
            for _ in 0..40_000 {
                let hash = Hash::draw(&mut stream);
                *counts.entry((hash.of(x, g), hash.of(y, g))).or_insert(0.0) += 1.0;
            }
            let pairs = (0..g).flat_map(|u| (0..g).map(move |v| ((u, v), 1.0 / 9.0)));
            statistics::assert_sampled(&counts, &pairs.collect(), "pairs of hashes");
        }
    }

    proptest! {
        #[test]
        fn two_values_differ_by_epsilon(epsilon in 1e-3_f64..3000.0) {
            let olh = LocalHashing::new(epsilon);
            let hash = Hash { a: 7, b: 9 };
            let own = hash.of(3, olh.values);
            let other = (own + 1) % olh.values;
            let log = |value| olh.log_likelihood(&format!("7,9 {value}"), 3);
            prop_assert!((log(own) - log(other) - epsilon).abs() <= 1e-10 * (1.0 + epsilon));
        }
    }
}
