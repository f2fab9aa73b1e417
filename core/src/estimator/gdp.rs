//! Gaussian differential privacy: a lower bound on μ, and the ε that it implies at δ > 0.
//!
//! # Definition
//! μ = Φ⁻¹(1 − FPR) − Φ⁻¹(FNR), at the Clopper-Pearson upper limits of both rates, never negative. A μ-GDP mechanism
//! is (ε, δ)-DP exactly for δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ); the bound is the ε with δ(ε) = δ, or 0 if δ(0) ≤
//! δ. It exists only for δ > 0: no Gaussian mechanism is purely DP.
//!
//! # Guarantee
//! Each of the two limits spends α/4, so μ and every ε read from it spend α/2. The bound on μ holds
//! for any mechanism that is μ-GDP. The ε holds *only* for mechanisms declared Gaussian, whose
//! trade-off curve is that of two normal laws: on others it overstates (on randomised response
//! practically always).
//!
//! # Source
//! Dong, Roth & Su (2022), Corollary 2.13; as an audit: Nasr et al. (2023), "Tight auditing of
//! differentially private machine learning".
//!
//! # Accuracy
//! δ(ε) is computed in log space from Mills' ratio, so that it keeps its digits at δ = 10⁻³⁰⁰; quantile and ε are
//! rounded down by more than their error.
//!
//! # Errors
//! Usage, if δ is not in (0, 1).

use super::error_counts::ErrorCounts;
use super::evidence::Counted;
use super::{Assurance, Bound, Estimator, Level, Needs, two_candidates};
use crate::stats::binomial::{self, Probability};
use crate::stats::normal::FOR_BOUNDS as NORMAL;
use crate::{ConfusionMatrix, Error, Result};

/// The estimator for Gaussian mechanisms.
pub const ESTIMATOR: Estimator = Estimator {
    name: "gdp",
    summary: "both error rates through the trade-off curve of a Gaussian (for mechanisms that are declared Gaussian; delta > 0)",
    spends: "alpha/4 on each of two Clopper-Pearson limits",
    assurance: Assurance::Confidence,
    needs: Needs::Gaussian,
    supports: |design| {
        two_candidates("gdp", design)?;
        epsilon(1.0, design.delta).map(|_| ())
    },
    begin: |design| Counted::begin(design, of_tally),
};

/// The bound from a matrix over two candidates. Designs without an ε are not supported, so they do not occur here.
fn of_tally(matrix: &ConfusionMatrix, level: Level, delta: f64) -> Bound {
    ErrorCounts::bound(matrix, |counts| bound(counts, level, delta).unwrap_or(0.0))
}

/// μ ≥ this with confidence 1 − α/2. 0 without trials on either side.
#[must_use]
pub fn mu_lower_limit(counts: &ErrorCounts, level: Level) -> f64 {
    if counts.negatives == 0 || counts.positives == 0 {
        return 0.0;
    }
    let tail = level.tail() / 2.0;
    let distance = |errors, trials| {
        let rate: Probability = binomial::upper_limit(errors, trials, tail);
        -NORMAL.quantile(rate) - 1e-12
    };
    let mu = distance(counts.false_positives, counts.negatives)
        + distance(counts.false_negatives, counts.positives);
    mu.max(0.0)
}

/// ε ≥ this with confidence 1 − α/2 at δ = `delta`, for a mechanism declared Gaussian.
///
/// # Errors
/// Usage, if δ is not in (0, 1).
pub fn bound(counts: &ErrorCounts, level: Level, delta: f64) -> Result<f64> {
    epsilon(mu_lower_limit(counts, level), delta)
}

/// The ε of a μ-GDP mechanism at δ = `delta`, rounded down.
///
/// # Errors
/// Usage, if δ is not in (0, 1).
///
/// # Panics
/// If μ is negative, infinite or NaN.
pub fn epsilon(mu: f64, delta: f64) -> Result<f64> {
    if !(delta > 0.0 && delta < 1.0) {
        return Err(Error::usage(format!(
            "Gaussian differential privacy has an epsilon only for 0 < delta < 1, not for delta = {delta}. Give --delta, for instance 1e-5"
        )));
    }
    // Mills' ratios have an error of 10⁻¹³, and their difference about 1/μ times as much.
    let target = delta.ln() + 1e-9 * (1.0 + 1.0 / mu);
    // δ decreases in ε.
    let more = |epsilon: f64| ln_delta(mu, epsilon) >= target;
    if !more(0.0) {
        return Ok(0.0);
    }
    let (mut low, mut high) = (0.0, 1.0);
    while more(high) {
        (low, high) = (high, 2.0 * high);
    }
    while high - low > 1e-12 * high {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if more(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    Ok(low)
}

/// The smallest δ at which a μ-GDP mechanism is (ε, δ)-DP.
///
/// # Panics
/// If μ is negative, infinite or NaN, or ε negative or NaN.
#[must_use]
pub fn delta(mu: f64, epsilon: f64) -> f64 {
    ln_delta(mu, epsilon).exp()
}

/// ln δ(ε); −∞ for μ = 0.
fn ln_delta(mu: f64, epsilon: f64) -> f64 {
    assert!(mu >= 0.0 && mu.is_finite(), "μ = {mu} is not a distance");
    assert!(epsilon >= 0.0, "ε = {epsilon} is no privacy budget");
    if mu == 0.0 || epsilon == f64::INFINITY {
        return f64::NEG_INFINITY;
    }
    // Φ(−z) = φ(z) R(z), and e^ε φ(far) = φ(near): both terms share one density.
    let (near, far) = (epsilon / mu - mu / 2.0, epsilon / mu + mu / 2.0);
    if near >= 0.0 {
        NORMAL.ln_density(near) + (NORMAL.mills_ratio(near) - NORMAL.mills_ratio(far)).ln()
    } else {
        let missed = NORMAL.density(near) * (NORMAL.mills_ratio(-near) + NORMAL.mills_ratio(far));
        (-missed).ln_1p()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Against 40-digit arithmetic.
    #[test]
    fn delta_at_known_points() {
        for (mu, epsilon, expected) in [
            (1.0, 1.0, 0.126_936_737_506_644),
            (1.0, 5.0, 5.793_721_691_919_49e-7),
            (0.1, 0.3, 4.435_197_882_025_09e-5),
            (3.0, 2.0, 0.685_874_165_716_049),
            (1.0, 0.0, 0.382_924_922_548_026),
            (5.0, 30.0, 0.000_131_326_271_113_373),
        ] {
            let found = delta(mu, epsilon);
            assert!((found / expected - 1.0).abs() < 1e-11, "{mu}: {found}");
            let back = super::epsilon(mu, expected * (1.0 + 1e-12)).unwrap();
            assert!((back - epsilon).abs() < 1e-6 && back <= epsilon, "{back}");
        }
    }

    #[test]
    fn pure_privacy_has_no_gaussian_epsilon() {
        for delta in [0.0, 1.0, -0.1, f64::NAN] {
            assert!(matches!(epsilon(1.0, delta), Err(Error::Usage(_))));
        }
    }

    /// Both error rates of the best test at their mean: μ from 10⁶ trials per side is slightly below the true one.
    #[test]
    fn a_gaussian_mechanism_at_its_mean() {
        let level = Level::new(0.01).unwrap();
        for mu in [0.5, 1.0, 3.0] {
            let missed = NORMAL.ln_upper_tail(mu / 2.0).exp();
            let errors = (1e6 * missed).round() as u64;
            let counts = ErrorCounts::new(errors, 1_000_000, errors, 1_000_000);
            let found = mu_lower_limit(&counts, level);
            assert!((0.0..0.02).contains(&(mu - found)), "{mu}: {found}");
            let exact = epsilon(mu, 1e-5).unwrap();
            let shown = bound(&counts, level, 1e-5).unwrap();
            assert!((0.0..0.15).contains(&(exact - shown)), "{exact}: {shown}");
        }
    }

    #[test]
    fn a_useless_or_absent_attack_shows_nothing() {
        let level = Level::new(0.01).unwrap();
        for counts in [
            ErrorCounts::new(50, 100, 50, 100),
            ErrorCounts::new(100, 100, 100, 100),
            ErrorCounts::new(0, 0, 0, 100),
        ] {
            assert_eq!(mu_lower_limit(&counts, level), 0.0);
            assert_eq!(bound(&counts, level, 1e-9).unwrap(), 0.0);
        }
    }

    proptest! {
        #[test]
        fn epsilon_inverts_delta_from_below(mu in 0.001_f64..30.0, ln_delta in -600.0_f64..-0.01) {
            let target = ln_delta.exp();
            let found = epsilon(mu, target).unwrap();
            prop_assert!(found.is_finite());
            if found > 0.0 {
                prop_assert!(super::ln_delta(mu, found) >= ln_delta);
                prop_assert!(super::ln_delta(mu, found * (1.0 + 1e-5) + 1e-7) < ln_delta + 1e-5 / mu);
            } else {
                prop_assert!(delta(mu, 0.0) <= target * (1.0 + 1e-5));
            }
        }

        #[test]
        fn epsilon_grows_with_mu_and_falls_in_delta(mu in 0.01_f64..10.0, ln_delta in -50.0_f64..-0.1) {
            let at = |mu: f64, ln_delta: f64| epsilon(mu, ln_delta.exp()).unwrap();
            prop_assert!(at(mu * 1.01, ln_delta) >= at(mu, ln_delta));
            prop_assert!(at(mu, ln_delta + 0.05) <= at(mu, ln_delta));
        }

        #[test]
        fn fewer_errors_show_more(n in 2_u64..100_000, share in 0.0_f64..0.9) {
            let errors = (n as f64 * share) as u64;
            let level = Level::new(0.05).unwrap();
            let mu = |e| mu_lower_limit(&ErrorCounts::new(e, n, e, n), level);
            prop_assert!(mu(errors) >= mu(errors + 1));
        }
    }
}
