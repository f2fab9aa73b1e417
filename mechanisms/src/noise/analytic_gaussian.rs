//! The amount of Gaussian noise needed for (ε, δ).
//!
//! # Definition
//! Gaussian noise of standard deviation σ on vectors at most Δ apart in ℓ2 is (ε, δ)-DP if and only if Φ(Δ/2σ − εσ/Δ)
//! − e^ε Φ(−Δ/2σ − εσ/Δ) ≤ δ. The σ here is the smallest for which this holds: the left side decreases in σ.
//!
//! # Source
//! Balle & Wang, *Improving the Gaussian mechanism for differential privacy* (ICML 2018), Theorem 8.
//!
//! # Accuracy
//! With s = Δ/2σ and t = εσ/Δ, e^ε φ(s + t) = φ(s − t), so the left side is Q(t − s) − φ(t − s)·R(t + s) in
//! terms of Mills' ratio R ([`teda_core::stats::normal`]): no e^ε that could overflow. σ is rounded upwards.

use teda_core::stats::normal::FOR_NOISE as NORMAL;

/// The δ of Gaussian noise of standard deviation `sigma` at `epsilon`, for vectors at most 1 apart.
pub fn delta(sigma: f64, epsilon: f64) -> f64 {
    let (s, t) = (0.5 / sigma, epsilon * sigma);
    (NORMAL.upper_tail(t - s) - NORMAL.density(t - s) * NORMAL.mills_ratio(t + s)).max(0.0)
}

/// The smallest σ at which noise on vectors at most `sensitivity` apart is (`epsilon`, `delta`)-DP.
pub fn sigma(sensitivity: f64, epsilon: f64, delta: f64) -> f64 {
    let enough = |sigma: f64| self::delta(sigma, epsilon) <= delta;
    let (mut low, mut high) = (1.0, 1.0);
    while !enough(high) {
        high *= 2.0;
    }
    while enough(low) {
        low /= 2.0;
    }
    // Down to neighbouring numbers, or nearly.
    while high - low > f64::EPSILON * high {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if enough(middle) {
            high = middle;
        } else {
            low = middle;
        }
    }
    sensitivity * high
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use statrs::distribution::{ContinuousCDF, Normal};

    use super::*;

    /// Values computed elsewhere, for sensitivity 10 and δ = 10⁻⁵.
    #[test]
    fn sigmas_are_the_known_ones() {
        for (epsilon, expected) in [
            (0.1, 307.496),
            (1.0, 37.3063),
            (10.0, 4.9989),
            (250.0, 0.5394),
            (1000.0, 0.2458),
            (2500.0, 0.1502),
        ] {
            let found = sigma(10.0, epsilon, 1e-5);
            assert!(
                (found - expected).abs() < 5.1e-5 * 10_f64.powf(expected.log10().floor().max(0.0)),
                "{epsilon}: {found}, not {expected}"
            );
        }
    }

    proptest! {
        /// The defining equation, using a library's normal distribution, where e^ε is finite so that it can be
        /// multiplied with it.
        #[test]
        fn sigma_solves_the_defining_equation(
            ln_epsilon in -5.0_f64..3.0, ln_delta in -25.0_f64..-0.8, sensitivity in 0.1_f64..20.0
        ) {
            let (epsilon, delta) = (ln_epsilon.exp(), ln_delta.exp());
            let sigma = sigma(sensitivity, epsilon, delta);
            let (s, t) = (sensitivity / (2.0 * sigma), epsilon * sigma / sensitivity);
            let normal = Normal::new(0.0, 1.0).unwrap();
            let found = normal.cdf(s - t) - epsilon.exp() * normal.cdf(-s - t);
            // The subtraction loses digits if ε is small.
            prop_assert!((found / delta - 1.0).abs() < 1e-6, "{found} instead of {delta}");
        }

        /// δ as an integral: of (1 − e^{ε−ℓ})₊ over the releases of one input, ℓ the privacy loss.
        #[test]
        fn delta_is_the_mean_excess_of_the_loss(sigma in 0.2_f64..5.0, epsilon in 0.0_f64..4.0) {
            let loss = |y: f64| (0.5 - y) / (sigma * sigma);
            let step = sigma / 2000.0;
            let integral: f64 = (-24_000..=24_000).map(|i| {
                let y = f64::from(i) * step;
                let excess = (1.0 - (epsilon - loss(y)).exp()).max(0.0);
                excess * NORMAL.density(y / sigma) / sigma * step
            }).sum();
            let found = delta(sigma, epsilon);
            prop_assert!((found - integral).abs() < 1e-6, "{found}, not {integral}");
        }
    }
}
