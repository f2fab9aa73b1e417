//! Tests whether two samples of trials can have the same success rate: Fisher's exact test, two-sided.
//!
//! # Definition
//! For two samples with h₁ hits in n₁ trials and h₂ in n₂, given m = h₁ + h₂ and equal rates, H₁ is hypergeometric:
//! P[H₁ = x] = C(n₁, x) C(n₂, m − x) / C(n₁ + n₂, m). The p-value is the probability of all x that are no more likely
//! than h₁.
//!
//! # Guarantee
//! For independent samples of n₁ and n₂ trials fixed beforehand, P[p ≤ t] ≤ t for every t, at every common rate and
//! every n: given m, {p ≤ t} is a set of least likely x whose probability is at most t, and the mean over m of numbers
//! at most t is at most t. Equal rates give p = 1. Two runs with the same seed are not independent, but equal if
//! nothing changed, so that p = 1 for them, too.
//!
//! # Source
//! Fisher (1934), "Statistical Methods for Research Workers", § 21.02; the two-sided order by
//! probability: Freeman & Halton (1951).
//!
//! # Accuracy
//! Probabilities are computed relative to the largest, from which products of exact ratios lead outward until they
//! vanish: some 40 standard deviations, so that a million trials take 40,000 steps. All terms are positive and nothing
//! cancels. Outcomes within a relative 10⁻⁷ of the observed one count as equally likely, which only makes p larger. p
//! below 10⁻³⁰⁰ is 0.

/// Hits among trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    hits: u64,
    trials: u64,
}

impl Sample {
    /// `hits` of `trials`.
    ///
    /// # Panics
    /// If there are more hits than trials.
    #[must_use]
    pub fn new(hits: u64, trials: u64) -> Self {
        assert!(hits <= trials, "{hits} hits in {trials} trials");
        Self { hits, trials }
    }
}

/// Outcomes whose probabilities differ by less than this, relatively, count as equally likely.
const TIE: f64 = 1e-7;

/// The two-sided p-value of "both samples have the same success rate".
#[must_use]
pub fn fisher(first: Sample, second: Sample) -> f64 {
    let table = Margins {
        first: first.trials,
        second: second.trials,
        hits: first.hits + second.hits,
    };
    let limit = table.relative(first.hits) * (1.0 + TIE);
    if limit == 0.0 {
        return 0.0;
    }
    let (mut rare, mut all) = (0.0, 0.0);
    for weight in table.up().chain(table.down().skip(1)) {
        all += weight;
        if weight <= limit {
            rare += weight;
        }
    }
    rare / all
}

/// What is known before the hits are split between the samples.
#[derive(Clone, Copy)]
struct Margins {
    first: u64,
    second: u64,
    hits: u64,
}

impl Margins {
    fn least(self) -> u64 {
        self.hits.saturating_sub(self.second)
    }

    fn most(self) -> u64 {
        self.first.min(self.hits)
    }

    /// The most likely number of hits in the first sample.
    fn mode(self) -> u64 {
        let [first, second, hits] = [self.first, self.second, self.hits].map(u128::from);
        let mode = (first + 1) * (hits + 1) / (first + second + 2);
        (mode as u64).clamp(self.least(), self.most())
    }

    /// `P[x + 1] / P[x]`.
    fn ratio(self, x: u64) -> f64 {
        let failures = (self.second + x + 1 - self.hits) as f64;
        ((self.first - x) as f64 / (x + 1) as f64) * ((self.hits - x) as f64 / failures)
    }

    /// `P[x] / P[mode]` from the mode up, while it is above 0.
    fn up(self) -> impl Iterator<Item = f64> {
        let ratios = (self.mode()..self.most()).map(move |x| self.ratio(x));
        products(ratios)
    }

    /// `P[x] / P[mode]` from the mode down, while it is above 0.
    fn down(self) -> impl Iterator<Item = f64> {
        let ratios = (self.least()..self.mode()).rev();
        products(ratios.map(move |x| self.ratio(x).recip()))
    }

    /// `P[x] / P[mode]`.
    fn relative(self, x: u64) -> f64 {
        let steps = x.abs_diff(self.mode()) as usize;
        let found = if x >= self.mode() {
            self.up().nth(steps)
        } else {
            self.down().nth(steps)
        };
        found.unwrap_or(0.0)
    }
}

/// 1, then the products of the first one, two, three … factors, while they are above 0.
fn products(factors: impl Iterator<Item = f64>) -> impl Iterator<Item = f64> {
    let partial = factors.scan(1.0, |product, factor| {
        *product *= factor;
        Some(*product)
    });
    std::iter::once(1.0)
        .chain(partial)
        .take_while(|product| *product > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn p(h1: u64, n1: u64, h2: u64, n2: u64) -> f64 {
        fisher(Sample::new(h1, n1), Sample::new(h2, n2))
    }

    fn ln_factorials(n: u64) -> Vec<f64> {
        let logs = (1..=n).scan(0.0, |sum, i| {
            *sum += (i as f64).ln();
            Some(*sum)
        });
        std::iter::once(0.0).chain(logs).collect()
    }

    /// The definition, with logarithms of factorials.
    fn direct(h1: u64, n1: u64, h2: u64, n2: u64) -> f64 {
        let ln = ln_factorials(n1 + n2);
        let choose = |n: u64, k: u64| ln[n as usize] - ln[k as usize] - ln[(n - k) as usize];
        let m = h1 + h2;
        let point = |x| (choose(n1, x) + choose(n2, m - x) - choose(n1 + n2, m)).exp();
        let limit = point(h1) * (1.0 + TIE);
        (m.saturating_sub(n2)..=n1.min(m))
            .map(point)
            .filter(|probability| *probability <= limit)
            .sum()
    }

    /// Fisher's tea, and fisher.test of R for the others.
    #[test]
    fn known_values() {
        for (found, known) in [
            (p(3, 4, 1, 4), 0.485_714_285_714_286),
            (p(1, 10, 11, 14), 0.002_759_456_185_220_1),
            (p(8, 10, 1, 6), 0.034_965_034_965_035),
            (p(0, 5, 5, 5), 2.0 / 252.0),
        ] {
            assert!((found - known).abs() < 1e-12, "{found} is not {known}");
        }
    }

    #[test]
    fn equal_rates_and_no_trials_are_no_evidence() {
        for (h1, n1, h2, n2) in [
            (0, 9, 0, 7),
            (9, 9, 7, 7),
            (30, 40, 30, 40),
            (30, 40, 300, 400),
            (731_059, 1_000_000, 731_059, 1_000_000),
            (3, 4, 0, 0),
        ] {
            assert_eq!(p(h1, n1, h2, n2), 1.0, "{h1}/{n1}, {h2}/{n2}");
        }
    }

    proptest! {
        #[test]
        fn the_recurrence_is_the_definition(n1 in 1_u64..300, n2 in 1_u64..300, a in 0.0_f64..=1.0, b in 0.0_f64..=1.0) {
            let (h1, h2) = ((n1 as f64 * a) as u64, (n2 as f64 * b) as u64);
            let (found, reference) = (p(h1, n1, h2, n2), direct(h1, n1, h2, n2));
            // The reference's logarithms lose digits, the products under test do not.
            prop_assert!((found - reference).abs() <= 1e-9 * reference, "{found} {reference}");
        }

        #[test]
        fn samples_and_outcomes_can_be_swapped(n1 in 1_u64..3_000, n2 in 1_u64..3_000, a in 0.0_f64..=1.0, b in 0.0_f64..=1.0) {
            let (h1, h2) = ((n1 as f64 * a) as u64, (n2 as f64 * b) as u64);
            let found = p(h1, n1, h2, n2);
            prop_assert!((0.0..=1.0).contains(&found));
            for other in [p(h2, n2, h1, n1), p(n1 - h1, n1, n2 - h2, n2)] {
                prop_assert!((found - other).abs() <= 1e-9 * found, "{found} {other}");
            }
        }
    }

    /// The size by complete enumeration, at rates across (0, 1): never above the level.
    #[test]
    fn the_level_holds_at_every_rate() {
        for (n1, n2) in [(5, 5), (12, 12), (7, 23), (30, 30)] {
            let ln = ln_factorials(n1.max(n2));
            let binomial = |n: u64, h: u64, rate: f64| {
                let choose = ln[n as usize] - ln[h as usize] - ln[(n - h) as usize];
                (choose + h as f64 * rate.ln() + (n - h) as f64 * (-rate).ln_1p()).exp()
            };
            let tables: Vec<(u64, u64, f64)> = (0..=n1)
                .flat_map(|h1| (0..=n2).map(move |h2| (h1, h2, p(h1, n1, h2, n2))))
                .collect();
            for rate in (1..40).map(|i| f64::from(i) / 40.0) {
                for level in [0.001, 0.01, 0.05, 0.3] {
                    let size: f64 = tables
                        .iter()
                        .filter(|(_, _, p)| *p <= level)
                        .map(|(h1, h2, _)| binomial(n1, *h1, rate) * binomial(n2, *h2, rate))
                        .sum();
                    assert!(size <= level * (1.0 + 1e-9), "{n1}, {n2}, {rate}: {size}");
                }
            }
        }
    }

    /// Simulated audits: at most as many false alarms as the level allows, and with many trials nearly as many, so
    /// that the test is not blunt; a true change of three standard deviations is often found.
    #[test]
    fn false_alarms_keep_to_the_level_in_large_samples() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let mut draw = |n: u64, rate: f64| -> u64 {
            (0..n).map(|_| u64::from(random.random_bool(rate))).sum()
        };
        let repeats = 4_000;
        for (rate, n1, n2) in [(0.73, 2_000, 2_000), (0.99, 3_000, 1_000)] {
            for level in [0.01, 0.05] {
                let alarms = (0..repeats)
                    .filter(|_| p(draw(n1, rate), n1, draw(n2, rate), n2) <= level)
                    .count() as f64;
                let expected = f64::from(repeats) * level;
                assert!(alarms <= expected + 4.0 * expected.sqrt(), "{alarms}");
                assert!(alarms >= 0.3 * expected, "{alarms} of {expected}");
            }
        }
        let found = (0..300)
            .filter(|_| p(draw(2_000, 0.70), 2_000, draw(2_000, 0.76), 2_000) <= 0.01)
            .count();
        assert!(found > 250, "{found}");
    }

    #[test]
    fn a_million_trials_take_no_time_and_nothing_overflows() {
        let begun = std::time::Instant::now();
        let near = p(731_059, 1_000_000, 731_900, 1_000_000);
        assert!((0.15..0.25).contains(&near), "{near}");
        assert!(p(731_059, 1_000_000, 734_000, 1_000_000) < 1e-5);
        assert_eq!(p(0, 1_000_000, 1_000_000, 1_000_000), 0.0);
        let huge = 1_u64 << 40;
        assert_eq!(p(huge, huge, huge, huge), 1.0);
        assert!(begun.elapsed().as_secs_f64() < 0.5);
    }
}
