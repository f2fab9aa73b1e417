//! Binomial tails and the Clopper-Pearson limits that they define.
//!
//! # Definition
//! The lower limit of s successes in n trials at tail t is the p with P[Bin(n, p) ≥ s] = t (0 for
//! s = 0); the upper limit is the p with P[Bin(n, p) ≤ s] = t (1 for s = n).
//!
//! # Source
//! Clopper & Pearson (1934). Point probabilities: Loader (2000), "Fast and accurate computation of
//! binomial probabilities".
//!
//! # Accuracy
//! A tail is summed outward from its largest term, all terms positive, so it keeps full relative
//! accuracy at any n. Limits are rounded outward: at the returned lower limit the tail, as computed,
//! is at most t(1 − 10⁻¹¹), far above the rounding of the sum. p and 1 − p are both returned,
//! because near p = 1 only the latter keeps its digits.

/// A probability and its complement, each computed to full accuracy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probability {
    /// p.
    pub p: f64,
    /// 1 − p.
    pub q: f64,
}

impl Probability {
    /// From log-odds ln(p/q).
    fn from_log_odds(x: f64) -> Self {
        Self {
            p: 1.0 / (1.0 + (-x).exp()),
            q: 1.0 / (1.0 + x.exp()),
        }
    }

    /// The complement.
    #[must_use]
    pub fn complement(self) -> Self {
        Self {
            p: self.q,
            q: self.p,
        }
    }
}

/// Clopper-Pearson lower limit of `successes` in `trials` at one-sided `tail`, rounded down.
///
/// # Panics
/// If successes > trials, or the tail is not in (0, 1).
#[must_use]
pub fn lower_limit(successes: u64, trials: u64, tail: f64) -> Probability {
    assert!(
        successes <= trials,
        "{successes} successes in {trials} trials"
    );
    assert!(tail > 0.0 && tail < 1.0, "tail {tail} outside (0, 1)");
    if successes == 0 {
        return Probability { p: 0.0, q: 1.0 };
    }
    let target = tail * (1.0 - 1e-11);
    // |log-odds| of a limit is below ln(n/tail) + 1: fewer odds than that make even one success
    // (or, at the other end, even one failure) rarer than the tail.
    let reach = (trials as f64 / tail).ln() + 40.0;
    let (mut low, mut high) = (-reach, reach);
    // The tail grows with p. 200 halvings end at neighbouring doubles.
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            break;
        }
        if at_least(successes, trials, Probability::from_log_odds(middle)) <= target {
            low = middle;
        } else {
            high = middle;
        }
    }
    Probability::from_log_odds(low)
}

/// Clopper-Pearson upper limit of `successes` in `trials` at one-sided `tail`, rounded up.
///
/// # Panics
/// Same as [`lower_limit`].
#[must_use]
pub fn upper_limit(successes: u64, trials: u64, tail: f64) -> Probability {
    assert!(
        successes <= trials,
        "{successes} successes in {trials} trials"
    );
    lower_limit(trials - successes, trials, tail).complement()
}

/// P[Bin(n, p) ≥ s].
#[must_use]
pub fn at_least(s: u64, n: u64, p: Probability) -> f64 {
    if s == 0 {
        return 1.0;
    }
    // Sum the tail that decreases from its first term; the other is its complement.
    if s as f64 > n as f64 * p.p {
        falling_tail(s, n, p)
    } else {
        1.0 - falling_tail(n - s + 1, n, p.complement())
    }
}

/// Σ_{j ≥ s} P[Bin(n, p) = j] for s ≥ n·p, where the terms fall from the first on.
fn falling_tail(s: u64, n: u64, p: Probability) -> f64 {
    if s > n || p.p == 0.0 {
        return 0.0;
    }
    let odds = p.p / p.q;
    let mut term = 1.0;
    let mut sum = 1.0;
    for j in s..n {
        term *= (n - j) as f64 / (j + 1) as f64 * odds;
        sum += term;
        if term < sum * 1e-18 {
            break;
        }
    }
    (sum * point(s, n, p)).min(1.0)
}

/// P[Bin(n, p) = s] by Loader's saddle-point expansion.
fn point(s: u64, n: u64, p: Probability) -> f64 {
    if s == 0 {
        return (n as f64 * ln_of(p.complement())).exp();
    }
    if s == n {
        return (n as f64 * ln_of(p)).exp();
    }
    let (successes, failures, all) = (s as f64, (n - s) as f64, n as f64);
    let exponent = stirling_error(n)
        - stirling_error(s)
        - stirling_error(n - s)
        - deviance(successes, all * p.p)
        - deviance(failures, all * p.q);
    exponent.exp() * (all / (std::f64::consts::TAU * successes * failures)).sqrt()
}

/// ln p, accurate near p = 1.
fn ln_of(p: Probability) -> f64 {
    if p.p > 0.5 { (-p.q).ln_1p() } else { p.p.ln() }
}

/// x ln(x/m) + m − x, without cancellation for x near m.
fn deviance(x: f64, m: f64) -> f64 {
    if (x - m).abs() < 0.1 * (x + m) {
        let v = (x - m) / (x + m);
        let mut sum = (x - m) * v;
        let mut term = 2.0 * x * v;
        for j in 1.. {
            term *= v * v;
            let next = sum + term / f64::from(2 * j + 1);
            if next == sum {
                break;
            }
            sum = next;
        }
        sum
    } else {
        x * (x / m).ln() + m - x
    }
}

/// ln n! − ln(√(2πn) (n/e)ⁿ): by definition for n < 16, else the first terms of Stirling's series,
/// whose next term is below 10⁻¹⁶ there.
fn stirling_error(n: u64) -> f64 {
    let x = n as f64;
    if n < 16 {
        let factorial: f64 = (1..=n).map(|i| i as f64).product();
        return factorial.ln() - (0.5 * (std::f64::consts::TAU * x).ln() + x * (x.ln() - 1.0));
    }
    let y = 1.0 / (x * x);
    let series = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1260.0,
        -1.0 / 1680.0,
        1.0 / 1188.0,
        -691.0 / 360_360.0,
    ];
    series.iter().rev().fold(0.0, |sum, c| sum * y + c) / x
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// P[Bin(n, p) ≥ s] by summing all terms with logarithms of factorials.
    fn direct(s: u64, n: u64, p: f64) -> f64 {
        let ln_factorial: Vec<f64> = std::iter::once(0.0)
            .chain((1..=n).scan(0.0, |sum, i| {
                *sum += (i as f64).ln();
                Some(*sum)
            }))
            .collect();
        (s..=n)
            .map(|j| {
                (ln_factorial[n as usize]
                    - ln_factorial[j as usize]
                    - ln_factorial[(n - j) as usize]
                    + j as f64 * p.ln()
                    + (n - j) as f64 * (-p).ln_1p())
                .exp()
            })
            .sum()
    }

    proptest! {
        #[test]
        fn tails_agree_with_direct_summation(n in 1_u64..400, s in 0_u64..400, p in 0.001_f64..0.999) {
            let s = s.min(n);
            let found = at_least(s, n, Probability { p, q: 1.0 - p });
            // The reference's own logarithms lose up to 1e-12 at n = 400.
            prop_assert!((found - direct(s, n, p)).abs() < 1e-11);
        }

        /// The defining equation, from both sides: at the limit the tail is just below its level,
        /// and a billionth of the log-odds further it is above.
        #[test]
        fn the_lower_limit_solves_its_equation(n in 1_u64..2_000_000, share in 0.0_f64..=1.0, tail in 0.0001_f64..0.4) {
            let s = ((n as f64 * share) as u64).clamp(1, n);
            let limit = lower_limit(s, n, tail);
            let attained = at_least(s, n, limit);
            prop_assert!(attained <= tail, "{attained} > {tail}");
            prop_assert!(attained >= tail * (1.0 - 1e-7), "{attained} far below {tail}");
        }

        #[test]
        fn upper_is_the_mirror_of_lower(n in 1_u64..10_000, s in 0_u64..10_000) {
            let s = s.min(n);
            let upper = upper_limit(s, n, 0.005);
            let mirrored = lower_limit(n - s, n, 0.005);
            prop_assert_eq!(upper.p, mirrored.q);
            prop_assert!(upper.p >= s as f64 / n as f64);
        }
    }

    #[test]
    fn all_successes_have_the_closed_form() {
        for n in [1_u64, 10, 10_000, 1_000_000, 100_000_000] {
            let q = -(0.005_f64.ln() / n as f64).exp_m1();
            let limit = lower_limit(n, n, 0.005);
            assert!(
                (limit.q / q - 1.0).abs() < 1e-9,
                "n = {n}: {} against {q}",
                limit.q
            );
            assert!(limit.q >= q, "n = {n}: rounded to the wrong side");
        }
    }

    #[test]
    fn no_success_gives_zero_and_agrees_with_statrs_elsewhere() {
        use statrs::distribution::{Binomial, DiscreteCDF};
        assert_eq!(lower_limit(0, 100, 0.005).p, 0.0);
        let limit = lower_limit(61, 100, 0.025);
        let tail = Binomial::new(limit.p, 100).unwrap().sf(60);
        assert!((tail - 0.025).abs() < 1e-9);
    }
}
