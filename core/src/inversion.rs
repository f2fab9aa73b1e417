//! Repeated draws by inversion from the same weights, without storing the weights.
//!
//! # Definition
//! [`Stream::softmax`] walks along the weights w_k = exp(l_k − max l): it subtracts each from r_0 = U·Σw until the
//! remainder is less than the next weight, and draws that index. [`Inversion::draw`] gives the same index from the
//! same number of the stream, bit for bit. It stores the sums before every [`BLOCK`] weights and the positions of the
//! heaviest weights, and so computes the weights of at most one block.
//!
//! # Why the index is the same
//! Let u = 2⁻⁵³, n the number of weights, T their sum as computed and S_k the exact sum of the first k.
//! - r_0 = U·T up to rounding by uT. Each further step rounds by at most uT, since r never grows.
//!   So r_k = U·T − S_k up to (n + 1)uT.
//! - The sums c_k that are stored are those of the walk that computed T. They differ from S_k by at most nuT.
//! - Let t = U·T as computed, and E = 4(n + 8)uT, which exceeds all of these errors together, those of c ± E
//!   included. If c_k + E ≤ t < c_{k+1} − E, then r_j ≥ S_k − S_j ≥ w_j for every j < k, and r_k < w_k:
//!   the walk stops at k, and not before.
//!
//! If t is closer than E to a sum, nothing is concluded, and the walk itself decides. With 30,000 weights E is
//! 10⁻¹¹·T, so this happens less than once in a million draws.

use crate::Stream;

/// Weights between two stored sums.
const BLOCK: usize = Inversion::BLOCK;
/// A weight is heavy if it is at least this share of the sum, so that there are at most 16.
const HEAVY: f64 = 1.0 / 16.0;

/// The sums of one distribution.
#[derive(Debug, Clone)]
pub struct Inversion {
    /// Number of weights.
    count: usize,
    /// The greatest log weight.
    highest: f64,
    /// The sum of all weights, relative to the highest.
    total: f64,
    /// c_k for every k that is a multiple of [`BLOCK`].
    before: Box<[f64]>,
    /// The heavy weights, heaviest first.
    heavy: Box<[Heavy]>,
}

/// The range in which the walk certainly stops at `index`: at or above `low` and below `high`.
#[derive(Debug, Clone, Copy)]
struct Heavy {
    low: f64,
    high: f64,
    index: usize,
}

impl Inversion {
    /// A draw asks for the weights of at most one block: those of this many indices, from a multiple of it on.
    pub const BLOCK: usize = 64;

    /// The sums of these log weights, which are overwritten.
    ///
    /// # Panics
    /// If no weight is above −∞, or one is NaN or +∞.
    #[must_use]
    pub fn new(log_weights: &mut [f64]) -> Self {
        let (highest, total) = weigh(log_weights);
        let margin = margin(log_weights.len(), total);
        let mut before = Vec::with_capacity(log_weights.len().div_ceil(BLOCK));
        let mut heavy = Vec::new();
        let mut sum = 0.0;
        for (index, weight) in log_weights.iter().enumerate() {
            if index % BLOCK == 0 {
                before.push(sum);
            }
            let next = sum + weight;
            if *weight >= HEAVY * total {
                heavy.push(Heavy {
                    low: sum + margin,
                    high: next - margin,
                    index,
                });
            }
            sum = next;
        }
        heavy.sort_by(|a, b| (b.high - b.low).total_cmp(&(a.high - a.low)));
        Self {
            count: log_weights.len(),
            highest,
            total,
            before: before.into(),
            heavy: heavy.into(),
        }
    }

    /// Most bytes that the sums of `count` weights take.
    #[must_use]
    pub const fn bytes(count: usize) -> usize {
        let heavy = (1.0 / HEAVY) as usize * size_of::<Heavy>();
        size_of::<Self>() + count.div_ceil(BLOCK) * size_of::<f64>() + heavy
    }

    /// ln Σ exp(l): the sum of the weights, added up in their order.
    #[must_use]
    pub fn ln_total(&self) -> f64 {
        self.highest + self.total.ln()
    }

    /// The index that [`Stream::softmax`] draws from the same stream, if `log_weight` returns what [`Inversion::new`]
    /// was given.
    pub fn draw(&self, stream: &mut Stream, log_weight: impl Fn(usize) -> f64) -> usize {
        let target = stream.uniform() * self.total;
        let found = self.among_heavy(target);
        let found = found.or_else(|| self.in_block(target, &log_weight));
        found.unwrap_or_else(|| {
            let mut log_weights: Vec<f64> = (0..self.count).map(log_weight).collect();
            weigh(&mut log_weights);
            walk(&log_weights, target)
        })
    }

    /// The heavy weight at `target`, if that is certain.
    fn among_heavy(&self, target: f64) -> Option<usize> {
        let at = |heavy: &&Heavy| heavy.low <= target && target < heavy.high;
        self.heavy.iter().find(at).map(|heavy| heavy.index)
    }

    /// The weight at `target`, if that is certain.
    fn in_block(&self, target: f64, log_weight: &impl Fn(usize) -> f64) -> Option<usize> {
        let margin = margin(self.count, self.total);
        let block = self.before.partition_point(|sum| *sum <= target) - 1;
        let mut sum = self.before[block];
        let indices = block * BLOCK..self.count.min((block + 1) * BLOCK);
        for index in indices {
            let next = sum + relative(log_weight(index) - self.highest);
            if target < next {
                let certain = sum + margin <= target && target < next - margin;
                return certain.then_some(index);
            }
            sum = next;
        }
        None
    }
}

/// Twice the total error of all sums and steps, for `count` weights with sum `total`.
fn margin(count: usize, total: f64) -> f64 {
    4.0 * (count as f64 + 8.0) * (f64::EPSILON / 2.0) * total
}

/// Turns log weights into weights relative to the highest. Returns the highest log weight and the sum of the weights.
///
/// # Panics
/// If no weight is above −∞, or one is NaN or +∞.
pub(crate) fn weigh(log_weights: &mut [f64]) -> (f64, f64) {
    let highest = log_weights
        .iter()
        .copied()
        .fold(f64::NEG_INFINITY, f64::max);
    assert!(
        highest.is_finite(),
        "no finite log weight among {} values",
        log_weights.len()
    );
    let mut total = 0.0;
    for w in log_weights.iter_mut() {
        *w = relative(*w - highest);
        total += *w;
    }
    assert!(total.is_finite(), "a log weight is NaN");
    (highest, total)
}

/// Where the walk along the weights stops, starting from `remaining`.
pub(crate) fn walk(weights: &[f64], mut remaining: f64) -> usize {
    let mut last = 0;
    for (index, weight) in weights.iter().enumerate() {
        if *weight > 0.0 {
            if remaining < *weight {
                return index;
            }
            remaining -= weight;
            last = index;
        }
    }
    // Rounding can leave a remainder of a few ulps: it belongs to the last possible index.
    last
}

/// exp(x) for x ≤ 0, skipped where it underflows to 0 (below −745.2 in double precision).
fn relative(x: f64) -> f64 {
    if x < -746.0 { 0.0 } else { x.exp() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Seed;

    /// Log weights of utilities in [0, 1], typical of a vocabulary: many small ones, few large ones.
    fn log_weights(count: usize, epsilon: f64) -> Vec<f64> {
        let mut stream = Seed::root(5).at(count as u64).stream();
        (0..count)
            .map(|_| epsilon / 2.0 * stream.uniform().powi(4))
            .collect()
    }

    fn assert_same(log_weights: &[f64], draws: u64) {
        let inversion = Inversion::new(&mut log_weights.to_vec());
        for i in 0..draws {
            let mut walked = Seed::root(6).at(i).stream();
            let mut found = walked.clone();
            assert_eq!(
                inversion.draw(&mut found, |index| log_weights[index]),
                walked.softmax(&mut log_weights.to_vec())
            );
            // The same numbers are taken from the stream.
            assert_eq!(found.uniform(), walked.uniform());
        }
    }

    #[test]
    fn it_draws_what_the_walk_draws() {
        for count in [1, 2, 63, 64, 65, 3_000] {
            for epsilon in [0.0, 0.5, 5.0, 12.0, 20.0, 100.0, 1_000.0, 1e6] {
                assert_same(&log_weights(count, epsilon), 300);
            }
        }
        let mut impossible = vec![f64::NEG_INFINITY; 200];
        impossible[70..75].fill(-1e300);
        assert_same(&impossible, 300);
    }

    /// Where sums are hit to the bit or nearly, and at the ends.
    #[test]
    fn targets_at_the_sums_are_left_to_the_walk() {
        for epsilon in [0.0, 20.0, 100.0] {
            let log_weights = log_weights(1_000, epsilon);
            let inversion = Inversion::new(&mut log_weights.clone());
            let mut weights = log_weights.clone();
            let (_, total) = weigh(&mut weights);
            let mut sum = 0.0;
            let mut certain = 0;
            for weight in &weights {
                sum += weight;
                let bits = f64::to_bits(sum);
                for target in [bits - 1_000, bits - 1, bits, bits + 1, bits + 1_000] {
                    let target = f64::from_bits(target);
                    // U < 1: nothing is needed above that.
                    if target >= total {
                        continue;
                    }
                    let found = inversion.among_heavy(target);
                    let found =
                        found.or_else(|| inversion.in_block(target, &|index| log_weights[index]));
                    if let Some(found) = found {
                        certain += 1;
                        assert_eq!(found, walk(&weights, target));
                    }
                }
            }
            assert!(certain < 1_000, "{certain} of 5,000");
        }
    }

    #[test]
    fn its_size_is_within_what_it_says() {
        for (count, epsilon) in [(16, 0.0), (64, 0.0), (3_000, 100.0)] {
            let inversion = Inversion::new(&mut log_weights(count, epsilon));
            let bytes = size_of::<Inversion>()
                + size_of_val(&*inversion.before)
                + size_of_val(&*inversion.heavy);
            assert!(bytes <= Inversion::bytes(count));
        }
    }

    proptest! {
        #[test]
        fn whatever_the_weights(
            log_weights in prop::collection::vec(-60.0_f64..0.0, 1..400), seed in 0_u64..1_000
        ) {
            let inversion = Inversion::new(&mut log_weights.clone());
            let mut walked = Seed::root(seed).stream();
            let mut found = walked.clone();
            for _ in 0..20 {
                prop_assert_eq!(
                    inversion.draw(&mut found, |index| log_weights[index]),
                    walked.softmax(&mut log_weights.clone())
                );
            }
        }
    }
}
