//! Coin tosses whose rarer side is exact, however rare it is.
//!
//! # Definition
//! A side of probability r ≤ ½ comes up if a uniform number is below r. The number has 53 random bits; if it is small
//! it gets further bits, so that it always resolves r to a relative 2⁻³². A number with only 53 bits would give a side
//! of probability 10⁻²⁰ the probability 2⁻⁵³, or never show it: between two inputs that is an infinite loss.
//!
//! # Source
//! The pitfall: Mironov (2012), *On significance of the least significant bits for differential privacy*.

use teda_core::Stream;

/// A coin of known bias, for bits that are 1 or 0.
#[derive(Debug, Clone, Copy)]
pub struct Coin {
    /// Probability of the rarer side.
    rare: f64,
    /// The rarer side.
    side: bool,
    /// ln of the probabilities of the rarer side and of the other side.
    ln_rare: f64,
    ln_other: f64,
}

impl Coin {
    /// A coin whose side `side` has probability exp(`ln_rare`) ≤ ½.
    pub fn new(side: bool, ln_rare: f64) -> Self {
        let rare = ln_rare.exp();
        debug_assert!(rare <= 0.5 + f64::EPSILON, "{rare} is not the rarer side");
        Self {
            rare,
            side,
            ln_rare,
            ln_other: (-rare).ln_1p(),
        }
    }

    /// A coin whose side `side` is e^`odds` ≥ 1 times rarer than the other.
    pub fn against(side: bool, odds: f64) -> Self {
        Self::new(side, -odds - (-odds).exp().ln_1p())
    }

    /// One toss.
    pub fn toss(&self, stream: &mut Stream) -> bool {
        (small(stream) < self.rare) == self.side
    }

    /// ln of the probability of a side.
    pub fn ln(&self, side: bool) -> f64 {
        if side == self.side {
            self.ln_rare
        } else {
            self.ln_other
        }
    }
}

/// Uniform in (0, 1), resolved to at least 2⁻³² of its own size, however small it is.
pub fn small(stream: &mut Stream) -> f64 {
    const UNIT: f64 = 1.0 / (1_u64 << 53) as f64;
    /// Numbers below this times the unit have few bits of their own.
    const FEW_BITS: f64 = (1_u64 << 32) as f64;
    let whole = stream.uniform() / UNIT;
    if whole == 0.0 {
        UNIT * small(stream)
    } else if whole < FEW_BITS {
        UNIT * (whole + stream.uniform())
    } else {
        UNIT * whole
    }
}

/// One number of law Laplace(`scale`), by inversion. The uniform number is resolved near 0, so that the tail is
/// unbounded.
pub fn laplace(scale: f64, stream: &mut Stream) -> f64 {
    let sign = if stream.below(2) == 0 { 1.0 } else { -1.0 };
    sign * scale * -small(stream).ln()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use teda_core::Seed;

    use super::*;
    use crate::testing::statistics::assert_follows;

    #[test]
    fn small_numbers_are_uniform() {
        let mut stream = Seed::root(20).stream();
        let sample: Vec<f64> = (0..50_000).map(|_| small(&mut stream)).collect();
        assert!(sample.iter().all(|u| (0.0..1.0).contains(u)));
        assert_follows(sample, |u| u, "small");
    }

    #[test]
    fn sides_come_up_as_often_as_they_should() {
        let tosses = 100_000;
        for (case, (side, rare)) in [(true, 0.5), (true, 0.01), (false, 0.3)]
            .into_iter()
            .enumerate()
        {
            let coin = Coin::new(side, f64::ln(rare));
            let mut stream = Seed::root(21).at(case as u64).stream();
            let ones = (0..tosses).filter(|_| coin.toss(&mut stream)).count() as f64;
            let p = coin.ln(true).exp();
            let mean = f64::from(tosses) * p;
            // Four standard deviations.
            assert!(
                (ones - mean).abs() < 4.0 * (mean * (1.0 - p)).sqrt(),
                "{ones} of {mean}"
            );
        }
    }

    proptest! {
        /// The two sides add up to 1 and differ by the odds, even if one underflows to 0.
        #[test]
        fn logarithms_are_those_of_the_sides(odds in 0.0_f64..5000.0, side: bool) {
            let coin = Coin::against(side, odds);
            prop_assert!((coin.ln(!side) - coin.ln(side) - odds).abs() <= 1e-12 * (1.0 + odds));
            prop_assert!((coin.ln(true).exp() + coin.ln(false).exp() - 1.0).abs() < 1e-12);
        }
    }
}
