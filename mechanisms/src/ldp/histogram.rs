//! Reports of one number per category: the one-hot vector of the client's category with noise on every entry.
//!
//! # Definition
//! y_i = 1[i = x] + z_i with independent noise z_i, on a [`Lattice`]; released as K decimal numbers with spaces
//! between them, each the shortest that reads as the same double.
//!
//! # Guarantee
//! Two one-hot vectors are √2 apart in ℓ2 and 2 in ℓ1; what follows from that is documented with the noise.

use teda_core::Stream;

use super::protocol::Protocol;
use crate::noise::lattice::Lattice;

/// Noise on one entry, with a distribution symmetric about 0.
pub trait Noise: Send + Sync {
    /// Whether it is normal.
    const GAUSSIAN: bool = false;

    /// The scale that the lattice is fine compared to.
    fn scale(&self) -> f64;

    /// `count` independent draws.
    fn draw(&self, count: usize, stream: &mut Stream) -> Vec<f64>;

    /// ln of the probability that the noise, rounded to a multiple of `step`, is this one.
    fn ln_mass(&self, noise: f64, step: f64) -> f64;
}

/// One-hot vectors under noise.
pub struct Histogram<N> {
    size: usize,
    noise: N,
    lattice: Lattice,
}

impl<N: Noise> Histogram<N> {
    /// For `size` categories.
    pub fn new(size: usize, noise: N) -> Self {
        Self {
            size,
            lattice: Lattice::new(noise.scale()),
            noise,
        }
    }

    /// The one-hot vector's entry at a position.
    fn entry(category: usize, position: usize) -> f64 {
        f64::from(u8::from(position == category))
    }

    /// The noisy vector of a category.
    pub fn vector(&self, category: usize, stream: &mut Stream) -> Vec<f64> {
        let mut vector = self.noise.draw(self.size, stream);
        for (position, value) in vector.iter_mut().enumerate() {
            *value = self.lattice.add(Self::entry(category, position), *value);
        }
        vector
    }

    /// The vector that a report represents, if it is valid.
    fn read(&self, report: &str) -> Option<Vec<f64>> {
        let values = report.split(' ').map(|word| word.parse().ok());
        let vector: Vec<f64> = values.collect::<Option<_>>()?;
        let possible = vector.iter().all(|y| self.lattice.contains(*y));
        (possible && vector.len() == self.size).then_some(vector)
    }
}

impl<N: Noise> Protocol for Histogram<N> {
    fn is_gaussian(&self) -> bool {
        N::GAUSSIAN
    }

    fn report(&self, category: usize, stream: &mut Stream) -> String {
        let vector = self.vector(category, stream);
        let words: Vec<String> = vector.iter().map(f64::to_string).collect();
        words.join(" ")
    }

    fn log_likelihood(&self, report: &str, category: usize) -> f64 {
        let Some(vector) = self.read(report) else {
            return f64::NEG_INFINITY;
        };
        let entries = vector.iter().enumerate();
        entries
            .map(|(position, y)| {
                let noise = y - Self::entry(category, position);
                self.noise.ln_mass(noise, self.lattice.step())
            })
            .sum()
    }
}

#[cfg(test)]
pub mod tests {
    use teda_core::Seed;

    use super::*;
    use crate::testing::statistics::assert_follows;

    /// Asserts that the noise of either entry follows `cdf`, that reports read as the vector that they were made of,
    /// and that masses are differences of `cdf` and add up to 1.
    pub fn assert_noise<N: Noise>(noise: N, cdf: impl Fn(f64) -> f64, what: &str) {
        let histogram = Histogram::new(3, noise);
        let seeds = || (0..20_000).map(|i| Seed::root(24).named(what).at(i));
        let drawn: Vec<Vec<f64>> = seeds()
            .map(|seed| histogram.vector(1, &mut seed.stream()))
            .collect();
        for (seed, vector) in seeds().zip(&drawn).take(500) {
            let report = histogram.report(1, &mut seed.stream());
            assert_eq!(histogram.read(&report).as_ref(), Some(vector), "{what}");
        }
        for position in 0..3 {
            let centre = Histogram::<N>::entry(1, position);
            let noise = drawn.iter().map(|vector| vector[position] - centre);
            assert_follows(noise.collect(), &cdf, what);
        }
        // On a coarse lattice, where the sum has few terms.
        let step = histogram.noise.scale() / 64.0;
        let masses =
            (-64 * 45..=64 * 45).map(|i| histogram.noise.ln_mass(f64::from(i) * step, step).exp());
        let sum: f64 = masses.sum();
        assert!((sum - 1.0).abs() < 1e-12, "{what}: masses add to {sum}");
        let step = histogram.lattice.step();
        for i in [-3e6, -1e6, -7.0, -1.0, 0.0, 1.0, 100.0, 2e6] {
            let (mass, z) = (histogram.noise.ln_mass(i * step, step), i * step);
            let exact = (cdf(z + step / 2.0) - cdf(z - step / 2.0)).ln();
            // The difference has lost some 20 of its 53 bits, more in the tails.
            assert!(
                (mass - exact).abs() < 1e-6,
                "{what} at {z}: {mass}, {exact}"
            );
        }
    }
}
