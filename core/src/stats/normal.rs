//! The standard normal distribution, with relative accuracy in its tails.
//!
//! # Definition
//! Q(z) = 1 − Φ(z), and Mills' ratio R(z) = Q(z)/φ(z), which remains representable where Q underflows: for z ≥ 0 by
//! the continued fraction 1/(z + 1/(z + 2/(z + …))) from z = 2 on, below that by the series of Φ(z) − ½. Tails and
//! quantiles follow from it.
//!
//! # Source
//! Abramowitz & Stegun (1964), 26.2.11 and 26.2.14; the series: Marsaglia, *Evaluating the normal distribution* (2004).
//!
//! # Accuracy
//! Mills' ratio to 10⁻¹³ relative, quantiles to 10⁻¹² absolute.
//!
//! # Two sets of constants
//! Recorded bounds and recorded releases were computed with neighbouring values of ln √(2π) and with different numbers
//! of terms, which shows in the last bit of many results. Both sets are kept, so that neither result changes.

use super::binomial::Probability;

/// The distribution, computed with these constants.
#[derive(Debug, Clone, Copy)]
pub struct Normal {
    /// ln √(2π).
    ln_root_tau: f64,
    /// Terms of the continued fraction, from the far end back: 160 leave less than 10⁻¹⁶ at z = 2.
    terms: u32,
}

/// For estimators.
pub(crate) const FOR_BOUNDS: Normal = Normal {
    ln_root_tau: 0.918_938_533_204_672_8,
    terms: 160,
};

/// For scaling and weighing noise.
pub const FOR_NOISE: Normal = Normal {
    ln_root_tau: 0.918_938_533_204_672_7,
    terms: 300,
};

impl Normal {
    /// ln φ(z).
    #[must_use]
    pub fn ln_density(self, z: f64) -> f64 {
        -0.5 * z * z - self.ln_root_tau
    }

    /// φ(z).
    #[must_use]
    pub fn density(self, z: f64) -> f64 {
        self.ln_density(z).exp()
    }

    /// R(z) for z ≥ 0.
    #[must_use]
    pub fn mills_ratio(self, z: f64) -> f64 {
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
            0.5 / self.density(z) - sum
        } else {
            let terms = (1..=self.terms).rev();
            1.0 / terms.fold(z, |tail, j| z + f64::from(j) / tail)
        }
    }

    /// Q(z).
    #[must_use]
    pub fn upper_tail(self, z: f64) -> f64 {
        if z < 0.0 {
            1.0 - self.upper_tail(-z)
        } else {
            self.density(z) * self.mills_ratio(z)
        }
    }

    /// ln Q(z).
    pub(crate) fn ln_upper_tail(self, z: f64) -> f64 {
        if z >= 0.0 {
            self.ln_density(z) + self.mills_ratio(z).ln()
        } else {
            (-self.ln_upper_tail(-z).exp()).ln_1p()
        }
    }

    /// The z with Φ(z) = `probability`; ∓∞ for 0 and 1.
    pub(crate) fn quantile(self, probability: Probability) -> f64 {
        if probability.p > probability.q {
            return -self.quantile(probability.complement());
        }
        if probability.p == 0.0 {
            return f64::NEG_INFINITY;
        }
        let target = probability.p.ln();
        // The smallest double has ln p > −746 and a quantile above −39.
        let (mut low, mut high) = (-40.0, 0.0);
        while high - low > 1e-13 {
            let middle = 0.5 * (low + high);
            if middle <= low || middle >= high {
                break;
            }
            if self.ln_upper_tail(-middle) < target {
                low = middle;
            } else {
                high = middle;
            }
        }
        0.5 * (low + high)
    }
}

#[cfg(test)]
mod tests {
    use statrs::distribution::ContinuousCDF;

    use super::*;

    const BOTH: [Normal; 2] = [FOR_BOUNDS, FOR_NOISE];

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
            for normal in BOTH {
                let found = normal.mills_ratio(z);
                assert!((found / expected - 1.0).abs() < 1e-13, "R({z}) = {found}");
            }
        }
    }

    #[test]
    fn mills_ratio_has_no_end() {
        // 1/z − 1/z³ + 3/z⁵ is within 15/z⁷.
        for z in [50.0_f64, 1e3, 1e8] {
            let expected = 1.0 / z - z.powi(-3) + 3.0 * z.powi(-5);
            for normal in BOTH {
                assert!((normal.mills_ratio(z) / expected - 1.0).abs() < 1e-8, "{z}");
            }
        }
    }

    #[test]
    fn the_two_forms_meet() {
        for normal in BOTH {
            let (below, above) = (normal.mills_ratio(2.0 - 1e-12), normal.mills_ratio(2.0));
            assert!((below / above - 1.0).abs() < 1e-11);
        }
    }

    #[test]
    fn tails_are_those_of_a_library() {
        let library = statrs::distribution::Normal::new(0.0, 1.0).unwrap();
        for z in (-80..=370).map(|i| f64::from(i) / 10.0) {
            for normal in BOTH {
                let (found, expected) = (normal.upper_tail(z), library.sf(z));
                assert!(
                    (found / expected - 1.0).abs() < 1e-10,
                    "Q({z}): {found:e}, not {expected:e}"
                );
            }
        }
    }

    /// More accurate than the library: computed to 30 digits.
    #[test]
    fn tails_are_exact_on_both_sides_of_the_seam() {
        for (z, expected) in [
            (-1.0, 1.0 - 0.158_655_253_931_457_05),
            (1.0, 0.158_655_253_931_457_05),
            (1.9, 0.028_716_559_816_001_802),
            (2.1, 0.017_864_420_562_816_553),
            (5.0, 2.866_515_718_791_939e-7),
            (37.0, 5.725_571_222_524_577e-300),
        ] {
            for normal in BOTH {
                let found: f64 = normal.upper_tail(z);
                // At 37, z² has lost three digits.
                assert!((found / expected - 1.0).abs() < 2e-13, "Q({z}): {found:e}");
            }
        }
    }

    #[test]
    fn quantiles_at_known_points_and_by_symmetry() {
        let quantile = |p, q| FOR_BOUNDS.quantile(Probability { p, q });
        for (p, expected) in [
            (0.005, -2.575_829_303_548_901),
            (1e-4, -3.719_016_485_455_680_6),
            (0.3, -0.524_400_512_708_041),
            (1e-12, -7.034_483_825_301_132),
        ] {
            let found = quantile(p, 1.0 - p);
            assert!((found - expected).abs() < 1e-12, "{p}: {found}");
            assert_eq!(quantile(1.0 - p, p), -found);
        }
        assert!(quantile(0.5, 0.5).abs() < 1e-12);
        assert_eq!(quantile(0.0, 1.0), f64::NEG_INFINITY);
    }
}
