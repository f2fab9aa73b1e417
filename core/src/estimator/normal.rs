//! The standard normal law, with relative accuracy in its tails.
//!
//! # Definition
//! Mills' ratio R(z) = (1 − Φ(z))/φ(z) for z ≥ 0: by the continued fraction 1/(z + 1/(z + 2/(z + …)))
//! from z = 2 on, below by the series of Φ(z) − ½. Tail and quantile follow from it.
//!
//! # Source
//! Abramowitz & Stegun (1964), 26.2.11 and 26.2.14.
//!
//! # Accuracy
//! Mills' ratio to 10⁻¹³ relative, quantiles to 10⁻¹² absolute.

use super::binomial::Probability;

/// ln √(2π).
const LN_ROOT_TAU: f64 = 0.918_938_533_204_672_8;

/// ln φ(z).
pub fn ln_density(z: f64) -> f64 {
    -0.5 * z * z - LN_ROOT_TAU
}

/// (1 − Φ(z))/φ(z) for z ≥ 0.
pub fn mills_ratio(z: f64) -> f64 {
    if z < 2.0 {
        // Σ z^(2j+1)/(1·3·…·(2j+1)) = (Φ(z) − ½)/φ(z).
        let mut term = z;
        let mut sum = 0.0;
        let mut odd = 1.0;
        while term > sum * 1e-17 {
            sum += term;
            odd += 2.0;
            term *= z * z / odd;
        }
        0.5 / ln_density(z).exp() - sum
    } else {
        // 160 steps back from the far end leave less than 10⁻¹⁶ at z = 2.
        1.0 / (1..=160).rev().fold(z, |tail, j| z + f64::from(j) / tail)
    }
}

/// ln P[Z ≥ z].
pub fn ln_upper_tail(z: f64) -> f64 {
    if z >= 0.0 {
        ln_density(z) + mills_ratio(z).ln()
    } else {
        (-ln_upper_tail(-z).exp()).ln_1p()
    }
}

/// The z with Φ(z) = `probability`; ∓∞ for 0 and 1.
pub fn quantile(probability: Probability) -> f64 {
    if probability.p > probability.q {
        return -quantile(probability.complement());
    }
    if probability.p == 0.0 {
        return f64::NEG_INFINITY;
    }
    let target = probability.p.ln();
    // The smallest double has ln p > −746 and its quantile above −39.
    let (mut low, mut high) = (-40.0, 0.0);
    while high - low > 1e-13 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if ln_upper_tail(-middle) < target {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against 40-digit arithmetic.
    #[test]
    fn mills_ratio_at_known_points() {
        for (z, expected) in [
            (0.0, 1.253_314_137_315_500_3),
            (0.5, 0.876_364_456_453_692_3),
            (1.0, 0.655_679_542_418_798_5),
            (2.0, 0.421_369_229_288_054_5),
            (2.5, 0.354_265_111_329_793_67),
            (3.0, 0.304_590_298_710_103_3),
            (5.0, 0.192_808_104_715_315_77),
            (10.0, 0.099_028_596_471_731_92),
            (40.0, 0.024_984_404_205_720_57),
        ] {
            let found = mills_ratio(z);
            assert!((found / expected - 1.0).abs() < 1e-13, "R({z}) = {found}");
        }
    }

    #[test]
    fn the_two_forms_meet() {
        let (below, above) = (mills_ratio(2.0 - 1e-12), mills_ratio(2.0));
        assert!((below / above - 1.0).abs() < 1e-11);
    }

    #[test]
    fn quantiles_at_known_points_and_by_symmetry() {
        for (p, expected) in [
            (0.005, -2.575_829_303_548_901),
            (1e-4, -3.719_016_485_455_680_6),
            (0.3, -0.524_400_512_708_041),
            (1e-12, -7.034_483_825_301_132),
        ] {
            let found = quantile(Probability { p, q: 1.0 - p });
            assert!((found - expected).abs() < 1e-12, "{p}: {found}");
            assert_eq!(quantile(Probability { p: 1.0 - p, q: p }), -found);
        }
        assert!(quantile(Probability { p: 0.5, q: 0.5 }).abs() < 1e-12);
        assert_eq!(quantile(Probability { p: 0.0, q: 1.0 }), f64::NEG_INFINITY);
    }
}
