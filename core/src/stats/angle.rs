//! A success rate as an angle: p = sin²θ, in which Jeffreys' prior is flat.
//!
//! # Definition
//! With θ ∈ [0, π/2], Beta(½, ½) is the uniform law of θ, and s successes and f failures have the
//! likelihood sin²ˢθ cos²ᶠθ. Its logarithm is concave with second derivative at most −2(s + f), and
//! −4(s + f) at its peak, so e⁻ʸ of the peak is reached within √(y/(s + f)) whatever s and f are: a
//! quadrature finds the mass without searching for it.
//!
//! # Source
//! Jeffreys (1946); the variance-stabilising angle of Anscombe (1948).
//!
//! # Accuracy
//! Likelihoods are compared through sin²(θ+d) − sin²θ = sin d · sin(2θ+d), never as differences of
//! logarithms: at 10⁹ trials the ratio near the peak keeps ten digits.

use super::binomial::Probability;

/// The angle of a rate.
#[derive(Debug, Clone, Copy)]
pub struct Angle {
    rate: Probability,
    sine_of_double: f64,
    cosine_of_double: f64,
}

impl Angle {
    /// The angle whose sin² is `rate`.
    pub fn of(rate: Probability) -> Self {
        Self {
            rate,
            sine_of_double: 2.0 * (rate.p * rate.q).sqrt(),
            cosine_of_double: rate.q - rate.p,
        }
    }

    /// The angle itself, from 0 to π/2.
    pub fn radians(self) -> f64 {
        self.rate.p.sqrt().atan2(self.rate.q.sqrt())
    }

    /// The difference to π/2, with full relative accuracy.
    pub fn remainder(self) -> f64 {
        self.rate.q.sqrt().atan2(self.rate.p.sqrt())
    }

    /// d/dθ of the logarithm of the likelihood of the counts.
    pub fn slope(self, successes: f64, failures: f64) -> f64 {
        let part = |count: f64, ratio: f64| {
            if count == 0.0 {
                0.0
            } else {
                count * ratio.sqrt()
            }
        };
        2.0 * (part(successes, self.rate.q / self.rate.p)
            - part(failures, self.rate.p / self.rate.q))
    }

    /// ln of the likelihood ratio of the counts between this angle plus `shift` and this angle.
    pub fn ln_likelihood_ratio(self, successes: f64, failures: f64, shift: f64) -> f64 {
        let (sine, cosine) = shift.sin_cos();
        let gained = sine * (self.sine_of_double * cosine + self.cosine_of_double * sine);
        // A count of 0 contributes nothing, even if its rate is 0; rounding may leave [0, 1] by an ulp.
        let part = |count: f64, change: f64, rate: f64| {
            if count == 0.0 {
                0.0
            } else {
                count * (change / rate).max(-1.0).ln_1p()
            }
        };
        part(successes, gained, self.rate.p) + part(failures, -gained, self.rate.q)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ratios_agree_with_the_definition(p in 0.001_f64..0.999, other in 0.001_f64..0.999, s in 0_u32..50, f in 0_u32..50) {
            let (from, to) = (Probability { p, q: 1.0 - p }, Probability { p: other, q: 1.0 - other });
            let (s, f) = (f64::from(s), f64::from(f));
            let shift = Angle::of(to).radians() - Angle::of(from).radians();
            let found = Angle::of(from).ln_likelihood_ratio(s, f, shift);
            let expected = s * (other / p).ln() + f * ((1.0 - other) / (1.0 - p)).ln();
            prop_assert!((found - expected).abs() < 1e-9, "{found} against {expected}");
            let slope = Angle::of(from).ln_likelihood_ratio(s, f, 1e-7) / 1e-7;
            prop_assert!((slope - Angle::of(from).slope(s, f)).abs() < 1e-3 * (1.0 + slope.abs()));
        }
    }

    #[test]
    fn the_ends_are_finite_or_impossible_but_never_nan() {
        let end = Angle::of(Probability { p: 0.0, q: 1.0 });
        assert_eq!(end.ln_likelihood_ratio(0.0, 3.0, 0.0), 0.0);
        assert_eq!(end.slope(0.0, 3.0), 0.0);
        let middle = Angle::of(Probability { p: 0.5, q: 0.5 });
        assert!(middle.ln_likelihood_ratio(0.0, 1.0, middle.remainder()) < -30.0);
    }
}
