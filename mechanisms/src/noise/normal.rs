//! The tail of the standard normal distribution, accurate to its own size.
//!
//! # Definition
//! Q(x) = 1 − Φ(x), and Mills' ratio R(x) = Q(x) / φ(x), which stays a number where Q underflows.
//!
//! # How it is computed
//! Below [`SERIES_BELOW`]: Q(x) = ½ − φ(x)·(x + x³/3 + x⁵/(3·5) + …). From there on Laplace's continued fraction
//! R(x) = 1/(x + 1/(x + 2/(x + 3/(x + …)))), from the inside out.
//!
//! # Source
//! Marsaglia, *Evaluating the normal distribution* (2004), for the series; Abramowitz & Stegun 26.2.14.

/// Where the series has lost two digits to the subtraction, and the fraction needs some hundred terms.
const SERIES_BELOW: f64 = 2.0;

/// Terms of the continued fraction: enough for full precision at its lower end.
const TERMS: u32 = 300;

/// φ(x).
pub fn density(x: f64) -> f64 {
    ln_density(x).exp()
}

/// ln φ(x).
pub fn ln_density(x: f64) -> f64 {
    -0.5 * x * x - 0.5 * std::f64::consts::TAU.ln()
}

/// Q(x).
pub fn tail(x: f64) -> f64 {
    if x < 0.0 {
        1.0 - tail(-x)
    } else {
        density(x) * mills(x)
    }
}

/// R(x) for x ≥ 0.
pub fn mills(x: f64) -> f64 {
    if x < SERIES_BELOW {
        0.5 / density(x) - series(x)
    } else {
        1.0 / (1..=TERMS)
            .rev()
            .fold(x, |inner, n| x + f64::from(n) / inner)
    }
}

/// x + x³/3 + x⁵/(3·5) + ….
fn series(x: f64) -> f64 {
    let (mut term, mut sum, mut odd) = (x, 0.0, 1.0);
    while sum + term != sum {
        sum += term;
        odd += 2.0;
        term *= x * x / odd;
    }
    sum
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{ContinuousCDF, Normal};

    use super::*;

    #[test]
    fn tails_are_those_of_a_library() {
        let normal = Normal::new(0.0, 1.0).unwrap();
        for i in -80..=370 {
            let x = f64::from(i) / 10.0;
            let (found, expected) = (tail(x), normal.sf(x));
            assert!(
                (found / expected - 1.0).abs() < 1e-10,
                "Q({x}): {found:e}, not {expected:e}"
            );
        }
    }

    /// Closer than the library: computed to 30 digits.
    #[test]
    fn tails_are_exact_on_both_sides_of_the_seam() {
        for (x, expected) in [
            (-1.0, 1.0 - 0.158_655_253_931_457_05),
            (1.0, 0.158_655_253_931_457_05),
            (1.9, 0.028_716_559_816_001_802),
            (2.1, 0.017_864_420_562_816_553),
            (5.0, 2.866_515_718_791_939e-7),
            (37.0, 5.725_571_222_524_577e-300),
        ] {
            let found: f64 = tail(x);
            // At 37, x² has lost three digits.
            assert!((found / expected - 1.0).abs() < 2e-13, "Q({x}): {found:e}");
        }
    }

    #[test]
    fn mills_ratio_has_no_end() {
        // 1/x − 1/x³ + 3/x⁵ is within 15/x⁷.
        for x in [50.0_f64, 1e3, 1e8] {
            let expected = 1.0 / x - x.powi(-3) + 3.0 * x.powi(-5);
            assert!((mills(x) / expected - 1.0).abs() < 1e-8, "{x}");
        }
    }
}
