//! Betting: a lower limit for the mean of values in [0, 1], whatever their distribution.
//!
//! # Definition
//! Against each hypothetical mean m a gambler starts with capital 1 and bets that the next value is
//! above m: K_t(m) = Π_{i≤t} (1 + λᵢ(Xᵢ − m)). The limit is the supremum of the m for which every
//! m′ ≤ m was refuted, that is, some K_s(m′), s ≤ t, reached 1/tail. The bet is
//! λᵢ = min(√(2 ln(1/tail)/(n σ̂²ᵢ₋₁)), c/m⁺) with c = ½, σ̂² from the values before i, and m⁺ the
//! upper end of the grid cell of m. n is the number of trials planned, or i·ln(i+1) where none is.
//!
//! # Guarantee
//! Where the conditional mean of every Xᵢ given the past is at most m, K(m) is a non-negative
//! supermartingale, so by Ville's inequality it ever reaches 1/tail with probability at most `tail`. A
//! limit above m requires m itself to be refuted. The whole `tail` is thus spent once, on a limit that
//! may be looked at after every value, under both bets; they differ in where they are tight.
//!
//! # Source
//! Waudby-Smith & Ramdas (2024), "Estimating means of bounded random variables by betting"
//! (arXiv 2010.09686): the capital process of Section 4 with only its bets on a larger mean, and the
//! predictable plug-in for λ.
//!
//! # Deviations
//! - Capitals are kept at the ends of a fixed grid of cells, so that memory does not grow with the
//!   trials. Within a cell all m share λ, so ln K is concave and falls in m: the chord between the
//!   ends is below it, and where the chord reaches ln(1/tail) the capital has, too. This gives up about
//!   1 % of the limit's distance to the mean at 30 values, and less than 0.5 % from 300 on.
//! - The paper caps λ at c/m. Here the cap is c/m⁺, the same for the whole cell, never larger.
//! - Roundings go down: the level that a capital must reach grows by more than the rounding of all its factors;
//!   capitals saturate below overflow, and at underflow are lost rather than rounded.

use super::binomial::Probability;

/// Where the bets should be tight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Horizon {
    /// After this many values; the limit is equally valid before and after.
    Trials(u64),
    /// At no particular number: for audits that stop once they have seen enough.
    AnyTime,
}

/// Cells span the log-odds ±REACH in steps of 1/STEPS, with one more cell to 0 and one to 1.
const REACH: i32 = 18;
const STEPS: i32 = 16;
/// The largest share of the capital that a bet can lose.
const CAUTION: f64 = 0.5;
/// A bound on the relative rounding of one factor and its product.
const ROUNDING: f64 = 1e-15;
const SATURATED: f64 = 1e280;
const LOST: f64 = 1e-280;

/// What fraction of the capital to bet next, from the values so far.
#[derive(Debug, Clone, Copy)]
struct Bettor {
    tail: f64,
    horizon: Horizon,
    observed: u64,
    sum: f64,
    squares: f64,
}

impl Bettor {
    fn new(tail: f64, horizon: Horizon) -> Self {
        assert!(tail > 0.0 && tail < 1.0, "tail {tail} outside (0, 1)");
        Self {
            tail,
            horizon,
            observed: 0,
            sum: 0.0,
            squares: 0.0,
        }
    }

    /// λ for the next value, before its cap.
    fn bet(&self) -> f64 {
        let next = self.observed as f64 + 1.0;
        let trials = match self.horizon {
            Horizon::Trials(planned) => planned.max(1) as f64,
            Horizon::AnyTime => next * next.ln_1p(),
        };
        let variance = (0.25 + self.squares) / next;
        (-2.0 * self.tail.ln() / (trials * variance)).sqrt()
    }

    fn observe(&mut self, x: f64) {
        assert!(
            (0.0..=1.0).contains(&x),
            "a betting limit is for values in [0, 1], not {x}"
        );
        self.observed += 1;
        self.sum += x;
        let mean = (0.5 + self.sum) / (self.observed as f64 + 1.0);
        self.squares += (x - mean) * (x - mean);
    }

    /// The capital needed to refute, including what rounding may have added to it.
    fn target(&self) -> f64 {
        (1.0 + self.observed as f64 * ROUNDING) / self.tail
    }
}

/// The capital after one more factor, never rounded up at the ends of the range of doubles.
fn staked(capital: f64, factor: f64) -> f64 {
    let next = (capital * factor).min(SATURATED);
    if next < LOST { 0.0 } else { next }
}

/// The streaming lower limit for a mean.
#[derive(Debug, Clone)]
pub struct Betting {
    bettor: Bettor,
    /// Ends of the cells, from 0 to 1: cell i is `ends[i]..ends[i + 1]`.
    ends: Vec<f64>,
    /// Capitals at the lower and upper end of each cell, with the cell's bets.
    lower: Vec<f64>,
    upper: Vec<f64>,
    /// The first cell that is not refuted as a whole, and the share of it that is refuted.
    frontier: usize,
    refuted: f64,
}

impl Betting {
    /// A limit that errs with probability at most `tail`, before any value.
    ///
    /// # Panics
    /// If the tail is not in (0, 1).
    #[must_use]
    pub fn new(tail: f64, horizon: Horizon) -> Self {
        let inner = (-REACH * STEPS..=REACH * STEPS)
            .map(|i| 1.0 / (1.0 + (-f64::from(i) / f64::from(STEPS)).exp()));
        let ends: Vec<f64> = std::iter::once(0.0)
            .chain(inner)
            .chain(std::iter::once(1.0))
            .collect();
        let cells = ends.len() - 1;
        Self {
            bettor: Bettor::new(tail, horizon),
            ends,
            lower: vec![1.0; cells],
            upper: vec![1.0; cells],
            frontier: 0,
            refuted: 0.0,
        }
    }

    /// Adds the next value, in the order of the trials.
    ///
    /// # Panics
    /// If the value is NaN or outside [0, 1].
    pub fn observe(&mut self, x: f64) {
        let bet = self.bettor.bet();
        self.bettor.observe(x);
        let from = self.frontier;
        let cells = self.ends[from..].iter().zip(&self.ends[from + 1..]);
        let capitals = self.lower[from..].iter_mut().zip(&mut self.upper[from..]);
        for ((low, high), (lower, upper)) in cells.zip(capitals) {
            let bet = bet.min(CAUTION / high);
            *lower = staked(*lower, 1.0 + bet * (x - low));
            *upper = staked(*upper, 1.0 + bet * (x - high));
        }
        self.advance();
    }

    /// Moves the frontier to where the capitals put it.
    fn advance(&mut self) {
        let target = self.bettor.target();
        // The last cell ends at 1, where no factor exceeds 1: it is never refuted as a whole.
        while self.upper[self.frontier] >= target {
            self.frontier += 1;
            self.refuted = 0.0;
        }
        let (lower, upper) = (self.lower[self.frontier], self.upper[self.frontier]);
        if lower >= target {
            let share = (lower / target).ln() / (lower / upper).ln();
            self.refuted = self.refuted.max(share * (1.0 - 1e-9));
        }
    }

    /// Number of values so far.
    #[must_use]
    pub fn observed(&self) -> u64 {
        self.bettor.observed
    }

    /// The lower limit after the values so far: valid at all times simultaneously. Always p < 1.
    #[must_use]
    pub fn lower_limit(&self) -> Probability {
        let (low, high) = (self.ends[self.frontier], self.ends[self.frontier + 1]);
        let beyond = self.refuted * (high - low);
        Probability {
            p: low + beyond,
            // 1 − low is exact from ½ on, so the complement keeps its digits near 1.
            q: (1.0 - low) - beyond,
        }
    }
}

/// The bet against one mean: what [`Betting`] does at every point, for when only one matters.
#[derive(Debug, Clone, Copy)]
pub struct Wager {
    bettor: Bettor,
    mean: f64,
    capital: f64,
    refuted: bool,
}

impl Wager {
    /// A test of "the mean is at most `mean`" that wrongly refutes it with probability at most `tail`.
    ///
    /// # Panics
    /// If the mean is not in (0, 1], or the tail not in (0, 1).
    #[must_use]
    pub fn new(mean: f64, tail: f64, horizon: Horizon) -> Self {
        assert!(mean > 0.0 && mean <= 1.0, "mean {mean} outside (0, 1]");
        Self {
            bettor: Bettor::new(tail, horizon),
            mean,
            capital: 1.0,
            refuted: false,
        }
    }

    /// Adds the next value, in the order of the trials.
    ///
    /// # Panics
    /// If the value is NaN or outside [0, 1].
    pub fn observe(&mut self, x: f64) {
        let bet = self.bettor.bet().min(CAUTION / self.mean);
        self.bettor.observe(x);
        self.capital = staked(self.capital, 1.0 + bet * (x - self.mean));
        self.refuted |= self.capital >= self.bettor.target();
    }

    /// Whether the mean has been refuted, now or earlier.
    #[must_use]
    pub fn refuted(&self) -> bool {
        self.refuted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Seed, Stream};
    use proptest::prelude::*;

    fn limit(values: &[f64], tail: f64, horizon: Horizon) -> Probability {
        let mut betting = Betting::new(tail, horizon);
        values.iter().for_each(|x| betting.observe(*x));
        betting.lower_limit()
    }

    /// Largest ln K_s(m) over s, by the definition, with λ capped at c/`cap`(m).
    fn ln_peak(
        values: &[f64],
        tail: f64,
        horizon: Horizon,
        m: f64,
        cap: impl Fn(f64) -> f64,
    ) -> f64 {
        let mut bettor = Bettor::new(tail, horizon);
        let (mut ln_capital, mut peak) = (0.0_f64, 0.0_f64);
        for x in values {
            let bet = bettor.bet().min(CAUTION / cap(m));
            bettor.observe(*x);
            ln_capital += (bet * (x - m)).ln_1p();
            peak = peak.max(ln_capital);
        }
        peak
    }

    /// The paper's limit: bisection over the stored values, with the cap c/m.
    fn stored(values: &[f64], tail: f64, horizon: Horizon) -> f64 {
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if ln_peak(values, tail, horizon, middle, |m| m) >= -tail.ln() {
                low = middle;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The upper end of the cell of m.
    fn cell_end(m: f64) -> f64 {
        let grid = Betting::new(0.5, Horizon::AnyTime).ends;
        grid[grid.partition_point(|end| *end < m)]
    }

    fn draws(stream: &mut Stream, n: usize, power: f64) -> Vec<f64> {
        (0..n).map(|_| stream.uniform().powf(power)).collect()
    }

    #[test]
    fn the_stream_agrees_with_bisection_over_the_stored_values() {
        let mut stream = Seed::root(11).stream();
        for (n, power) in [
            (30, 1.0),
            (300, 0.1),
            (300, 8.0),
            (3_000, 1.0),
            (20_000, 0.01),
        ] {
            let values = draws(&mut stream, n, power);
            let mean = values.iter().sum::<f64>() / n as f64;
            for horizon in [Horizon::Trials(n as u64), Horizon::AnyTime] {
                let found = limit(&values, 0.01, horizon).p;
                let exact = stored(&values, 0.01, horizon);
                let lost = (exact - found) / (mean - exact);
                // The other cap can also gain a little, by betting less on the first values.
                assert!(
                    (-0.005..0.015).contains(&lost),
                    "n={n} {horizon:?}: {found} for {exact}"
                );
            }
        }
    }

    /// A limit for a mean with known variance could be z σ/√n below it; this one, which knows nothing, is less than
    /// twice as far.
    #[test]
    fn limits_are_nearly_as_close_as_with_a_known_variance() {
        for power in [1.0, 0.05, 20.0] {
            let values = draws(&mut Seed::root(8).stream(), 5_000, power);
            let mean = values.iter().sum::<f64>() / 5e3;
            let deviation = (1.0 / (2.0 * power + 1.0) - (power + 1.0_f64).powi(-2)).sqrt();
            let known = 2.576 * deviation / 5e3_f64.sqrt();
            let found = mean - limit(&values, 0.005, Horizon::Trials(5_000)).p;
            assert!(
                found > known && found < 2.0 * known,
                "{power}: {found} {known}"
            );
        }
    }

    proptest! {
        /// The defining property, from the stored values: all m up to the limit were refuted.
        #[test]
        fn nothing_unrefuted_is_below_the_limit(seed in 0_u64..1_000_000, n in 1_usize..400, power in 0.02_f64..20.0, share in 0.0_f64..=1.0, tail in 0.001_f64..0.3) {
            let values = draws(&mut Seed::root(seed).stream(), n, power);
            for horizon in [Horizon::Trials(n as u64), Horizon::AnyTime] {
                let found = limit(&values, tail, horizon);
                prop_assert!(found.p >= 0.0 && found.q > 0.0 && (found.p + found.q - 1.0).abs() < 1e-15);
                let m = found.p * share;
                prop_assume!(m > 0.0);
                prop_assert!(ln_peak(&values, tail, horizon, m, cell_end) >= -tail.ln());
            }
        }

        #[test]
        fn limits_never_fall_and_a_smaller_tail_shows_less(seed in 0_u64..1_000_000, power in 0.1_f64..5.0) {
            let mut stream = Seed::root(seed).stream();
            let mut betting = Betting::new(0.05, Horizon::AnyTime);
            let mut strict = Betting::new(0.0005, Horizon::AnyTime);
            let mut last = 0.0;
            for _ in 0..200 {
                let x = stream.uniform().powf(power);
                betting.observe(x);
                strict.observe(x);
                let now = betting.lower_limit().p;
                prop_assert!(now >= last && now >= strict.lower_limit().p);
                last = now;
            }
        }

        #[test]
        fn a_wager_is_one_point_of_the_limit(seed in 0_u64..1_000_000, power in 0.1_f64..5.0, cell in 100_usize..480) {
            let values = draws(&mut Seed::root(seed).stream(), 200, power);
            let end = Betting::new(0.5, Horizon::AnyTime).ends[cell];
            let mut wager = Wager::new(end, 0.01, Horizon::Trials(200));
            values.iter().for_each(|x| wager.observe(*x));
            prop_assert_eq!(wager.refuted(), limit(&values, 0.01, Horizon::Trials(200)).p >= end);
        }
    }

    /// With only ones, K(m) is the product of 1 + λ(1 − m), and q about 2 ln(1/tail)/n: twice what
    /// Clopper-Pearson gives up there.
    #[test]
    fn constant_values_have_finite_limits_with_all_digits() {
        for n in [100, 10_000, 1_000_000] {
            let ones = limit(&vec![1.0; n], 0.005, Horizon::Trials(n as u64));
            let scaled = ones.q * n as f64 / (2.0 * 200.0_f64.ln());
            assert!((0.9..1.1).contains(&scaled), "{n}: {scaled}");
            assert_eq!(limit(&vec![0.0; n], 0.005, Horizon::AnyTime).p, 0.0);
        }
        assert_eq!(
            limit(&[], 0.005, Horizon::AnyTime),
            Probability { p: 0.0, q: 1.0 }
        );
    }

    #[test]
    #[should_panic(expected = "values in [0, 1]")]
    fn nan_is_refused() {
        Betting::new(0.005, Horizon::AnyTime).observe(f64::NAN);
    }

    #[test]
    #[should_panic(expected = "values in [0, 1]")]
    fn values_above_one_are_refused() {
        Wager::new(0.5, 0.005, Horizon::AnyTime).observe(1.0 + 1e-9);
    }
}
